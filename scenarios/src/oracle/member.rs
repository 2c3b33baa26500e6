//! Members of an installation as they are found on a cluster, told by their ApplySet labels.

use std::sync::Arc;

use fake_apiserver::Snapshot;
use knative_operator::manifest::{GroupKind, ObjectKey};
use knative_operator::plan::{ID_LABEL, PART_OF_LABEL};
use serde_json::Value;

/// The identity of a stored object.
pub fn key_of(object: &Value) -> ObjectKey {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let api_version = object["apiVersion"].as_str().unwrap_or_default();
    let group = api_version.rsplit_once('/').map_or("", |(group, _)| group);
    let metadata = &object["metadata"];
    ObjectKey {
        kind: GroupKind::new(group, text(&object["kind"])),
        namespace: text(&metadata["namespace"]),
        name: text(&metadata["name"]),
    }
}

/// The set that an object is a member of.
pub fn set_of(object: &Value) -> Option<&str> {
    object["metadata"]["labels"][PART_OF_LABEL].as_str()
}

/// The set that an object is the anchor of.
pub fn anchored_set(object: &Value) -> Option<&str> {
    object["metadata"]["labels"][ID_LABEL].as_str()
}

/// Everything on a cluster that is a member of a set, definitions left out: they stay when everything else goes.
pub fn members(cluster: &Snapshot, set: &str) -> Vec<Arc<Value>> {
    let all = cluster.objects().filter(|object| set_of(object.value) == Some(set));
    all.filter(|object| !object.resource.starts_with("customresourcedefinitions."))
        .map(|object| object.value.clone())
        .collect()
}

/// UIDs of the owners of an object.
pub fn owners(object: &Value) -> Vec<&str> {
    let owners = object["metadata"]["ownerReferences"].as_array();
    owners.into_iter().flatten().filter_map(|owner| owner["uid"].as_str()).collect()
}
