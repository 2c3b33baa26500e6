//! Puts everything into the component's namespace.

use serde_json::Value;

use super::{Context, TransformError, tree};
use crate::manifest::Object;

/// Path of the conversion webhook's Service in a CustomResourceDefinition.
const CONVERSION_SERVICE: [&str; 5] = ["spec", "conversion", "webhook", "clientConfig", "service"];

/// The same before `apiextensions.k8s.io/v1`.
const OLD_CONVERSION_SERVICE: [&str; 4] = ["spec", "conversion", "webhookClientConfig", "service"];

/// Sets the namespace of namespaced objects and of every reference to a namespace that must follow. All Namespaces of
/// a release become the component's.
pub(super) fn inject(context: &Context<'_>, object: &mut Object) -> Result<(), TransformError> {
    let namespace = context.facts.namespace.as_str();
    if context.scopes.is_namespaced(&object.group_kind()) {
        object.metadata_mut().insert("namespace".into(), namespace.into());
    } else {
        object.metadata_mut().remove("namespace");
    }
    let (group, kind) = (object.group().to_owned(), object.kind().to_owned());
    let root = object.value_mut();
    match (group.as_str(), kind.as_str()) {
        ("", "Namespace") => {
            object.metadata_mut().insert("name".into(), namespace.into());
        }
        ("rbac.authorization.k8s.io", "RoleBinding" | "ClusterRoleBinding") => {
            tree::elements(root, &["subjects"]).for_each(|subject| follow(subject, &[], namespace));
        }
        (
            "admissionregistration.k8s.io",
            "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration",
        ) => {
            tree::elements(root, &["webhooks"])
                .for_each(|webhook| follow(webhook, &["clientConfig", "service"], namespace));
        }
        ("apiregistration.k8s.io", "APIService") => follow(root, &["spec", "service"], namespace),
        ("apiextensions.k8s.io", "CustomResourceDefinition") => {
            follow(root, &CONVERSION_SERVICE, namespace);
            follow(root, &OLD_CONVERSION_SERVICE, namespace);
        }
        _ => {}
    }
    Ok(())
}

/// Sets the key `namespace` of the map at the path, if it has one.
fn follow(root: &mut Value, path: &[&str], namespace: &str) {
    if let Some(found) = tree::map(root, path).and_then(|map| map.get_mut("namespace")) {
        *found = namespace.into();
    }
}

/// Adds the labels and annotations of `spec.namespace` to the Namespace.
pub(super) fn decorate(context: &Context<'_>, object: &mut Object) -> Result<(), TransformError> {
    if let Some(wanted) = &context.component.spec.common.namespace
        && object.is("", "Namespace")
    {
        tree::merge_texts(object.value_mut(), &["metadata", "labels"], &wanted.labels);
        tree::merge_texts(object.value_mut(), &["metadata", "annotations"], &wanted.annotations);
    }
    Ok(())
}
