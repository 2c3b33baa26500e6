//! Which kinds are namespaced.
//!
//! The target's discovery knows best; it does not know kinds whose definitions are only about to be installed, and the
//! command line has no target at all. Hence three sources, in this order: discovery, the definitions in the release,
//! a table.

use std::collections::BTreeMap;

use super::Facts;
use crate::manifest::{GroupKind, Object, Release};

/// Kinds that are not namespaced: those of Kubernetes, and of the neighbours that additional manifests bring along.
const CLUSTER_SCOPED: &[(&str, &[&str])] = &[
    ("", &["ComponentStatus", "Namespace", "Node", "PersistentVolume"]),
    (
        "admissionregistration.k8s.io",
        &[
            "MutatingAdmissionPolicy",
            "MutatingAdmissionPolicyBinding",
            "MutatingWebhookConfiguration",
            "ValidatingAdmissionPolicy",
            "ValidatingAdmissionPolicyBinding",
            "ValidatingWebhookConfiguration",
        ],
    ),
    ("apiextensions.k8s.io", &["CustomResourceDefinition"]),
    ("apiregistration.k8s.io", &["APIService"]),
    ("authentication.istio.io", &["MeshPolicy"]),
    ("authentication.k8s.io", &["SelfSubjectReview", "TokenReview"]),
    ("authorization.k8s.io", &["SelfSubjectAccessReview", "SelfSubjectRulesReview", "SubjectAccessReview"]),
    ("cert-manager.io", &["ClusterIssuer"]),
    ("certificates.k8s.io", &["CertificateSigningRequest", "ClusterTrustBundle"]),
    ("flowcontrol.apiserver.k8s.io", &["FlowSchema", "PriorityLevelConfiguration"]),
    ("gateway.networking.k8s.io", &["GatewayClass"]),
    ("internal.apiserver.k8s.io", &["StorageVersion"]),
    ("networking.k8s.io", &["IPAddress", "IngressClass", "ServiceCIDR"]),
    ("node.k8s.io", &["RuntimeClass"]),
    ("policy", &["PodSecurityPolicy"]),
    ("rbac.authorization.k8s.io", &["ClusterRole", "ClusterRoleBinding"]),
    ("resource.k8s.io", &["DeviceClass", "DeviceTaintRule", "ResourceSlice"]),
    ("scheduling.k8s.io", &["PriorityClass"]),
    (
        "storage.k8s.io",
        &["CSIDriver", "CSINode", "StorageClass", "VolumeAttachment", "VolumeAttributesClass"],
    ),
    ("storagemigration.k8s.io", &["StorageVersionMigration"]),
    ("trust.cert-manager.io", &["Bundle"]),
];

/// The scopes of kinds, as far as they are known.
#[derive(Clone, Debug, PartialEq)]
pub struct Scopes<'a> {
    discovered: &'a BTreeMap<GroupKind, bool>,
    defined: BTreeMap<GroupKind, bool>,
}

impl<'a> Scopes<'a> {
    /// The scopes for a release on a target.
    pub fn new(release: &Release, facts: &'a Facts) -> Self {
        let objects = release.parts.iter().flat_map(|part| part.objects.iter());
        Self { discovered: &facts.namespaced, defined: objects.filter_map(defined).collect() }
    }

    /// Whether objects of the kind live in a namespace. A kind that nobody knows does.
    pub fn is_namespaced(&self, kind: &GroupKind) -> bool {
        let known = self.discovered.get(kind).or_else(|| self.defined.get(kind));
        known.copied().unwrap_or_else(|| !is_cluster_scoped(kind))
    }
}

/// The kind that a CustomResourceDefinition defines, and whether it is namespaced.
fn defined(object: &Object) -> Option<(GroupKind, bool)> {
    if !object.is("apiextensions.k8s.io", "CustomResourceDefinition") {
        return None;
    }
    let text = |path: &str| object.value().pointer(path)?.as_str();
    let kind = GroupKind::new(text("/spec/group")?, text("/spec/names/kind")?);
    Some((kind, text("/spec/scope")? != "Cluster"))
}

fn is_cluster_scoped(kind: &GroupKind) -> bool {
    CLUSTER_SCOPED.iter().any(|(group, kinds)| *group == kind.group && kinds.contains(&kind.kind.as_str()))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::manifest::{Part, Role};

    #[test]
    fn w45_discovery_beats_the_release_and_the_release_beats_the_table() {
        let definition = |group: &str, kind: &str, scope: &str| {
            let spec = json!({"group": group, "names": {"kind": kind}, "scope": scope});
            let crd = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "spec": spec});
            Object::try_from(crd).unwrap()
        };
        let objects = vec![definition("x", "Wide", "Cluster"), definition("x", "Node", "Namespaced")];
        let release = Release {
            parts: vec![Part { role: Role::Additional, objects: Arc::new(objects) }],
            ..Release::default()
        };
        let mut facts = Facts::default();
        let namespaced = |facts: &Facts, group: &str, kind: &str| {
            Scopes::new(&release, facts).is_namespaced(&GroupKind::new(group, kind))
        };
        assert!(!namespaced(&facts, "x", "Wide"));
        assert!(namespaced(&facts, "x", "Node") && !namespaced(&facts, "", "Node"));
        assert!(!namespaced(&facts, "cert-manager.io", "ClusterIssuer"));
        assert!(namespaced(&facts, "unheard.of", "Thing"));
        facts.namespaced.insert(GroupKind::new("x", "Wide"), true);
        assert!(namespaced(&facts, "x", "Wide"));
    }
}
