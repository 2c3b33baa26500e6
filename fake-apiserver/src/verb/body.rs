//! What a body says and what of it counts: reading into built-in types, unknown and repeated fields as the request asks
//! (`fieldValidation`), and how objects are written again.
//!
//! Custom resources have no type here; their schema does the same in `apply_schema`.

use serde_json::{Map, Value};

use super::patch::PatchKind;
use crate::options::FieldValidation;
use crate::patch::go_text;
use crate::schema::FieldError;
use crate::schema::builtin::decode::{Wording, decode, decode_worded};
use crate::schema::builtin::print::print;
use crate::schema::builtin::settle::settle;
use crate::schema::builtin::table::{Type, Types};
use crate::schema::document::Document;
use crate::state::Call;
use crate::status::{Answer, ResourceName, Status};
use crate::warnings;

/// The type of the bodies of an endpoint; `None` for custom resources.
fn type_of(call: &Call) -> Option<&'static Type> {
    let types = Types::get();
    match call.subresource.as_str() {
        "scale" => types.kind("autoscaling/v1", "Scale"),
        "eviction" => types.kind("policy/v1", "Eviction"),
        "binding" => types.kind("v1", "Binding"),
        "token" => types.kind("authentication.k8s.io/v1", "TokenRequest"),
        _ => call.version().built_in,
    }
}

/// Reads the body of a create or update. `repeated` is what a reader of YAML found.
///
/// # Errors
/// 400 for values of a wrong type, and for unknown and repeated fields if the request is strict.
pub(crate) fn read(call: &mut Call, document: Document, repeated: Option<String>) -> Answer<Value> {
    let said = |member: &str| document.text(member).unwrap_or_default();
    let expected = type_of(call).filter(|of| {
        let version = Types::get().package(of).api_version;
        (said("kind").is_empty() || said("kind") == of.name)
            && (said("apiVersion").is_empty() || said("apiVersion") == version)
    });
    call.objections.extend(repeated);
    let Some(of) = expected else {
        call.objections.extend(document.repeated().iter().map(|path| format!("duplicate field \"{path}\"")));
        return Ok(document.into());
    };
    let decoded = decode(of, document, &[]).map_err(|why| Status::bad_request(unhandled(of, &why)))?;
    call.objections.extend(decoded.objections);
    judge(call, |list| Status::bad_request(unhandled(of, &format!("strict decoding error: {list}"))))?;
    Ok(decoded.value)
}

/// Reads a whole object that does not come from a request body.
///
/// # Errors
/// 400 for values of a wrong type.
pub(crate) fn read_value(call: &mut Call, object: Value) -> Answer<Value> {
    call.options.field_validation = FieldValidation::Ignore;
    read(call, object.into(), None)
}

/// Reads what a patch made of an object; `body` is the patch.
///
/// # Errors
/// 422 that shows the patch or its result, for values of a wrong type and for what a strict request refuses.
pub(crate) fn read_patched(
    call: &mut Call,
    kind: PatchKind,
    body: &Value,
    old: &Value,
    mut new: Value,
) -> Answer<Value> {
    let of = type_of(call);
    let wording = if kind == PatchKind::Strategic { Wording::Map } else { Wording::Json };
    let shown = |new: &Value| match kind {
        PatchKind::Strategic => go_text(body),
        _ => print(of, new, old),
    };
    match of {
        Some(of) => match decode_worded(of, new.clone().into(), &[], wording) {
            Err(why) => Err(misfit(&shown(&new), &why)),
            Ok(decoded) => {
                call.objections.extend(decoded.objections);
                judge(call, |list| misfit(&shown(&new), &format!("strict decoding error: {list}")))?;
                Ok(decoded.value)
            }
        },
        None => {
            let text = shown(&new);
            let unknown = unknown_fields(call, &mut new);
            call.objections.extend(unknown);
            judge(call, |list| misfit(&text, &format!("strict decoding error: {list}")))?;
            Ok(new)
        }
    }
}

/// Reads what an apply made of an object: merging looks neither at scalars nor into what is atomic.
///
/// # Errors
/// 500 for a value of a wrong type: the server has no type for this error.
pub(crate) fn read_applied(call: &Call, new: Value) -> Answer<Value> {
    let Some(of) = type_of(call) else { return Ok(new) };
    let name = new["metadata"]["name"].clone();
    let (version, kind) = (new["apiVersion"].clone(), new["kind"].clone());
    decode_worded(of, new.into(), &[], Wording::Map)
        .map(|decoded| decoded.value)
        .map_err(|why| untyped([&Value::Null, &name, &version, &kind], &why))
}

/// Checks the types inside the metadata of what is applied.
///
/// # Errors
/// As of [`read_applied`].
pub(crate) fn check_applied_metadata(applied: &Value) -> Answer<()> {
    let metadata = &applied["metadata"];
    let (Some(of), false) = (Types::get().object_meta(), metadata.is_null()) else { return Ok(()) };
    decode_worded(of, metadata.clone().into(), &["metadata"], Wording::Map).map(drop).map_err(|why| {
        let [version, kind] = ["apiVersion", "kind"].map(|member| &applied[member]);
        untyped([&metadata["namespace"], &metadata["name"], version, kind], &why)
    })
}

/// The refusal of what no type can be given to, by namespace, name, `apiVersion` and kind.
fn untyped(object: [&Value; 4], why: &str) -> Box<Status> {
    let [namespace, name, version, kind] = object.map(|value| value.as_str().unwrap_or_default());
    let slash = if version.contains('/') { "" } else { "/" };
    let object = format!("{namespace}/{name}; {slash}{version}, Kind={kind}");
    Status::unexpected(format!("failed to create typed patch object ({object}): {why}"))
}

/// Tells the client of everything objectionable so far, or refuses the request, as it asked.
pub(crate) fn judge(call: &mut Call, refusal: impl FnOnce(&str) -> Box<Status>) -> Answer<()> {
    let objections = std::mem::take(&mut call.objections);
    match call.options.field_validation {
        FieldValidation::Ignore => {}
        FieldValidation::Warn => call.warnings.extend(objections),
        FieldValidation::Strict if objections.is_empty() => {}
        FieldValidation::Strict => return Err(refusal(&objections.join(", "))),
    }
    Ok(())
}

/// Removes what neither metadata nor the schema of a custom resource knows, and says what it was.
pub(crate) fn unknown_fields(call: &Call, object: &mut Value) -> Vec<String> {
    let Some(schema) = &call.version().schema else { return Vec::new() };
    let mut unknown = Vec::new();
    if let (Some(of), Some(metadata)) = (Types::get().object_meta(), object["metadata"].as_object_mut()) {
        metadata.retain(|member, _| {
            let known = of.field(member).is_some();
            if !known {
                unknown.push(format!("metadata.{member}"));
            }
            known
        });
    }
    unknown.extend(schema.prune(object));
    unknown.into_iter().map(|path| format!("unknown field \"{path}\"")).collect()
}

/// Brings an object into the form in which it is stored: of a built-in kind all of it, of a custom one its metadata.
pub(crate) fn settle_object(call: &mut Call, object: &mut Value) {
    let Value::Object(members) = object else { return };
    if let Some(metadata) = members.get_mut("metadata").and_then(Value::as_object_mut) {
        call.warnings.extend(warnings::drop_repeated_owners(metadata));
    }
    match (call.version().built_in, Types::get().object_meta()) {
        (Some(of), _) => settle(of, members),
        (None, Some(of)) => {
            if let Some(metadata) = members.get_mut("metadata").and_then(Value::as_object_mut) {
                settle(of, metadata);
            }
        }
        (None, None) => {}
    }
}

/// Warns of what an object that is about to be written says, unless it said so before.
pub(crate) fn warn(call: &mut Call, object: &Value, old: Option<&Value>) {
    let generation = |object: &Value| object["metadata"]["generation"].clone();
    let counted = call.resource().traits.generation;
    let same = old.is_some_and(|old| counted && generation(old) == generation(object));
    if call.subresource.is_empty() && !same {
        call.warnings.extend(warnings::of(&call.served.resource.id, object));
    }
}

/// Makes sure that `metadata` is an object whose members have the right shape, and returns it.
pub(crate) fn metadata_of<'a>(call: &mut Call, object: &'a mut Value) -> Answer<&'a mut Map<String, Value>> {
    let served = call.served.clone();
    let (kind, version) = (&served.resource.kind, &served.version().name);
    let refuse = |why: &str| {
        Status::bad_request(format!("{kind} in version \"{version}\" cannot be handled as a {kind}: {why}"))
    };
    if !object.is_object() {
        let what = Document::from(object.take()).kind();
        return Err(refuse(&format!("json: cannot unmarshal {what} into Go value of type {kind}")));
    }
    let mut given = object["metadata"].take();
    if given.is_null() {
        given = Value::Object(Map::new());
    }
    let document = Document::from(given);
    if !matches!(document, Document::Object(_)) {
        let what = document.kind();
        return Err(refuse(&format!(
            "json: cannot unmarshal {what} into Go struct field {kind}.metadata of type v1.ObjectMeta"
        )));
    }
    if let Some(of) = Types::get().object_meta() {
        let decoded = decode(of, document, &["metadata"]).map_err(|why| refuse(&why))?;
        object["metadata"] = decoded.value;
        call.objections.extend(decoded.objections);
    }
    object["metadata"].as_object_mut().ok_or_else(|| refuse("metadata is no object"))
}

fn unhandled(of: &Type, why: &str) -> String {
    let version = Types::get().package(of).api_version;
    let version = version.rsplit('/').next().unwrap_or(version);
    format!("{0} in version \"{version}\" cannot be handled as a {0}: {why}", of.name)
}

fn misfit(shown: &str, why: &str) -> Box<Status> {
    let error = FieldError::invalid("patch", &Value::from(shown), why);
    let mut status = Status::invalid(&ResourceName { group: "", resource: "" }, "", &[error]);
    if let Some(details) = status.details.as_mut().and_then(Value::as_object_mut) {
        details.retain(|member, _| member == "causes");
    }
    status
}
