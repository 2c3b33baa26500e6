//! Lists in a strategic merge patch: keyed lists and sets merge, all others are replaced.
//!
//! Order: items the patch names come in the order of the patch (or of `$setElementOrder`), items only the server
//! has keep theirs, and where both sequences meet the server's order decides; a new item goes first.

use serde_json::Value;

use super::{clean, directive, merge_object, unknown_patch_type};
use crate::patch::PatchError;
use crate::schema::MergeType;

/// Merges `patch` into `original` as `types` says; `order` is the list of `$setElementOrder`.
pub(super) fn merge(
    original: &mut Vec<Value>,
    patch: &[Value],
    types: &MergeType,
    order: Option<&[Value]>,
) -> Result<(), PatchError> {
    match types {
        MergeType::ListMap { keys, item } => {
            let Some(key) = keys.first() else {
                *original = patch.iter().map(clean).collect();
                return Ok(());
            };
            merge_keyed(original, patch, &key.name, item, order)
        }
        MergeType::Set => {
            let server = original.clone();
            for item in patch {
                if !original.contains(item) {
                    original.push(item.clone());
                }
            }
            arrange(original, order.unwrap_or(patch), &server, None);
            Ok(())
        }
        _ => {
            *original = patch.iter().map(clean).collect();
            Ok(())
        }
    }
}

fn merge_keyed(
    original: &mut Vec<Value>,
    patch: &[Value],
    key: &str,
    item_types: &MergeType,
    order: Option<&[Value]>,
) -> Result<(), PatchError> {
    let mut plain = Vec::with_capacity(patch.len());
    let mut replace = false;
    for item in patch {
        let Value::Object(fields) = item else {
            return Err(PatchError::Internal(
                "list element types are not identical: a list merged by key holds something else than maps"
                    .into(),
            ));
        };
        match fields.get(directive::PATCH) {
            None => plain.push((fields, item)),
            Some(what) if what == "replace" => replace = true,
            Some(what) if what == "delete" => {
                let gone = fields.get(key).ok_or_else(|| no_merge_key(item, key))?;
                original.retain(|present| present.get(key) != Some(gone));
            }
            Some(what) if what == "merge" => {
                return Err(PatchError::Internal(
                    "merging lists cannot yet be specified in the patch".into(),
                ));
            }
            Some(what) => return Err(unknown_patch_type(what, fields)),
        }
    }
    if replace {
        *original = plain.iter().map(|(_, item)| clean(item)).collect();
        return Ok(());
    }
    let server = original.clone();
    for (fields, item) in &plain {
        let value = fields.get(key).ok_or_else(|| no_merge_key(item, key))?;
        let present = original.iter_mut().find(|present| present.get(key) == Some(value));
        match present {
            Some(Value::Object(present)) => merge_object(present, fields, item_types)?,
            _ => original.push(clean(item)),
        }
    }
    let named: Vec<Value>;
    let order = match order {
        Some(order) => order,
        None => {
            named = plain
                .iter()
                .filter_map(|(fields, _)| fields.get(key).map(|value| keyed(key, value)))
                .collect();
            &named
        }
    };
    arrange(original, order, &server, Some(key));
    Ok(())
}

/// An item reduced to its key.
fn keyed(key: &str, value: &Value) -> Value {
    Value::Object([(key.to_owned(), value.clone())].into_iter().collect())
}

/// Orders `items`: those named by `order` in its order, the others as in `server`. Items are told apart by `key`, or
/// by their value.
fn arrange(items: &mut Vec<Value>, order: &[Value], server: &[Value], key: Option<&str>) {
    let position = |list: &[Value], item: &Value| match key {
        None => list.iter().position(|other| other == item),
        Some(key) => {
            let wanted = item.get(key)?;
            list.iter().position(|other| other.get(key) == Some(wanted))
        }
    };
    let (mut named, mut others): (Vec<Value>, Vec<Value>) =
        std::mem::take(items).into_iter().partition(|item| position(order, item).is_some());
    named.sort_by_key(|item| position(order, item));
    others.sort_by_key(|item| position(server, item));
    let mut named = named.into_iter().peekable();
    let mut others = others.into_iter().peekable();
    loop {
        let server_first = match (others.peek(), named.peek()) {
            (None, None) => return,
            (Some(_), None) => true,
            (None, Some(_)) => false,
            (Some(other), Some(name)) => {
                matches!((position(server, other), position(server, name)), (Some(o), Some(n)) if o < n)
            }
        };
        items.extend(if server_first { others.next() } else { named.next() });
    }
}

fn no_merge_key(item: &Value, key: &str) -> PatchError {
    let mut message = String::from("map: ");
    directive::go_format(&mut message, item);
    message.push_str(" does not contain declared merge key: ");
    message.push_str(key);
    PatchError::Internal(message)
}
