//! The scale subresource: an `autoscaling/v1` Scale as a view of a workload.

use std::sync::Arc;

use serde_json::{Value, json};

use super::get::find;
use super::update::{Origin, update};
use crate::registry::ScalePaths;
use crate::schema::FieldError;
use crate::state::{Call, State};
use crate::status::{Answer, ResourceName, Status};
use crate::storage::Stored;

/// The Scale of a workload.
pub(crate) fn view(call: &Call, object: &Value) -> Answer<Value> {
    let paths = paths(call)?;
    let count = |pointer: &str| object.pointer(pointer).and_then(Value::as_i64).unwrap_or(0);
    let mut metadata = json!({});
    for field in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
        if let Some(value) = object["metadata"].get(field) {
            metadata[field] = value.clone();
        }
    }
    let mut status = json!({ "replicas": count(&paths.status_replicas) });
    let selector = match &paths.selector {
        Some(pointer) => object.pointer(pointer).and_then(Value::as_str).map(str::to_owned),
        None if call.resource().traits.custom => None,
        None => Some(selector_text(&object["spec"]["selector"])),
    };
    if let Some(selector) = selector.filter(|selector| !selector.is_empty()) {
        status["selector"] = json!(selector);
    }
    let mut spec = json!({});
    let replicas = count(&paths.spec_replicas);
    if replicas != 0 {
        spec["replicas"] = json!(replicas);
    }
    Ok(json!({
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": metadata,
        "spec": spec,
        "status": status,
    }))
}

/// Sets the number of replicas as `change` makes of the current Scale, and returns the new Scale.
pub(crate) fn modify(
    state: &mut State,
    call: &mut Call,
    change: impl FnOnce(&Value) -> Answer<Value>,
) -> Answer<(Arc<Stored>, Value)> {
    let live = find(state, call)?.clone();
    let before = view(call, &live.value)?;
    let mut after = change(&before)?;
    super::body::metadata_of(call, &mut after).and_then(|metadata| crate::strategy::place(call, metadata))?;
    let replicas = after["spec"]["replicas"].as_i64().unwrap_or(0);
    if replicas < 0 {
        let why = "must be greater than or equal to 0";
        let error = FieldError::invalid("spec.replicas", &json!(replicas), why);
        let who = ResourceName { group: "autoscaling", resource: "Scale" };
        return Err(Status::invalid(&who, &call.name, &[error]));
    }
    let version = after["metadata"]["resourceVersion"].as_str().unwrap_or_default();
    if !version.is_empty() && version != live.revision.to_string() {
        return Err(Status::stale(&call.resource().name(), &call.name));
    }
    let mut new = super::in_version(&live.value, &call.version().api_version);
    set(&mut new, &paths(call)?.spec_replicas, json!(replicas));
    let stored = update(state, call, &live, new, Origin::Patch)?;
    let scale = view(call, &stored.value)?;
    Ok((stored, scale))
}

fn paths(call: &Call) -> Answer<ScalePaths> {
    call.version().scale.clone().ok_or_else(Status::no_such_resource)
}

/// Sets the value at a JSON pointer of object members, making objects on the way.
fn set(object: &mut Value, pointer: &str, value: Value) {
    let mut at = object;
    for part in pointer.split('/').skip(1) {
        if !at.is_object() {
            *at = json!({});
        }
        at = &mut at[part];
    }
    *at = value;
}

/// A `metav1.LabelSelector` in the text form of selectors.
fn selector_text(selector: &Value) -> String {
    let labels = selector["matchLabels"].as_object().or_else(|| {
        // ReplicationControllers select by a plain map.
        selector.as_object().filter(|map| map.values().all(Value::is_string))
    });
    let pairs = labels
        .into_iter()
        .flatten()
        .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()));
    pairs.collect::<Vec<_>>().join(",")
}
