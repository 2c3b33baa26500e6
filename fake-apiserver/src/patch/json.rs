//! JSON patch (RFC 6902), with the one liberty the server takes: `replace` of an absent object member adds it.

use json_patch::{AddOperation, PatchOperation, ReplaceOperation};
use serde_json::Value;

use super::PatchError;

/// What the server says of every JSON patch that does not fit; it names no details.
const REJECTED: &str = "the server rejected our request due to an error in our request";

/// Applies a JSON patch, all of it or nothing.
///
/// # Errors
/// [`PatchError::Malformed`] if the patch is no list of objects, [`PatchError::Unprocessable`] if an operation is
/// unknown or does not fit the object.
pub fn json(object: &Value, patch: &Value) -> Result<Value, PatchError> {
    let Value::Array(items) = patch else {
        return Err(malformed(patch));
    };
    let mut result = object.clone();
    for item in items {
        if !item.is_object() {
            return Err(malformed(item));
        }
        let operation: PatchOperation =
            serde::Deserialize::deserialize(item).map_err(|_| PatchError::Unprocessable(REJECTED.into()))?;
        let operation = tolerate_absent_member(&result, operation);
        json_patch::patch(&mut result, std::slice::from_ref(&operation))
            .map_err(|_| PatchError::Unprocessable(REJECTED.into()))?;
    }
    Ok(result)
}

fn tolerate_absent_member(document: &Value, operation: PatchOperation) -> PatchOperation {
    match operation {
        PatchOperation::Replace(ReplaceOperation { path, value })
            if path
                .parent()
                .and_then(|parent| parent.resolve(document).ok())
                .is_some_and(Value::is_object) =>
        {
            PatchOperation::Add(AddOperation { path, value })
        }
        other => other,
    }
}

fn malformed(found: &Value) -> PatchError {
    let kind = match found {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    PatchError::Malformed(format!(
        "error decoding patch: json: cannot unmarshal {kind} into Go value of type []handlers.jsonPatchOp"
    ))
}
