//! The scale subresource: an `autoscaling/v1` Scale as a view of a workload.

use std::sync::Arc;

use serde_json::{Value, json};

use super::body::metadata_of;
use super::get::find;
use super::patch::{self, PatchKind};
use super::update::{Origin, update};
use crate::apply::{self, Writer};
use crate::registry::ScalePaths;
use crate::schema::{FieldError, MergeType, builtin_merge_type};
use crate::state::{Call, State};
use crate::status::{Answer, ResourceName, Status};
use crate::{convert, strategy};

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

/// Answers a put of a Scale.
pub(crate) fn put(state: &mut State, call: &mut Call, body: Value) -> Answer<Value> {
    modify(state, call, |call, before| {
        let mut after = body;
        apply::track_update(Some(before), &mut after, &merge_type(), &scale_writer(call));
        Ok(after)
    })
}

/// Answers a patch of a Scale.
pub(crate) fn patch(state: &mut State, call: &mut Call, kind: PatchKind, body: &Value) -> Answer<Value> {
    modify(state, call, |call, before| {
        if kind == PatchKind::Apply {
            let mut applied = body.clone();
            patch::check_applied(call, &mut applied, ("autoscaling/v1", "Scale"))?;
            let force = call.options.force.unwrap_or(false);
            let scale = apply::apply(Some(before), &applied, &merge_type(), &scale_writer(call), force);
            return scale.map_err(patch::apply_refusal);
        }
        patch::check_no_apply(call)?;
        let mut after = match kind {
            PatchKind::Json => {
                crate::patch::json(before, body).map_err(|why| Status::bad_request(why.to_string()))?
            }
            _ => crate::patch::merge(before, body),
        };
        apply::track_update(Some(before), &mut after, &merge_type(), &scale_writer(call));
        Ok(after)
    })
}

/// Sets the number of replicas as `change` makes of the current Scale, and returns the new Scale.
fn modify(
    state: &mut State,
    call: &mut Call,
    change: impl FnOnce(&mut Call, &Value) -> Answer<Value>,
) -> Answer<Value> {
    let live = find(state, call)?.clone();
    let mut new = convert::seen(state, call, &live.value)?.into_owned();
    let pointer = paths(call)?.spec_replicas;
    let mut before = view(call, &live.value)?;
    apply::owners_to_scale(&new, &pointer, &mut before);
    let mut after = change(call, &before)?;
    let metadata = metadata_of(call, &mut after)?;
    strategy::place(call, metadata)?;
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
    set(&mut new, &pointer, json!(replicas));
    if after["metadata"]["managedFields"] != before["metadata"]["managedFields"] {
        let api_version = call.version().api_version.clone();
        apply::owners_from_scale(&mut new, &pointer, &after, &api_version);
    }
    let stored = update(state, call, &live, new, Origin::Apply)?;
    view(call, &stored.value)
}

/// The merge facts of a Scale.
fn merge_type() -> Arc<MergeType> {
    builtin_merge_type("autoscaling", "Scale")
}

/// Who writes a Scale. It has a version of its own, whatever that of the workload is.
fn scale_writer(call: &Call) -> Writer {
    Writer { api_version: "autoscaling/v1".into(), ..call.writer() }
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
