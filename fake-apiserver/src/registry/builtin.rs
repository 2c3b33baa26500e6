//! The built-in kinds, as one table: all GA groups of Kubernetes 1.33 and later that a client meets.
//!
//! Order is the order of discovery documents.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use super::{Resource, ScalePaths, Traits, Version, resource_id};
use crate::schema::builtin::table::Types;
use crate::schema::builtin_merge_type;
use crate::storage::ResourceId;

/// Group, versions (preferred and stored first), kind, plural,
/// short names, flags and subresources.
///
/// Flags: `n` namespaced, `g` generation, `u` unconditional update, `c` created by put, `o` delete answers the
/// object, `r` orphans by default, `k` no deletecollection, `v` virtual, `w` cannot be written, `a` category all.
type Row = (&'static str, &'static str, &'static str, &'static str, &'static str, &'static str, &'static str);

const TABLE: &[Row] = &[
    ("", "v1", "Binding", "bindings", "", "nv", ""),
    ("", "v1", "ComponentStatus", "componentstatuses", "cs", "w", ""),
    ("", "v1", "ConfigMap", "configmaps", "cm", "nu", ""),
    ("", "v1", "Endpoints", "endpoints", "ep", "nu", ""),
    ("", "v1", "Event", "events", "ev", "nuc", ""),
    ("", "v1", "LimitRange", "limitranges", "limits", "nu", ""),
    ("", "v1", "Namespace", "namespaces", "ns", "uok", "finalize status"),
    ("", "v1", "Node", "nodes", "no", "u", "status"),
    ("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims", "pvc", "nuo", "status"),
    ("", "v1", "PersistentVolume", "persistentvolumes", "pv", "uo", "status"),
    (
        "",
        "v1",
        "Pod",
        "pods",
        "po",
        "nguoa",
        "attach binding ephemeralcontainers eviction exec log portforward status",
    ),
    ("", "v1", "PodTemplate", "podtemplates", "", "nuo", ""),
    ("", "v1", "ReplicationController", "replicationcontrollers", "rc", "ngura", "scale status"),
    ("", "v1", "ResourceQuota", "resourcequotas", "quota", "nuo", "status"),
    ("", "v1", "Secret", "secrets", "", "nu", ""),
    ("", "v1", "ServiceAccount", "serviceaccounts", "sa", "nuo", "token"),
    ("", "v1", "Service", "services", "svc", "nuoa", "status"),
    ("apiregistration.k8s.io", "v1", "APIService", "apiservices", "", "", "status"),
    ("apps", "v1", "ControllerRevision", "controllerrevisions", "", "nu", ""),
    ("apps", "v1", "DaemonSet", "daemonsets", "ds", "ngua", "status"),
    ("apps", "v1", "Deployment", "deployments", "deploy", "ngua", "scale status"),
    ("apps", "v1", "ReplicaSet", "replicasets", "rs", "ngua", "scale status"),
    ("apps", "v1", "StatefulSet", "statefulsets", "sts", "ngua", "scale status"),
    ("events.k8s.io", "v1", "Event", "events", "ev", "nuc", ""),
    ("authentication.k8s.io", "v1", "SelfSubjectReview", "selfsubjectreviews", "", "v", ""),
    ("authentication.k8s.io", "v1", "TokenReview", "tokenreviews", "", "v", ""),
    ("authorization.k8s.io", "v1", "LocalSubjectAccessReview", "localsubjectaccessreviews", "", "nv", ""),
    ("authorization.k8s.io", "v1", "SelfSubjectAccessReview", "selfsubjectaccessreviews", "", "v", ""),
    ("authorization.k8s.io", "v1", "SelfSubjectRulesReview", "selfsubjectrulesreviews", "", "v", ""),
    ("authorization.k8s.io", "v1", "SubjectAccessReview", "subjectaccessreviews", "", "v", ""),
    ("autoscaling", "v2 v1", "HorizontalPodAutoscaler", "horizontalpodautoscalers", "hpa", "nua", "status"),
    ("batch", "v1", "CronJob", "cronjobs", "cj", "ngua", "status"),
    ("batch", "v1", "Job", "jobs", "", "ngura", "status"),
    (
        "certificates.k8s.io",
        "v1",
        "CertificateSigningRequest",
        "certificatesigningrequests",
        "csr",
        "u",
        "approval status",
    ),
    ("networking.k8s.io", "v1", "IngressClass", "ingressclasses", "", "gu", ""),
    ("networking.k8s.io", "v1", "Ingress", "ingresses", "ing", "ngu", "status"),
    ("networking.k8s.io", "v1", "IPAddress", "ipaddresses", "ip", "gu", ""),
    ("networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies", "netpol", "ngu", ""),
    ("networking.k8s.io", "v1", "ServiceCIDR", "servicecidrs", "", "gu", "status"),
    ("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", "pdb", "ng", "status"),
    ("rbac.authorization.k8s.io", "v1", "ClusterRoleBinding", "clusterrolebindings", "", "u", ""),
    ("rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", "", "u", ""),
    ("rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings", "", "nu", ""),
    ("rbac.authorization.k8s.io", "v1", "Role", "roles", "", "nu", ""),
    ("storage.k8s.io", "v1", "CSIDriver", "csidrivers", "", "", ""),
    ("storage.k8s.io", "v1", "CSINode", "csinodes", "", "", ""),
    ("storage.k8s.io", "v1", "CSIStorageCapacity", "csistoragecapacities", "", "nu", ""),
    ("storage.k8s.io", "v1", "StorageClass", "storageclasses", "sc", "u", ""),
    ("storage.k8s.io", "v1", "VolumeAttachment", "volumeattachments", "", "", "status"),
    (
        "admissionregistration.k8s.io",
        "v1",
        "MutatingWebhookConfiguration",
        "mutatingwebhookconfigurations",
        "",
        "g",
        "",
    ),
    (
        "admissionregistration.k8s.io",
        "v1",
        "ValidatingAdmissionPolicy",
        "validatingadmissionpolicies",
        "",
        "g",
        "status",
    ),
    (
        "admissionregistration.k8s.io",
        "v1",
        "ValidatingAdmissionPolicyBinding",
        "validatingadmissionpolicybindings",
        "",
        "g",
        "",
    ),
    (
        "admissionregistration.k8s.io",
        "v1",
        "ValidatingWebhookConfiguration",
        "validatingwebhookconfigurations",
        "",
        "g",
        "",
    ),
    (
        "apiextensions.k8s.io",
        "v1",
        "CustomResourceDefinition",
        "customresourcedefinitions",
        "crd crds",
        "go",
        "status",
    ),
    ("scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses", "pc", "gu", ""),
    ("coordination.k8s.io", "v1", "Lease", "leases", "", "nc", ""),
    ("node.k8s.io", "v1", "RuntimeClass", "runtimeclasses", "", "", ""),
    ("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices", "", "ngu", ""),
    ("flowcontrol.apiserver.k8s.io", "v1", "FlowSchema", "flowschemas", "", "g", "status"),
    (
        "flowcontrol.apiserver.k8s.io",
        "v1",
        "PriorityLevelConfiguration",
        "prioritylevelconfigurations",
        "",
        "g",
        "status",
    ),
];

/// Resources that show the objects of another one, of the core group, under other names.
const VIEWS: &[(&str, &str)] = &[("events.events.k8s.io", "events")];

/// Field labels of field selectors, beyond `metadata.name` and `metadata.namespace`.
const SELECTABLE: &[(&str, &str)] = &[
    (
        "events",
        "involvedObject.kind involvedObject.namespace involvedObject.name involvedObject.uid involvedObject.apiVersion involvedObject.resourceVersion involvedObject.fieldPath reason reportingComponent source type",
    ),
    (
        "events.events.k8s.io",
        "regarding.kind regarding.namespace regarding.name regarding.uid reason reportingController type",
    ),
    (
        "pods",
        "spec.nodeName spec.restartPolicy spec.schedulerName spec.serviceAccountName spec.hostNetwork status.phase status.podIP status.podIPs status.nominatedNodeName",
    ),
    ("secrets", "type"),
    ("nodes", "spec.unschedulable"),
    ("namespaces", "status.phase"),
    ("services", "spec.clusterIP spec.type"),
    ("replicasets.apps", "status.replicas"),
    ("replicationcontrollers", "status.replicas"),
    ("jobs.batch", "status.successful"),
    ("certificatesigningrequests.certificates.k8s.io", "spec.signerName"),
];

/// The table with its indexes.
pub(super) struct Builtin {
    pub(super) in_order: Vec<Arc<Resource>>,
    pub(super) by_id: BTreeMap<ResourceId, Arc<Resource>>,
    pub(super) by_kind: BTreeMap<(String, String), Arc<Resource>>,
}

/// The built-in kinds. Immutable and the same for every cluster, so they are built once and shared.
pub(super) fn table() -> &'static Builtin {
    static BUILTIN: LazyLock<Builtin> = LazyLock::new(|| {
        let in_order: Vec<_> = TABLE.iter().map(|row| Arc::new(resource(row))).collect();
        let by_id = in_order.iter().map(|resource| (resource.id.clone(), resource.clone())).collect();
        let by_kind = in_order
            .iter()
            .map(|resource| ((resource.group.clone(), resource.kind.clone()), resource.clone()))
            .collect();
        Builtin { in_order, by_id, by_kind }
    });
    &BUILTIN
}

fn resource(&(group, versions, kind, plural, short_names, flags, subresources): &Row) -> Resource {
    let has = |flag: char| flags.contains(flag);
    let id = resource_id(group, plural);
    let columns: Arc<[_]> = crate::table::columns_of(&id).into();
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let stored_as = VIEWS.iter().find(|(view, _)| **view == *id).map(|(_, storage)| *storage);
    let version_named = |group: &str, name: &str| {
        let api_version = if group.is_empty() { name.to_owned() } else { format!("{group}/{name}") };
        let built_in = Types::get().kind(&api_version, kind);
        let mut version = Version::new(group, name, kind, built_in);
        if built_in.is_none() {
            version.merge = builtin_merge_type(group, kind).into();
        }
        version.subresources = words(subresources);
        version.columns = columns.clone();
        if kind == "Endpoints" {
            version.deprecation =
                Some("v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice".into());
        }
        if kind == "ComponentStatus" {
            version.deprecation = Some("v1 ComponentStatus is deprecated in v1.19+".into());
        }
        if version.has("scale") {
            version.scale = Some(ScalePaths {
                spec_replicas: "/spec/replicas".into(),
                status_replicas: "/status/replicas".into(),
                selector: None,
            });
        }
        version
    };
    let mut versions: Vec<Version> =
        versions.split_whitespace().map(|name| version_named(group, name)).collect();
    let stored = stored_as.map_or(0, |_| {
        versions.push(Version { served: false, ..version_named("", "v1") });
        versions.len() - 1
    });
    let selectable =
        SELECTABLE.iter().find(|(resource, _)| **resource == *id).map(|(_, fields)| words(fields));
    Resource {
        group: group.into(),
        kind: kind.into(),
        list_kind: format!("{kind}List"),
        plural: plural.into(),
        singular: kind.to_lowercase(),
        short_names: words(short_names),
        categories: if has('a') {
            vec!["all".into()]
        } else if matches!(
            group,
            "apiextensions.k8s.io" | "admissionregistration.k8s.io" | "apiregistration.k8s.io"
        ) {
            vec!["api-extensions".into()]
        } else {
            Vec::new()
        },
        namespaced: has('n'),
        versions,
        stored,
        conversion: None,
        traits: Traits {
            generation: has('g'),
            unconditional_update: has('u'),
            create_on_update: has('c'),
            delete_answers_object: has('o'),
            orphans_by_default: has('r'),
            no_delete_collection: has('k'),
            virtual_resource: has('v'),
            read_only: has('w'),
            ..Traits::default()
        },
        selectable: selectable.unwrap_or_default(),
        storage: stored_as.map_or_else(|| id.clone(), Into::into),
        id,
    }
}
