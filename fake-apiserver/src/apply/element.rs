//! One step of a path, written as `FieldsV1` writes it: `f:name`, `k:{"name":"a"}`, `v:"x"`, `i:3`.
//!
//! An element is kept as this text. It is canonical (keys sorted, JSON compact), so equal elements are equal texts.

use serde_json::{Map, Value};

use crate::schema::ListKey;

/// The member of an object.
pub(super) fn field(name: &str) -> String {
    let mut element = String::with_capacity(name.len() + 2);
    element.push_str("f:");
    element.push_str(name);
    element
}

/// The item of a set.
///
/// # Errors
/// Items that no set may hold, in the server's words.
pub(super) fn set_item(item: &Value) -> Result<String, &'static str> {
    match item {
        Value::Object(_) => Err("associative list without keys has an element that's a map type"),
        Value::Array(_) => Err("not supported: associative list with lists as elements"),
        Value::Null => Err("associative list without keys has an element that's an explicit null"),
        scalar => Ok(format!("v:{scalar}")),
    }
}

/// The item of a keyed list. A key field that is absent takes its default, and is left out if there is none.
///
/// # Errors
/// Items that no keyed list may hold, in the server's words.
pub(super) fn keyed_item(item: &Value, keys: &[ListKey]) -> Result<String, &'static str> {
    let fields = match item {
        Value::Object(fields) => fields,
        Value::Null => return Err("associative list with keys may not have a null element"),
        _ => return Err("associative list with keys may not have non-map elements"),
    };
    let mut parts: Vec<(&str, &Value)> = keys
        .iter()
        .filter_map(|key| {
            fields.get(&key.name).or(key.default.as_ref()).map(|value| (key.name.as_str(), value))
        })
        .collect();
    parts.sort_unstable_by_key(|(name, _)| *name);
    let mut element = String::from("k:{");
    for (index, (name, value)) in parts.into_iter().enumerate() {
        if index > 0 {
            element.push(',');
        }
        // Field names of the API need no escapes, but a custom resource may have any.
        element.push_str(&Value::from(name).to_string());
        element.push(':');
        element.push_str(&value.to_string());
    }
    element.push('}');
    Ok(element)
}

/// Brings an element that a client wrote into the canonical form; `None` if it is none.
pub(super) fn canonical(text: &str) -> Option<String> {
    let (sort, rest) = text.split_once(':')?;
    match sort {
        "f" => Some(text.to_owned()),
        "k" => {
            let fields: Map<String, Value> = serde_json::from_str(rest).ok()?;
            Some(format!("k:{}", Value::Object(fields)))
        }
        "v" => Some(format!("v:{}", serde_json::from_str::<Value>(rest).ok()?)),
        "i" => Some(format!("i:{}", rest.parse::<i64>().ok()?)),
        _ => None,
    }
}

/// Appends the element as the server prints it in a path: `.name`, `[name="a"]`, `[="x"]`, `[3]`.
pub(super) fn print(path: &mut String, element: &str) {
    let rest = element.get(2..).unwrap_or_default();
    match element.as_bytes().first() {
        Some(b'f') => {
            path.push('.');
            path.push_str(rest);
        }
        Some(b'k') => {
            let fields: Map<String, Value> = serde_json::from_str(rest).unwrap_or_default();
            path.push('[');
            for (index, (name, value)) in fields.iter().enumerate() {
                if index > 0 {
                    path.push(',');
                }
                path.push_str(name);
                path.push('=');
                path.push_str(&value.to_string());
            }
            path.push(']');
        }
        Some(b'v') => {
            path.push_str("[=");
            path.push_str(rest);
            path.push(']');
        }
        _ => {
            path.push('[');
            path.push_str(rest);
            path.push(']');
        }
    }
}
