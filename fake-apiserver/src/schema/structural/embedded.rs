//! What every embedded object must have (`k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta`).

use serde_json::Value;

use super::node::Node;
use super::{error, push_member};
use crate::schema::{FieldError, FieldErrorReason};

/// Appends what embedded objects lack.
pub(super) fn check(root: &Node, object: &Value, errors: &mut Vec<FieldError>) {
    walk(root, object, &mut String::new(), errors);
}

fn walk(node: &Node, value: &Value, path: &mut String, errors: &mut Vec<FieldError>) {
    let length = path.len();
    match value {
        Value::Object(fields) => {
            if node.embedded {
                for name in ["apiVersion", "kind"] {
                    if fields.get(name).and_then(Value::as_str).is_none_or(str::is_empty) {
                        let at = format!("{path}.{name}");
                        errors.push(error(
                            &at,
                            FieldErrorReason::FieldValueRequired,
                            "Required value".into(),
                        ));
                    }
                }
            }
            for (name, value) in fields {
                if let Some(member) = node.member(name) {
                    push_member(path, name);
                    walk(member, value, path, errors);
                    path.truncate(length);
                }
            }
        }
        Value::Array(items) => {
            let Some(item) = node.items.as_deref() else { return };
            for (position, value) in items.iter().enumerate() {
                path.push_str(&format!("[{position}]"));
                walk(item, value, path, errors);
                path.truncate(length);
            }
        }
        _ => {}
    }
}
