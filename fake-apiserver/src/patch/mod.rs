//! The patch types that are pure functions of (object, patch): JSON patch (RFC 6902), merge patch (RFC 7396)
//! and strategic merge patch.

use serde_json::Value;

use crate::schema::MergeType;

/// Why a patch cannot be applied; the text is the server's message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatchError {
    /// The patch document itself cannot be read (400 BadRequest).
    #[error("{0}")]
    Malformed(String),
    /// The patch does not fit the object (422 Invalid).
    #[error("{0}")]
    Unprocessable(String),
}

/// Applies a JSON patch.
///
/// # Errors
/// See [`PatchError`].
pub fn json(_object: &Value, _patch: &Value) -> Result<Value, PatchError> {
    Ok(Value::Null)
}

/// Applies a merge patch.
pub fn merge(_object: &Value, _patch: &Value) -> Value {
    Value::Null
}

/// Applies a strategic merge patch.
///
/// # Errors
/// See [`PatchError`].
pub fn strategic(_object: &Value, _patch: &Value, _types: &MergeType) -> Result<Value, PatchError> {
    Ok(Value::Null)
}
