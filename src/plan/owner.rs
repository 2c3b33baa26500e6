//! Who owns what a resource installs, and where that goes.

use super::{Owner, anchor_name};
use crate::api::Component;
use crate::manifest::GroupKind;

/// Annotation of a remote resource with the namespace on the target, if it is not to be the resource's own.
pub const TARGET_NAMESPACE: &str = "operator.knative.dev/target-namespace";

/// The namespace that the objects of a resource go to: its own, or for a remote one the annotated one.
pub fn target_namespace(component: &Component) -> &str {
    let annotated = component.annotation(TARGET_NAMESPACE).filter(|name| !name.is_empty());
    match annotated {
        Some(namespace) if component.is_remote() => namespace,
        _ => component.namespace(),
    }
}

impl Owner {
    /// The resource itself, which owns what it installs into its own cluster.
    pub fn component(component: &Component) -> Self {
        Self {
            api_version: component.kind.api_version().into(),
            kind: component.kind.kind().into(),
            name: component.name().into(),
            uid: component.uid().into(),
        }
    }

    /// The anchor of a resource on another cluster; the UID comes from a fresh read of it.
    pub fn anchor(component: &Component, uid: impl Into<String>) -> Self {
        Self {
            api_version: "v1".into(),
            kind: "ConfigMap".into(),
            name: anchor_name(component.kind, component.name()),
            uid: uid.into(),
        }
    }

    /// Group and kind.
    pub fn group_kind(&self) -> GroupKind {
        let group = self.api_version.split_once('/').map_or("", |(group, _)| group);
        GroupKind::new(group, self.kind.as_str())
    }
}
