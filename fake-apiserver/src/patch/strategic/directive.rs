//! The directives a strategic merge patch may contain, and the Go texts in which the server reports wrong ones.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use crate::patch::PatchError;

/// Key of the directive that deletes or replaces the object it stands in.
pub(super) const PATCH: &str = "$patch";
/// Key of the directive that lists the only fields an object keeps.
pub(super) const RETAIN_KEYS: &str = "$retainKeys";
/// Prefix of the directive that orders a list.
pub(super) const SET_ELEMENT_ORDER: &str = "$setElementOrder/";
const DELETE_FROM_PRIMITIVE_LIST: &str = "$deleteFromPrimitiveList/";

/// What a key of a patch means.
pub(super) enum Directive<'k> {
    /// An ordinary field.
    None,
    RetainKeys,
    SetElementOrder(&'k str),
    DeleteFromPrimitiveList(&'k str),
}

pub(super) fn parse(key: &str) -> Directive<'_> {
    if !key.starts_with('$') {
        Directive::None
    } else if key == RETAIN_KEYS {
        Directive::RetainKeys
    } else if let Some(field) = key.strip_prefix(SET_ELEMENT_ORDER) {
        Directive::SetElementOrder(field)
    } else if let Some(field) = key.strip_prefix(DELETE_FROM_PRIMITIVE_LIST) {
        Directive::DeleteFromPrimitiveList(field)
    } else {
        Directive::None
    }
}

/// Removes every field of `original` that is not listed in `keys`.
pub(super) fn retain_keys(
    original: &mut Map<String, Value>,
    patch: &Map<String, Value>,
    keys: &Value,
) -> Result<(), PatchError> {
    let wrong = || PatchError::Internal("invalid patch format of retainKeys".into());
    let keys = keys.as_array().ok_or_else(wrong)?;
    let listed = |key: &str| keys.iter().any(|listed| listed == key);
    let all_listed = patch
        .iter()
        .filter(|(key, value)| !value.is_null() && matches!(parse(key), Directive::None))
        .all(|(key, _)| listed(key));
    if !all_listed {
        return Err(wrong());
    }
    original.retain(|key, _| listed(key));
    Ok(())
}

/// Writes a value as Go's `%v` does.
pub(super) fn go_format(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("<nil>"),
        Value::Bool(flag) => {
            let _ = write!(out, "{flag}");
        }
        Value::Number(number) => {
            let _ = write!(out, "{number}");
        }
        Value::String(text) => out.push_str(text),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(' ');
                }
                go_format(out, item);
            }
            out.push(']');
        }
        Value::Object(fields) => go_format_map(out, fields),
    }
}

/// Writes an object as Go's `%v` does.
pub(super) fn go_format_map(out: &mut String, fields: &Map<String, Value>) {
    out.push_str("map[");
    for (index, (key, value)) in fields.iter().enumerate() {
        if index > 0 {
            out.push(' ');
        }
        out.push_str(key);
        out.push(':');
        go_format(out, value);
    }
    out.push(']');
}
