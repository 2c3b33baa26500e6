//! JSON values as CEL sees them: formats are types of their own, and field names are escaped
//! (`k8s.io/apiserver/pkg/cel`, `Escape`).

use std::sync::Arc;

use base64::Engine as _;
use kube_cel::cel::Value as CelValue;
use serde_json::Value;

use crate::cel::{self, RESERVED, list, map};
use crate::schema::structural::format;
use crate::schema::structural::node::{Additional, Node};

/// Converts a value of a known type. Of a root's metadata only the names can be seen, as on a real server.
pub(super) fn convert(node: &Node, value: &Value, is_root: bool) -> CelValue {
    match value {
        Value::String(text) => string(node, text),
        Value::Number(number) if node.type_name.as_deref() == Some("number") => {
            CelValue::Float(number.as_f64().unwrap_or(f64::NAN))
        }
        Value::Array(items) => match node.items.as_deref() {
            Some(item) => list(items.iter().map(|value| convert(item, value, false))),
            None => untyped(value),
        },
        Value::Object(fields) => {
            let is_map = !matches!(node.additional, Additional::None);
            let is_resource = is_root || node.embedded;
            map(fields.iter().filter_map(|(name, value)| {
                let converted = match node.member(name) {
                    Some(member) => convert(member, value, false),
                    None if is_resource && name == "metadata" => names(value),
                    None if is_resource && matches!(name.as_str(), "apiVersion" | "kind") => untyped(value),
                    None if node.preserve || is_map => untyped(value),
                    None => return None,
                };
                // Keys of a map are data.
                Some((if is_map { name.clone() } else { escape(name) }, converted))
            }))
        }
        other => untyped(other),
    }
}

fn names(metadata: &Value) -> CelValue {
    let fields = metadata.as_object().into_iter().flatten();
    map(fields
        .filter(|(name, _)| matches!(name.as_str(), "name" | "generateName"))
        .map(|(name, value)| (name.clone(), untyped(value))))
}

fn untyped(value: &Value) -> CelValue {
    match value {
        Value::Array(items) => list(items.iter().map(untyped)),
        Value::Object(fields) => map(fields.iter().map(|(name, value)| (escape(name), untyped(value)))),
        scalar => cel::scalar(scalar),
    }
}

/// A string that is not of its format has been reported already, and stays a string.
fn string(node: &Node, text: &str) -> CelValue {
    let typed = match node.checks.format.as_deref() {
        Some("date-time") => chrono::DateTime::parse_from_rfc3339(text).ok().map(CelValue::Timestamp),
        Some("duration") => format::parse_duration(text)
            .map(|nanoseconds| CelValue::Duration(chrono::Duration::nanoseconds(nanoseconds))),
        Some("byte") => base64::engine::general_purpose::STANDARD
            .decode(text)
            .ok()
            .map(|bytes| CelValue::Bytes(Arc::new(bytes))),
        _ => None,
    };
    typed.unwrap_or_else(|| CelValue::String(Arc::new(text.to_owned())))
}

fn escape(name: &str) -> String {
    if RESERVED.contains(&name) {
        return format!("__{name}__");
    }
    let mut escaped = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(character) = rest.chars().next() {
        // An underscore alone is harmless; two would look like an escape.
        let (taken, text) = match character {
            '_' if rest.starts_with("__") => (2, "__underscores__"),
            '.' => (1, "__dot__"),
            '-' => (1, "__dash__"),
            '/' => (1, "__slash__"),
            other => {
                escaped.push(other);
                rest = &rest[other.len_utf8()..];
                continue;
            }
        };
        escaped.push_str(text);
        rest = &rest[taken..];
    }
    escaped
}
