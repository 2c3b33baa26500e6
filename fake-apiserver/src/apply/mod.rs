//! Field ownership: server-side apply, and what every other write does to `metadata.managedFields`.
//!
//! Pure functions of (live object, request, merge facts). The rules are those of
//! `sigs.k8s.io/structured-merge-diff` and KEP-555.

use serde_json::Value;

use crate::schema::MergeType;

/// Who writes, and how it is recorded in `metadata.managedFields`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Writer {
    /// Field manager.
    pub manager: String,
    /// `apiVersion` of the request.
    pub api_version: String,
    /// `status`, `scale`, … for a subresource request.
    pub subresource: Option<String>,
    /// RFC 3339 time in whole seconds, UTC.
    pub time: String,
}

/// Why an apply is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApplyError {
    /// Other managers own fields with other values, and `force` was not given.
    Conflicts(Vec<Conflict>),
    /// The applied configuration cannot be read with these facts (for instance duplicate list keys):
    /// the server's message.
    Invalid(String),
}

/// One field that another manager owns with another value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The other manager as the server prints it, for instance `"kubectl" using apps/v1`.
    pub manager: String,
    /// Path as the server prints it, for instance `.spec.template.spec.containers[name="a"].image`.
    pub field: String,
}

/// Applies `applied` on top of `live` (`None`: it does not exist yet) and returns the new object with its
/// managedFields. `applied` holds no managedFields.
///
/// # Errors
/// See [`ApplyError`].
pub fn apply(
    _live: Option<&Value>,
    applied: &Value,
    _types: &MergeType,
    _writer: &Writer,
    _force: bool,
) -> Result<Value, ApplyError> {
    Ok(applied.clone())
}

/// Records a create, update or patch: `new` is the object as it is about to be stored; its managedFields are
/// rewritten. Fields whose value changed move to `writer`; removed fields leave every entry.
pub fn track_update(_live: Option<&Value>, _new: &mut Value, _types: &MergeType, _writer: &Writer) {}
