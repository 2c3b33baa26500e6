//! Namespaces: created with a mark that says for whom, and deleted only with it, when nothing foreign is inside.
//!
//! A namespace is never created by the way: applying one that is gone, or that is on a cluster which has just taken the
//! place of another, would leave one without a mark, which nobody would ever delete.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::manifest::{Object, ObjectKey};
use crate::target::cluster::{Cluster, ClusterError, Propagation};
use crate::target::mapping::Resource;

/// Annotation that marks a namespace as created by us, with the UID of the custom resource.
pub const CREATED_FOR: &str = "operator.knative.dev/created-for";

/// What an absent namespace is created with; an existing one is left as it is.
#[derive(Clone, Debug, Default)]
pub struct NamespaceMetadata {
    /// Labels.
    pub labels: BTreeMap<String, String>,
    /// Annotations.
    pub annotations: BTreeMap<String, String>,
}

/// The namespace, created for the custom resource with UID `created_for` if it is not there.
///
/// # Errors
/// Any failure.
pub async fn ensure(
    cluster: &Cluster,
    name: &str,
    created_for: &str,
    metadata: &NamespaceMetadata,
) -> Result<Object, ClusterError> {
    let resource = resource(cluster).await?;
    if let Some(live) = cluster.get(&resource, "", name).await? {
        return Ok(live);
    }
    let mut labels = metadata.labels.clone();
    labels.insert("app.kubernetes.io/managed-by".into(), "knative-operator".into());
    let mut annotations = metadata.annotations.clone();
    annotations.insert(CREATED_FOR.into(), created_for.into());
    let wanted = namespace(json!({"name": name, "labels": labels, "annotations": annotations}));
    match cluster.create(&wanted).await {
        Err(error) if error.failure.is_already_exists() => {
            cluster.get(&resource, "", name).await?.ok_or(error)
        }
        created => created,
    }
}

/// Applies a desired namespace to the live one, and to no other.
///
/// # Errors
/// Any failure; a conflict when the live one went meanwhile.
pub async fn apply(cluster: &Cluster, desired: &Object, created_for: &str) -> Result<Object, ClusterError> {
    let live = ensure(cluster, desired.name(), created_for, &NamespaceMetadata::default()).await?;
    let mut desired = desired.clone();
    desired.metadata_mut().insert("uid".into(), json!(live.uid()));
    cluster.apply(&desired).await
}

/// Whether the namespace is on its way out.
pub fn is_terminating(live: &Object) -> bool {
    let value = live.value();
    value["status"]["phase"] == "Terminating" || value["metadata"]["deletionTimestamp"].is_string()
}

/// What keeps a namespace from going that is on its way out, in the words of its cluster; `None` while it simply drains.
///
/// # Errors
/// Any failure.
pub async fn held_by(cluster: &Cluster, name: &str) -> Result<Option<String>, ClusterError> {
    let live = cluster.get(&resource(cluster).await?, "", name).await?;
    Ok(live.as_ref().and_then(hindrances))
}

/// The same of a namespace that was read in full: the conditions by which the namespace controller says that it does not
/// get on (`k8s.io/api/core/v1`, NamespaceConditionType).
pub fn hindrances(live: &Object) -> Option<String> {
    const HINDRANCES: [&str; 4] = [
        "NamespaceDeletionDiscoveryFailure",
        "NamespaceDeletionContentFailure",
        "NamespaceDeletionGroupVersionParsingFailure",
        "NamespaceFinalizersRemaining",
    ];
    let conditions = live.value()["status"]["conditions"].as_array();
    let holding = conditions.into_iter().flatten().filter(|condition| condition["status"] == "True");
    let texts: Vec<_> = holding
        .filter(|condition| HINDRANCES.iter().any(|kind| condition["type"] == *kind))
        .filter_map(|condition| condition["message"].as_str())
        .collect();
    (!texts.is_empty()).then(|| texts.join("; "))
}

/// How far a release has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Release {
    /// It is gone, or is not ours any more.
    Released,
    /// It is being deleted.
    Draining,
}

/// Deletes a namespace that was created for `created_for` and holds nothing but what `ours` says; from any other our
/// metadata is withdrawn.
///
/// # Errors
/// Any failure.
pub async fn release(
    cluster: &Cluster,
    live: &Object,
    created_for: &str,
    ours: &(dyn Fn(&ObjectKey) -> bool + Sync),
) -> Result<Release, ClusterError> {
    if is_terminating(live) {
        return Ok(Release::Draining);
    }
    let mine = live.annotation(CREATED_FOR) == Some(created_for);
    if !mine || may_hold_others(cluster, live.name(), ours).await? {
        cluster.apply(&namespace(json!({"name": live.name(), "uid": live.uid()}))).await?;
        return Ok(Release::Released);
    }
    let resource = resource(cluster).await?;
    cluster.delete(&resource, &live.key(), live.uid(), Propagation::Background).await?;
    let left = cluster.get(&resource, "", live.name()).await?;
    Ok(if left.is_some() { Release::Draining } else { Release::Released })
}

/// Whether anything in the namespace is neither ours nor made by Kubernetes for every namespace, or may not be seen:
/// what cannot be seen is not deleted.
async fn may_hold_others(
    cluster: &Cluster,
    namespace: &str,
    ours: &(dyn Fn(&ObjectKey) -> bool + Sync),
) -> Result<bool, ClusterError> {
    for resource in cluster.namespaced_resources().await? {
        let found = match cluster.list_in(&resource, namespace).await {
            Err(error) if error.failure.is_forbidden() => {
                let kind = &resource.kind;
                tracing::warn!(namespace, "the namespace is left, because {kind} may not be listed in it");
                return Ok(true);
            }
            found => found?,
        };
        if found.iter().map(Object::key).any(|key| !is_incidental(&key) && !ours(&key)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// What every namespace holds, or what others leave behind about objects that are gone.
fn is_incidental(key: &ObjectKey) -> bool {
    match (key.kind.group.as_str(), key.kind.kind.as_str()) {
        ("", "ConfigMap") => key.name == "kube-root-ca.crt",
        ("", "ServiceAccount") => key.name == "default",
        ("", "Event" | "Endpoints") => true,
        ("events.k8s.io", "Event")
        | ("coordination.k8s.io", "Lease")
        | ("discovery.k8s.io", "EndpointSlice") => true,
        _ => false,
    }
}

async fn resource(cluster: &Cluster) -> Result<Resource, ClusterError> {
    cluster.resource("v1", "Namespace").await
}

fn namespace(metadata: Value) -> Object {
    Object::try_from(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}))
        .expect("apiVersion, kind and name are given")
}
