//! Patches: applies the patch to the object as it is, then goes the way of an update (or of a create, for an
//! apply of something new).

use std::sync::Arc;

use serde_json::{Value, json};

use super::body::{self, metadata_of};
use super::create;
use super::get::find;
use super::update::{Origin, update};
use crate::apply::{self, ApplyError};
use crate::auth::rbac::{self, Attributes};
use crate::convert;
use crate::patch::{self, PatchError};
use crate::schema::FieldError;
use crate::state::{Call, State};
use crate::status::{Answer, Status};
use crate::storage::Stored;

/// The kinds of patch, by media type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum PatchKind {
    Json,
    Merge,
    Strategic,
    Apply,
}

impl PatchKind {
    /// Reads the Content-Type of a patch; custom resources know no strategic merge patch.
    pub(crate) fn of(content_type: &str, custom: bool) -> Answer<Self> {
        match content_type.split(';').next().unwrap_or_default().trim() {
            "application/json-patch+json" => Ok(Self::Json),
            "application/merge-patch+json" => Ok(Self::Merge),
            "application/strategic-merge-patch+json" if !custom => Ok(Self::Strategic),
            "application/apply-patch+yaml" => Ok(Self::Apply),
            "application/strategic-merge-patch+json" => {
                let accepted =
                    "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml";
                let message = format!(
                    "the body of the request was in an unknown format - accepted media types include: {accepted}"
                );
                Err(Status::new(415, "UnsupportedMediaType", message))
            }
            _ => {
                let mut status = Status::new(415, "UnsupportedMediaType", "415: Unsupported Media Type");
                status.details = Some(json!({}));
                Err(status)
            }
        }
    }
}

/// Answers a patch; true when it created the object.
pub(crate) fn patch(
    state: &mut State,
    call: &mut Call,
    kind: PatchKind,
    body: &Value,
) -> Answer<(Arc<Stored>, bool)> {
    if kind == PatchKind::Apply {
        return apply(state, call, body.clone());
    }
    check_no_apply(call)?;
    let live = find(state, call)?.clone();
    let old = convert::seen(state, call, &live.value)?;
    let new = match kind {
        PatchKind::Json => patch::json(&old, body).map_err(refusal)?,
        PatchKind::Strategic => patch::strategic(&old, body, call.version().merge()).map_err(refusal)?,
        PatchKind::Merge | PatchKind::Apply => {
            if !body.is_object() {
                return Err(Status::bad_request(
                    "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}",
                ));
            }
            patch::merge(&old, body)
        }
    };
    let new = body::read_patched(call, kind, body, &old, new)?;
    update(state, call, &live, new, Origin::Patch).map(|stored| (stored, false))
}

fn refusal(error: PatchError) -> Box<Status> {
    match error {
        PatchError::Malformed(message) => Status::bad_request(message),
        PatchError::TooLarge(message) => Status::new(413, "RequestEntityTooLarge", message),
        PatchError::Internal(message) => Status::unexpected(message),
        PatchError::Unprocessable(_) => {
            // The server does not say which operation failed.
            let mut status =
                Status::new(422, "Invalid", "the server rejected our request due to an error in our request");
            status.details = Some(json!({}));
            status
        }
    }
}

/// Refuses options that only an apply may have.
pub(super) fn check_no_apply(call: &Call) -> Answer<()> {
    if call.options.force.is_some() {
        let force = FieldError::forbidden("force", "may not be specified for non-apply patch");
        return Err(Status::invalid_options("PatchOptions", &[force]));
    }
    Ok(())
}

/// Checks what is applied as an object of `expected`, an `apiVersion` and a kind; settles name and namespace.
pub(super) fn check_applied(call: &mut Call, applied: &mut Value, expected: (&str, &str)) -> Answer<()> {
    if call.options.field_manager.is_empty() {
        let required = FieldError::required("fieldManager", "is required for apply patch");
        return Err(Status::invalid_options("PatchOptions", &[required]));
    }
    let text = |field: &str| applied[field].as_str().unwrap_or_default().to_owned();
    let (version, kind) = (text("apiVersion"), text("kind"));
    if version != expected.0 || kind != expected.1 {
        let group_version = if version.contains('/') { version } else { format!("/{version}") };
        return Err(Status::bad_request(format!("invalid object type: {group_version}, Kind={kind}")));
    }
    body::check_applied_metadata(applied)?;
    keep_own_part(call, applied);
    let metadata = metadata_of(call, applied)?;
    if metadata
        .get("managedFields")
        .is_some_and(|entries| entries.as_array().is_none_or(|list| !list.is_empty()))
    {
        return Err(Status::bad_request("metadata.managedFields must be nil"));
    }
    metadata.remove("managedFields");
    // Messages show the configuration as it was sent.
    let named = metadata.contains_key("namespace");
    crate::strategy::place(call, metadata)?;
    if !named {
        metadata.remove("namespace");
    }
    metadata.entry("name").or_insert_with(|| json!(call.name));
    Ok(())
}

fn apply(state: &mut State, call: &mut Call, mut applied: Value) -> Answer<(Arc<Stored>, bool)> {
    let served = call.served.clone();
    check_applied(call, &mut applied, (&served.version().api_version, &served.resource.kind))?;
    let live = state.storage.get(&call.resource().storage, &call.key()).cloned();
    let old = live.as_ref().map(|live| convert::seen(state, call, &live.value)).transpose()?;
    let force = call.options.force.unwrap_or(false);
    let merged = apply::apply(old.as_deref(), &applied, served.version().merge(), &call.writer(), force);
    let new = body::read_applied(call, merged.map_err(apply_refusal)?)?;
    match live {
        Some(live) => update(state, call, &live, new, Origin::Apply).map(|stored| (stored, false)),
        None if !call.subresource.is_empty() => Err(Status::not_found(&call.resource().name(), &call.name)),
        None => {
            if let Some(uid) = applied["metadata"]["uid"].as_str().filter(|uid| !uid.is_empty()) {
                let why = format!(
                    "uid mismatch: the provided object specified uid {uid}, and no existing object was found"
                );
                return Err(Status::conflict(&call.resource().name(), &call.name, &why));
            }
            may_create(state, call)?;
            create::create(state, call, new, true).map(|stored| (stored, true))
        }
    }
}

/// Leaves what the endpoint may set: the rest is neither applied nor owned.
fn keep_own_part(call: &Call, applied: &mut Value) {
    let has_status = call.version().has("status");
    let Some(members) = applied.as_object_mut() else { return };
    match call.subresource.as_str() {
        "" if has_status => drop(members.remove("status")),
        "status" => {
            members
                .retain(|member, _| matches!(member.as_str(), "apiVersion" | "kind" | "metadata" | "status"));
            if let Some(metadata) = members.get_mut("metadata").and_then(Value::as_object_mut) {
                metadata.retain(|member, _| {
                    matches!(
                        member.as_str(),
                        "name" | "namespace" | "uid" | "resourceVersion" | "managedFields"
                    )
                });
            }
        }
        _ => {}
    }
}

/// An apply that creates needs the verb create as well.
fn may_create(state: &State, call: &Call) -> Answer<()> {
    let attributes = Attributes {
        verb: "create".into(),
        group: call.resource().group.clone(),
        resource: call.resource().plural.clone(),
        namespace: call.namespace.clone(),
        name: call.name.clone(),
        ..Attributes::default()
    };
    rbac::allowed(state, &call.user, &attributes)
        .map(drop)
        .ok_or_else(|| rbac::forbidden(&call.user, &attributes))
}

pub(super) fn apply_refusal(error: ApplyError) -> Box<Status> {
    match error {
        // A field outside the schema, duplicate keys: the server has no type for these.
        ApplyError::Invalid(message) => Status::unexpected(message),
        ApplyError::Conflicts(conflicts) => {
            let causes: Vec<Value> = conflicts
                .iter()
                .map(|conflict| {
                    let message = format!("conflict with {}", conflict.manager);
                    json!({ "reason": "FieldManagerConflict", "message": message, "field": conflict.field })
                })
                .collect();
            Status::apply_conflict(apply::conflict_message(&conflicts), &causes)
        }
    }
}
