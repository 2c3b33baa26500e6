//! JSON patch (RFC 6902), with the one liberty the server takes: `replace` of an absent object member adds it.

use json_patch::{AddOperation, CopyOperation, MoveOperation, PatchOperation, ReplaceOperation};
use serde_json::Value;

use super::PatchError;

/// What the server says of every JSON patch that does not fit; it names no details.
const REJECTED: &str = "the server rejected our request due to an error in our request";

/// Most operations of one patch.
const MOST_OPERATIONS: usize = 10_000;
/// Most bytes that the copies of one patch may add; a few copies of copies grow without bounds.
const MOST_COPIED_BYTES: usize = 3 * 1024 * 1024;
/// Deepest nesting that a copied or moved value may reach, far beyond what a parser accepts.
const DEEPEST: usize = 512;

/// Applies a JSON patch, all of it or nothing.
///
/// # Errors
/// [`PatchError::Malformed`] if the patch is no list of objects, [`PatchError::TooLarge`] if it is too long,
/// [`PatchError::Unprocessable`] if an operation is unknown, does not fit the object or blows it up.
pub fn json(object: &Value, patch: &Value) -> Result<Value, PatchError> {
    let Value::Array(items) = patch else {
        return Err(malformed(patch));
    };
    if items.len() > MOST_OPERATIONS {
        return Err(PatchError::TooLarge(format!(
            "The allowed maximum operations in a JSON patch is {MOST_OPERATIONS}, got {}",
            items.len()
        )));
    }
    let rejected = || PatchError::Unprocessable(REJECTED.into());
    let mut result = object.clone();
    let mut copied = 0;
    for item in items {
        if !item.is_object() {
            return Err(malformed(item));
        }
        let operation: PatchOperation = serde::Deserialize::deserialize(item).map_err(|_| rejected())?;
        if let PatchOperation::Copy(CopyOperation { from, path })
        | PatchOperation::Move(MoveOperation { from, path }) = &operation
        {
            let value = from.resolve(&result).map_err(|_| rejected())?;
            if matches!(operation, PatchOperation::Copy(_)) {
                copied += value.to_string().len();
            }
            if copied > MOST_COPIED_BYTES || path.count() + depth(value) > DEEPEST {
                return Err(rejected());
            }
        }
        let operation = tolerate_absent_member(&result, operation);
        json_patch::patch(&mut result, std::slice::from_ref(&operation)).map_err(|_| rejected())?;
    }
    Ok(result)
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or_default(),
        Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or_default(),
        _ => 0,
    }
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
