//! The verbs, one each on top of storage. They take the locked [`State`](crate::state::State) and a
//! [`Call`](crate::state::Call), and are used by requests, simulated controllers and tests alike.

pub(crate) mod connect;
pub(crate) mod create;
pub(crate) mod create_below;
pub(crate) mod delete;
pub(crate) mod get;
pub(crate) mod list;
pub(crate) mod patch;
pub(crate) mod scale;
pub(crate) mod update;
pub(crate) mod watch;

use serde_json::{Map, Value, json};

use crate::options::FieldValidation;
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

/// Makes sure that `metadata` is an object whose members have the right shape, and returns it.
pub(crate) fn metadata_of<'a>(call: &Call, object: &'a mut Value) -> Answer<&'a mut Map<String, Value>> {
    let (kind, version) = (&call.resource().kind, &call.version().name);
    let misfit = |what: &str, field: &str, expected: &str| {
        Status::bad_request(format!(
            "{kind} in version \"{version}\" cannot be handled as a {kind}: json: cannot unmarshal {what} into Go \
             struct field {field} of type {expected}"
        ))
    };
    if object["metadata"].is_null() {
        object["metadata"] = json!({});
    }
    let metadata = &mut object["metadata"];
    if !metadata.is_object() {
        return Err(misfit(json_type(metadata), &format!("{kind}.metadata"), "v1.ObjectMeta"));
    }
    for field in ["labels", "annotations"] {
        let map = &metadata[field];
        let at = format!("ObjectMeta.metadata.{field}");
        if !map.is_null() && !map.is_object() {
            return Err(misfit(json_type(map), &at, "map[string]string"));
        }
        if let Some(value) = map
            .as_object()
            .into_iter()
            .flat_map(Map::values)
            .find(|value| !value.is_string() && !value.is_null())
        {
            return Err(misfit(json_type(value), &at, "string"));
        }
    }
    for (field, item) in [
        ("finalizers", "string"),
        ("ownerReferences", "v1.OwnerReference"),
        ("managedFields", "v1.ManagedFieldsEntry"),
    ] {
        let list = &metadata[field];
        if !list.is_null() && !list.is_array() {
            return Err(misfit(
                json_type(list),
                &format!("ObjectMeta.metadata.{field}"),
                &format!("[]{item}"),
            ));
        }
        let texts = item == "string";
        let wrong = |entry: &&Value| if texts { !entry.is_string() } else { !entry.is_object() };
        if let Some(entry) = list.as_array().into_iter().flatten().find(wrong) {
            return Err(misfit(json_type(entry), &format!("ObjectMeta.metadata.{field}"), item));
        }
    }
    for field in ["name", "namespace", "generateName", "uid", "resourceVersion"] {
        if !metadata[field].is_null() && !metadata[field].is_string() {
            return Err(misfit(
                json_type(&metadata[field]),
                &format!("ObjectMeta.metadata.{field}"),
                "string",
            ));
        }
    }
    Ok(metadata.as_object_mut().expect("checked above"))
}

/// Parts of built-in objects that are objects if they are there: everything that defaults and strategies reach into.
const OBJECTS: [&str; 17] = [
    "/spec",
    "/status",
    "/data",
    "/spec/selector",
    "/spec/strategy",
    "/spec/updateStrategy",
    "/spec/names",
    "/spec/template",
    "/spec/template/metadata",
    "/spec/template/metadata/labels",
    "/spec/template/spec",
    "/spec/jobTemplate",
    "/spec/jobTemplate/spec",
    "/spec/jobTemplate/spec/template",
    "/spec/jobTemplate/spec/template/spec",
    "/spec/sessionAffinityConfig",
    "/roleRef",
];

/// Refuses built-in objects whose parts are of another type than everything here expects.
pub(crate) fn check_shape(call: &Call, object: &Value) -> Answer<()> {
    if call.resource().traits.custom {
        return Ok(());
    }
    let (kind, version) = (&call.resource().kind, &call.version().name);
    for pointer in OBJECTS {
        let Some(part) = object.pointer(pointer).filter(|part| !part.is_object() && !part.is_null()) else {
            continue;
        };
        let field = pointer.replace('/', ".");
        return Err(Status::bad_request(format!(
            "{kind} in version \"{version}\" cannot be handled as a {kind}: json: cannot unmarshal {} into Go struct \
             field {kind}{field} of type object",
            json_type(part)
        )));
    }
    Ok(())
}

fn json_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Removes members of metadata that say nothing, as a round trip through typed objects does.
pub(crate) fn drop_empty(metadata: &mut Map<String, Value>) {
    metadata.retain(|_, value| match value {
        Value::Null => false,
        Value::Array(list) => !list.is_empty(),
        Value::Object(map) => !map.is_empty(),
        Value::String(text) => !text.is_empty(),
        _ => true,
    });
}

/// Prunes and defaults a custom resource by its schema and checks it; unknown fields are treated as the request
/// asks. `keep_nulls` for the result of an apply, where a null that does not belong is an error.
pub(crate) fn apply_schema(call: &mut Call, object: &mut Value, keep_nulls: bool) -> Answer<()> {
    let served = call.served.clone();
    let Some(schema) = &served.version().schema else { return Ok(()) };
    let mut unknown = prune_metadata(object);
    unknown.extend(schema.prune(object));
    let texts = unknown.iter().map(|path| format!("unknown field \"{path}\""));
    match call.options.field_validation {
        FieldValidation::Ignore => {}
        FieldValidation::Warn => call.warnings.extend(texts),
        FieldValidation::Strict if unknown.is_empty() => {}
        FieldValidation::Strict => {
            let list = texts.collect::<Vec<_>>().join(", ");
            let (kind, version) = (&call.resource().kind, &call.version().name);
            return Err(Status::bad_request(format!(
                "{kind} in version \"{version}\" cannot be handled as a {kind}: strict decoding error: {list}"
            )));
        }
    }
    if keep_nulls {
        schema.default_keeping_nulls(object)
    } else {
        schema.default(object)
    }
    Ok(())
}

/// Removes members that `ObjectMeta` does not have and returns their paths.
fn prune_metadata(object: &mut Value) -> Vec<String> {
    const KNOWN: [&str; 15] = [
        "annotations",
        "creationTimestamp",
        "deletionGracePeriodSeconds",
        "deletionTimestamp",
        "finalizers",
        "generateName",
        "generation",
        "labels",
        "managedFields",
        "name",
        "namespace",
        "ownerReferences",
        "resourceVersion",
        "selfLink",
        "uid",
    ];
    let mut unknown = Vec::new();
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.retain(|member, _| {
            let known = KNOWN.contains(&member.as_str());
            if !known {
                unknown.push(format!("metadata.{member}"));
            }
            known
        });
    }
    unknown
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
