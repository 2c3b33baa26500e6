//! The objects are ones that a real API server would take: typed, selecting their own pods, referring to what exists.

use k8s_openapi::api::{
    admissionregistration::v1 as admission, apps::v1 as apps, autoscaling::v2 as autoscaling,
    batch::v1 as batch, core::v1 as core, policy::v1 as policy, rbac::v1 as rbac,
};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1 as apiextensions;
use serde::{Serialize, de::DeserializeOwned};

use super::*;

/// The object after reading it as `T`: what `T` does not know is lost.
fn through<T: Serialize + DeserializeOwned>(object: &Object) -> Value {
    let typed: T =
        serde_json::from_value(object.value().clone()).unwrap_or_else(|e| panic!("{}: {e}", object.key()));
    serde_json::to_value(typed).expect("typed objects serialize")
}

/// `None` for kinds that are no part of Kubernetes.
fn round_trip(object: &Object) -> Option<Value> {
    Some(match (object.api_version(), object.kind()) {
        ("v1", "Namespace") => through::<core::Namespace>(object),
        ("v1", "ConfigMap") => through::<core::ConfigMap>(object),
        ("v1", "Secret") => through::<core::Secret>(object),
        ("v1", "Service") => through::<core::Service>(object),
        ("v1", "ServiceAccount") => through::<core::ServiceAccount>(object),
        ("apps/v1", "Deployment") => through::<apps::Deployment>(object),
        ("apps/v1", "StatefulSet") => through::<apps::StatefulSet>(object),
        ("batch/v1", "Job") => through::<batch::Job>(object),
        ("autoscaling/v2", "HorizontalPodAutoscaler") => {
            through::<autoscaling::HorizontalPodAutoscaler>(object)
        }
        ("policy/v1", "PodDisruptionBudget") => through::<policy::PodDisruptionBudget>(object),
        ("rbac.authorization.k8s.io/v1", "Role") => through::<rbac::Role>(object),
        ("rbac.authorization.k8s.io/v1", "RoleBinding") => through::<rbac::RoleBinding>(object),
        ("rbac.authorization.k8s.io/v1", "ClusterRole") => through::<rbac::ClusterRole>(object),
        ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding") => through::<rbac::ClusterRoleBinding>(object),
        ("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration") => {
            through::<admission::MutatingWebhookConfiguration>(object)
        }
        ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration") => {
            through::<admission::ValidatingWebhookConfiguration>(object)
        }
        ("apiextensions.k8s.io/v1", "CustomResourceDefinition") => {
            through::<apiextensions::CustomResourceDefinition>(object)
        }
        _ => return None,
    })
}

/// Every entry of `part` is in `whole` with the same value; numbers compare by value, an empty list may be absent.
#[track_caller]
fn assert_contains(whole: &Value, part: &Value, path: &str) {
    match (whole, part) {
        (Value::Object(whole), Value::Object(part)) => {
            for (key, value) in
                part.iter().filter(|(_, value)| value.as_array().is_none_or(|list| !list.is_empty()))
            {
                let found = whole.get(key).unwrap_or_else(|| panic!("{path}.{key} is missing"));
                assert_contains(found, value, &format!("{path}.{key}"));
            }
        }
        (Value::Array(whole), Value::Array(part)) => {
            assert_eq!(whole.len(), part.len(), "{path}");
            for (index, (whole, part)) in whole.iter().zip(part).enumerate() {
                assert_contains(whole, part, &format!("{path}[{index}]"));
            }
        }
        (Value::Number(whole), Value::Number(part)) => assert_eq!(whole.as_f64(), part.as_f64(), "{path}"),
        _ => assert_eq!(whole, part, "{path}"),
    }
}

#[test]
fn every_built_in_object_has_only_fields_of_its_type() {
    let mut others = BTreeSet::new();
    for object in every_release().flatten() {
        match round_trip(&object) {
            Some(typed) => assert_contains(&typed, object.value(), &object.key().to_string()),
            None => drop(others.insert(object.group_kind().to_string())),
        }
    }
    let expected = [
        "Certificate.cert-manager.io",
        "Certificate.networking.internal.knative.dev",
        "Gateway.networking.istio.io",
        "Image.caching.internal.knative.dev",
        "PeerAuthentication.security.istio.io",
        "TLSCertificateDelegation.projectcontour.io",
    ];
    assert_eq!(others, expected.map(str::to_owned).into());
}

/// The pod template of a workload.
fn template(object: &Object) -> Option<&Value> {
    matches!(object.kind(), "Deployment" | "StatefulSet" | "Job").then(|| &object.value()["spec"]["template"])
}

fn list<'a>(value: &'a Value, field: &str) -> impl Iterator<Item = &'a Value> {
    value[field].as_array().into_iter().flatten()
}

#[test]
fn workloads_select_their_own_pods() {
    for object in every_release().flatten().filter(|o| matches!(o.kind(), "Deployment" | "StatefulSet")) {
        let selector = &object.value()["spec"]["selector"]["matchLabels"];
        assert!(selector.as_object().is_some_and(|labels| !labels.is_empty()), "{}", object.key());
        assert_contains(
            &object.value()["spec"]["template"]["metadata"]["labels"],
            selector,
            &object.key().to_string(),
        );
    }
}

#[test]
fn services_and_budgets_select_pods_of_the_release() {
    for release in every_release() {
        let labels: Vec<&Value> =
            release.iter().filter_map(template).map(|pod| &pod["metadata"]["labels"]).collect();
        for object in release.iter().filter(|o| o.namespace() != "istio-system") {
            let selector = match object.kind() {
                "Service" => &object.value()["spec"]["selector"],
                "PodDisruptionBudget" => &object.value()["spec"]["selector"]["matchLabels"],
                _ => continue,
            };
            let selector = selector.as_object().expect("selector");
            let selected = labels.iter().any(|l| selector.iter().all(|(key, value)| l[key] == *value));
            assert!(selected, "{} selects nothing", object.key());
        }
    }
}

#[test]
fn images_are_pinned_by_digest_in_a_registry_that_does_not_exist() {
    let mut images = BTreeSet::new();
    for object in every_release().flatten() {
        if let Some(template) = template(&object) {
            let containers =
                list(&template["spec"], "initContainers").chain(list(&template["spec"], "containers"));
            images.extend(containers.map(|container| container["image"].to_string()));
        } else if object.kind() == "Image" {
            images.insert(object.value()["spec"]["image"].to_string());
        }
    }
    assert!(images.len() > 30, "{}", images.len());
    for image in images.iter().map(|image| image.trim_matches('"')) {
        let (name, digest) = image.split_once("@sha256:").unwrap_or_else(|| panic!("{image}"));
        assert!(name.starts_with("registry.example/knative/"), "{image}");
        assert!(digest.len() == 64 && digest.bytes().all(|b| b.is_ascii_hexdigit()), "{image}");
    }
}

/// Kind and name of everything that this object needs by name.
fn references(object: &Object) -> Vec<(&str, &Value)> {
    let value = object.value();
    let mut found = Vec::new();
    if let Some(template) = template(object) {
        found.push(("ServiceAccount", &template["spec"]["serviceAccountName"]));
        for volume in list(&template["spec"], "volumes") {
            found.push(("ConfigMap", &volume["configMap"]["name"]));
            found.push(("Secret", &volume["secret"]["secretName"]));
        }
    }
    if let Some(kind) = value["roleRef"]["kind"].as_str() {
        found.push((kind, &value["roleRef"]["name"]));
    }
    found.extend(list(value, "subjects").map(|subject| ("ServiceAccount", &subject["name"])));
    found.extend(
        list(value, "webhooks").map(|webhook| ("Service", &webhook["clientConfig"]["service"]["name"])),
    );
    found.push(("Service", &value["spec"]["conversion"]["webhook"]["clientConfig"]["service"]["name"]));
    found.push(("Deployment", &value["spec"]["scaleTargetRef"]["name"]));
    found.retain(|(_, name)| !name.is_null());
    found
}

#[test]
fn names_that_objects_refer_to_are_defined_in_the_same_release() {
    for release in every_release() {
        let defined: BTreeSet<(&str, &str)> = release.iter().map(|o| (o.kind(), o.name())).collect();
        let references: Vec<_> =
            release.iter().flat_map(|o| references(o).into_iter().map(move |r| (o, r))).collect();
        assert!(references.len() > 20, "{}", references.len());
        for (object, (kind, name)) in references {
            let name = name.as_str().expect("names are strings");
            assert!(defined.contains(&(kind, name)), "{} refers to {kind} {name}", object.key());
        }
    }
}

#[test]
fn definitions_are_named_after_their_plural_and_store_one_version() {
    for crd in every_release().flatten().filter(|o| o.kind() == "CustomResourceDefinition") {
        let spec = &crd.value()["spec"];
        let (plural, group) = (spec["names"]["plural"].as_str(), spec["group"].as_str());
        assert_eq!(crd.name(), format!("{}.{}", plural.expect("plural"), group.expect("group")));
        assert_eq!(list(spec, "versions").filter(|v| v["storage"] == true).count(), 1, "{}", crd.name());
        let structural = |version: &Value| version["schema"]["openAPIV3Schema"]["type"] == "object";
        assert!(list(spec, "versions").all(structural), "{}", crd.name());
    }
}
