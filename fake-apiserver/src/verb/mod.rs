//! The verbs, one each on top of storage. They take the locked [`State`](crate::state::State) and a
//! [`Call`](crate::state::Call), and are used by requests, simulated controllers and tests alike.

pub(crate) mod body;
pub(crate) mod connect;
pub(crate) mod create;
pub(crate) mod create_below;
pub(crate) mod delete;
pub(crate) mod get;
pub(crate) mod list;
pub(crate) mod patch;
pub(crate) mod scale;
mod token;
pub(crate) mod update;
pub(crate) mod watch;

use serde_json::{Map, Value, json};

use crate::registry::Registry;
use crate::schema::FieldError;
use crate::state::Call;
use crate::status::{Answer, Status};

/// Checks `apiVersion` and `kind` of a request body and fills in what is missing.
pub(crate) fn check_type(registry: &Registry, call: &Call, object: &mut Value) -> Answer<()> {
    let (expected_kind, expected_version) =
        (call.resource().kind.as_str(), call.version().api_version.as_str());
    let Some(members) = object.as_object_mut() else {
        return Err(Status::bad_request(format!(
            "the object provided is unrecognized (must be of type {expected_kind})"
        )));
    };
    let text = |members: &Map<String, Value>, key: &str| {
        members.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let (kind, version) = (text(members, "kind"), text(members, "apiVersion"));
    let wrong_kind = !kind.is_empty() && kind != expected_kind;
    let wrong_version = !version.is_empty() && version != expected_version;
    if wrong_kind || wrong_version {
        return Err(Status::bad_request(type_mismatch(registry, call, &kind, &version)));
    }
    members.insert("kind".into(), json!(expected_kind));
    members.insert("apiVersion".into(), json!(expected_version));
    Ok(())
}

fn type_mismatch(registry: &Registry, call: &Call, kind: &str, version: &str) -> String {
    let (expected_kind, expected_version) = (&call.resource().kind, &call.version().api_version);
    let version = if version.is_empty() { expected_version } else { version };
    let kind = if kind.is_empty() { expected_kind } else { kind };
    let (group, bare_version) = version.split_once('/').unwrap_or(("", version));
    let known = registry
        .by_kind(group, kind)
        .is_some_and(|found| found.versions.iter().any(|candidate| candidate.name == bare_version));
    if group != call.resource().group || call.resource().traits.custom {
        format!(
            "the API version in the data ({version}) does not match the expected API version ({expected_version})"
        )
    } else if known {
        let internal = if group.is_empty() { "core" } else { group };
        format!(
            "{kind} in version \"{bare_version}\" cannot be handled as a {expected_kind}: converting \
             ({bare_version}.{kind}) to ({internal}.{expected_kind}): unknown conversion"
        )
    } else {
        format!(
            "{kind} in version \"{bare_version}\" cannot be handled as a {expected_kind}: no kind \"{kind}\" is \
             registered for version \"{version}\" in scheme \"k8s.io/kubernetes/pkg/api/legacyscheme/scheme.go:30\""
        )
    }
}

/// Prunes and defaults a custom resource by its schema and checks it; unknown fields are treated as the request
/// asks. `keep_nulls` for the result of an apply, where a null that does not belong is an error.
pub(crate) fn apply_schema(call: &mut Call, object: &mut Value, keep_nulls: bool) -> Answer<()> {
    let served = call.served.clone();
    let Some(schema) = &served.version().schema else {
        call.objections.clear();
        return Ok(());
    };
    let unknown = body::unknown_fields(call, object);
    call.objections.extend(unknown);
    let (kind, version) = (&served.resource.kind, &served.version().name);
    body::judge(call, |list| {
        Status::bad_request(format!(
            "{kind} in version \"{version}\" cannot be handled as a {kind}: strict decoding error: {list}"
        ))
    })?;
    if keep_nulls {
        schema.default_keeping_nulls(object)
    } else {
        schema.default(object)
    }
    Ok(())
}

/// What is wrong with a custom resource by its schema; `old` is what it replaces.
pub(crate) fn schema_errors(call: &mut Call, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let served = call.served.clone();
    let Some(schema) = &served.version().schema else { return Vec::new() };
    match old {
        // The status endpoint validates the status alone, so messages name paths inside it.
        Some(old) if call.subresource == "status" => {
            let mut errors = schema.validate_update(object, old);
            errors.retain(|error| error.path.starts_with("status"));
            for error in &mut errors {
                error.message = error.message.replace(": status.", ": ");
            }
            errors
        }
        None => schema.validate(object),
        Some(old) => {
            let review = schema.review_update(object, old);
            call.warnings.extend(review.warnings);
            review.errors
        }
    }
}
