//! Ways into a JSON tree of unknown shape.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// The map at the path, if all of the path exists.
pub(super) fn map<'a>(root: &'a mut Value, path: &[&str]) -> Option<&'a mut Map<String, Value>> {
    value(root, path)?.as_object_mut()
}

/// The value at the path, if all of the path exists.
pub(super) fn value<'a>(root: &'a mut Value, path: &[&str]) -> Option<&'a mut Value> {
    path.iter().try_fold(root, |at, key| at.get_mut(*key))
}

/// The map at the path; what is missing or null on the way becomes a map. Nothing if something else is in the way.
pub(super) fn make_map<'a>(root: &'a mut Value, path: &[&str]) -> Option<&'a mut Map<String, Value>> {
    let reached = path.iter().try_fold(root, |at, key| {
        let next = at.as_object_mut()?.entry(*key).or_insert(Value::Null);
        if next.is_null() {
            *next = Value::Object(Map::new());
        }
        Some(next)
    });
    reached?.as_object_mut()
}

/// The list at the path; made when it is missing or null. Nothing if something else is in the way.
pub(super) fn make_list<'a>(map: &'a mut Map<String, Value>, key: &str) -> Option<&'a mut Vec<Value>> {
    let list = map.entry(key).or_insert(Value::Null);
    if list.is_null() {
        *list = Value::Array(Vec::new());
    }
    list.as_array_mut()
}

/// The elements of the list at the path; none when there is no list.
pub(super) fn elements<'a>(
    root: &'a mut Value,
    path: &[&str],
) -> impl Iterator<Item = &'a mut Value> + use<'a> {
    value(root, path).and_then(Value::as_array_mut).into_iter().flatten()
}

/// Merges texts into the map at the path, the texts win.
pub(super) fn merge_texts(root: &mut Value, path: &[&str], texts: &BTreeMap<String, String>) {
    if texts.is_empty() {
        return;
    }
    if let Some(map) = make_map(root, path) {
        map.extend(texts.iter().map(|(key, text)| (key.clone(), Value::from(text.as_str()))));
    }
}

/// The text of a field; empty when it is absent or no text.
pub(super) fn text<'a>(map: &'a Map<String, Value>, field: &str) -> &'a str {
    map.get(field).and_then(Value::as_str).unwrap_or_default()
}
