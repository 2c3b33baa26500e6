//! One object per identity, and the phase of each.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{Phase, PhaseName};
use crate::manifest::{Object, ObjectKey, Role};

/// Objects by identity, in the order of their first appearance.
#[derive(Default)]
pub(super) struct Collected {
    objects: Vec<Object>,
    index: BTreeMap<ObjectKey, usize>,
}

impl Collected {
    /// Adds an object, or replaces the one with its identity. The entries of two ConfigMaps of one release are merged,
    /// later ones win; an additional manifest means what it says and replaces everything.
    pub(super) fn add(&mut self, role: Role, mut object: Object) {
        let key = object.key();
        match self.index.get(&key) {
            None => {
                self.index.insert(key, self.objects.len());
                self.objects.push(object);
            }
            Some(&position) => {
                let earlier = &mut self.objects[position];
                if role != Role::Additional && object.is("", "ConfigMap") {
                    keep_entries(earlier, &mut object);
                }
                *earlier = object;
            }
        }
    }

    /// The objects.
    pub(super) fn objects(&self) -> &[Object] {
        &self.objects
    }

    /// The objects in their phases; phases without objects are left out.
    pub(super) fn into_phases(self) -> Vec<Phase> {
        let mut phases = BTreeMap::<PhaseName, Vec<Object>>::new();
        for object in self.objects {
            phases.entry(phase_of(&object)).or_default().push(object);
        }
        phases.into_iter().map(|(name, objects)| Phase { name, objects }).collect()
    }
}

/// Adds the entries of `data` that only the earlier ConfigMap has.
fn keep_entries(earlier: &Object, later: &mut Object) {
    let Some(Value::Object(old)) = earlier.value().get("data") else { return };
    let Some(fields) = later.value_mut().as_object_mut() else { return };
    if let Value::Object(new) = fields.entry("data").or_insert_with(|| Map::new().into()) {
        for (key, text) in old {
            new.entry(key).or_insert_with(|| text.clone());
        }
    }
}

/// The phase an object is applied in.
fn phase_of(object: &Object) -> PhaseName {
    match (object.group(), object.kind()) {
        ("rbac.authorization.k8s.io", "Role" | "ClusterRole") => PhaseName::Roles,
        ("rbac.authorization.k8s.io", "RoleBinding" | "ClusterRoleBinding") => PhaseName::Bindings,
        (
            "admissionregistration.k8s.io",
            "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration",
        ) => PhaseName::WebhookConfigurations,
        ("", "Namespace") | ("apiextensions.k8s.io", "CustomResourceDefinition") => PhaseName::Definitions,
        ("networking.internal.knative.dev", "Certificate") => PhaseName::WebhookDependents,
        _ => PhaseName::Resources,
    }
}

#[cfg(test)]
#[expect(clippy::needless_pass_by_value, reason = "JSON literals read better without a borrow")]
mod tests {
    use serde_json::json;

    use super::*;

    fn config_map(name: &str, data: Value) -> Object {
        let metadata = json!({"name": name, "namespace": "ns"});
        Object::try_from(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}))
            .unwrap()
    }

    #[test]
    fn w07_one_object_per_identity_with_the_entries_of_both_config_maps() {
        let mut collected = Collected::default();
        collected.add(Role::Core, config_map("a", json!({"x": "core", "y": "core"})));
        collected.add(Role::Core, config_map("b", json!({})));
        collected.add(Role::Source, config_map("a", json!({"x": "source"})));
        let names: Vec<_> = collected.objects().iter().map(Object::name).collect();
        assert_eq!(names, ["a", "b"]);
        assert_eq!(collected.objects()[0].value()["data"], json!({"x": "source", "y": "core"}));
    }

    #[test]
    fn an_additional_manifest_replaces_the_whole_object_at_its_place() {
        let mut collected = Collected::default();
        collected.add(Role::Core, config_map("a", json!({"x": "core", "y": "core"})));
        collected.add(Role::Core, config_map("b", json!({})));
        collected.add(Role::Additional, config_map("a", json!({"x": "own"})));
        assert_eq!(collected.objects()[0].value()["data"], json!({"x": "own"}));
        assert_eq!(collected.objects().len(), 2);
    }

    #[test]
    fn permissions_come_before_what_needs_them_and_definitions_before_their_resources() {
        let mut collected = Collected::default();
        for (api_version, kind) in [
            ("networking.internal.knative.dev/v1alpha1", "Certificate"),
            ("apps/v1", "Deployment"),
            ("cert-manager.io/v1", "Certificate"),
            ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
            ("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration"),
            ("rbac.authorization.k8s.io/v1", "RoleBinding"),
            ("rbac.authorization.k8s.io/v1", "ClusterRole"),
            ("v1", "Namespace"),
        ] {
            let object = json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "x"}});
            collected.add(Role::Core, Object::try_from(object).unwrap());
        }
        let phases: Vec<_> = collected
            .into_phases()
            .into_iter()
            .map(|phase| (phase.name, phase.objects.iter().map(|o| o.kind().to_owned()).collect::<Vec<_>>()))
            .collect();
        let expected = [
            (PhaseName::Roles, vec!["ClusterRole"]),
            (PhaseName::Bindings, vec!["RoleBinding"]),
            (PhaseName::WebhookConfigurations, vec!["MutatingWebhookConfiguration"]),
            (PhaseName::Definitions, vec!["CustomResourceDefinition", "Namespace"]),
            (PhaseName::Resources, vec!["Deployment", "Certificate"]),
            (PhaseName::WebhookDependents, vec!["Certificate"]),
        ];
        assert_eq!(phases.len(), expected.len());
        for ((name, kinds), (expected_name, expected_kinds)) in phases.iter().zip(&expected) {
            assert_eq!(
                (name, kinds.iter().map(String::as_str).collect::<Vec<_>>()),
                (expected_name, expected_kinds.clone())
            );
        }
    }
}
