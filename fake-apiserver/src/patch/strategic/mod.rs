//! Strategic merge patch: a merge patch that knows which lists have keys, and that takes directives.
//!
//! The rules are those of `k8s.io/apimachinery/pkg/util/strategicpatch`. A list with several keys (ports by
//! number and protocol) merges by the first alone, as the server does. Objects always merge by field here, also
//! those that server-side apply replaces as a whole.

mod directive;
mod list;

use serde_json::{Map, Value};

use self::directive::{Directive, go_format};
use super::PatchError;
use crate::schema::MergeType;

/// Applies a strategic merge patch.
///
/// # Errors
/// [`PatchError::Malformed`] if the patch is no object, [`PatchError::Internal`] if a directive is wrong or an
/// item of a keyed list has no key.
pub fn strategic(object: &Value, patch: &Value, types: &MergeType) -> Result<Value, PatchError> {
    let Value::Object(patch) = patch else {
        return Err(PatchError::Malformed("strategic merge patch format is not supported".into()));
    };
    let mut result = match object {
        Value::Object(object) => object.clone(),
        _ => Map::new(),
    };
    merge_object(&mut result, patch, types)?;
    Ok(Value::Object(result))
}

fn merge_object(
    original: &mut Map<String, Value>,
    patch: &Map<String, Value>,
    types: &MergeType,
) -> Result<(), PatchError> {
    match patch.get(directive::PATCH) {
        None => {}
        Some(Value::String(what)) if what == "replace" => {
            *original = without_directives(patch);
            return Ok(());
        }
        Some(Value::String(what)) if what == "delete" => {
            original.clear();
            return Ok(());
        }
        Some(other) => return Err(unknown_patch_type(other, patch)),
    }
    if let Some(keys) = patch.get(directive::RETAIN_KEYS) {
        directive::retain_keys(original, patch, keys)?;
    }
    for (key, value) in patch {
        match directive::parse(key) {
            Directive::None => merge_field(original, key, value, patch, types)?,
            Directive::DeleteFromPrimitiveList(field) => {
                if let (Some(Value::Array(items)), Value::Array(gone)) = (original.get_mut(field), value) {
                    items.retain(|item| !gone.contains(item));
                }
            }
            // Read with the list it orders; alone it only reorders.
            Directive::SetElementOrder(field) => {
                if !patch.contains_key(field)
                    && matches!(types.field(field), MergeType::ListMap { .. } | MergeType::Set)
                    && let Some(Value::Array(items)) = original.get_mut(field)
                {
                    list::merge(items, &[], types.field(field), element_order(patch, field)?)?;
                }
            }
            Directive::RetainKeys => {}
        }
    }
    Ok(())
}

fn merge_field(
    original: &mut Map<String, Value>,
    key: &str,
    value: &Value,
    patch: &Map<String, Value>,
    types: &MergeType,
) -> Result<(), PatchError> {
    if value.is_null() {
        original.remove(key);
        return Ok(());
    }
    match (original.get_mut(key), value) {
        (Some(Value::Object(original)), Value::Object(value)) => {
            merge_object(original, value, types.field(key))
        }
        (Some(Value::Array(original)), Value::Array(value)) => {
            list::merge(original, value, types.field(key), element_order(patch, key)?)
        }
        (_, value) => {
            original.insert(key.to_owned(), clean(value));
            Ok(())
        }
    }
}

fn element_order<'p>(patch: &'p Map<String, Value>, field: &str) -> Result<Option<&'p [Value]>, PatchError> {
    match patch.get(&format!("{}{field}", directive::SET_ELEMENT_ORDER)) {
        None => Ok(None),
        Some(Value::Array(order)) => Ok(Some(order)),
        Some(_) => Err(PatchError::Internal("invalid patch format of setElementOrder list".into())),
    }
}

/// A value that had no counterpart: stored without its directives and without nulls.
fn clean(value: &Value) -> Value {
    match value {
        // Whatever the directive is, there is nothing that it could be about.
        Value::Object(fields) if fields.contains_key(directive::PATCH) => Value::Object(Map::new()),
        Value::Object(fields) => Value::Object(without_directives(fields)),
        Value::Array(items) => Value::Array(
            items.iter().filter(|item| item.get(directive::PATCH).is_none()).map(clean).collect(),
        ),
        scalar => scalar.clone(),
    }
}

fn without_directives(fields: &Map<String, Value>) -> Map<String, Value> {
    fields
        .iter()
        .filter(|(key, value)| {
            !value.is_null()
                && key.as_str() != directive::PATCH
                && matches!(directive::parse(key), Directive::None)
        })
        .map(|(key, value)| (key.clone(), clean(value)))
        .collect()
}

/// A value as Go prints it: `map[a:1 b:[x y]]`.
pub(crate) fn go_text(value: &Value) -> String {
    let mut text = String::new();
    go_format(&mut text, value);
    text
}

fn unknown_patch_type(what: &Value, patch: &Map<String, Value>) -> PatchError {
    let mut message = String::from("unknown patch type: ");
    go_format(&mut message, what);
    message.push_str(" in map: ");
    directive::go_format_map(&mut message, patch);
    PatchError::Internal(message)
}
