//! Lists of type `set` and `map` hold nothing twice
//! (`k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype`).

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::node::{ListType, Node};
use super::{error, push_member};
use crate::schema::{FieldError, FieldErrorReason};

/// Appends the duplicates of all lists.
pub(super) fn check(root: &Node, object: &Value, errors: &mut Vec<FieldError>) {
    walk(root, object, &mut String::new(), errors);
}

fn walk(node: &Node, value: &Value, path: &mut String, errors: &mut Vec<FieldError>) {
    let length = path.len();
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                if let Some(member) = node.member(name) {
                    push_member(path, name);
                    walk(member, value, path, errors);
                    path.truncate(length);
                }
            }
        }
        Value::Array(items) => {
            let mut seen = BTreeSet::new();
            for (position, value) in items.iter().enumerate() {
                path.push_str(&format!("[{position}]"));
                if let Some(identity) = identity(&node.list, value)
                    && !seen.insert(identity.clone())
                {
                    let message = format!("Duplicate value: {identity}");
                    errors.push(error(path, FieldErrorReason::FieldValueDuplicate, message));
                }
                if let Some(item) = node.items.as_deref() {
                    walk(item, value, path, errors);
                }
                path.truncate(length);
            }
        }
        _ => {}
    }
}

/// What may occur once: the item of a set, the keys of an item of a map. Objects as items of a set compare whole.
fn identity(list: &ListType, item: &Value) -> Option<String> {
    match list {
        ListType::Atomic => None,
        ListType::Set => Some(item.to_string()),
        ListType::Map(keys) => {
            let item = item.as_object()?;
            let keys = keys.iter().filter_map(|key| item.get(key).map(|value| (key.clone(), value.clone())));
            Some(Value::Object(keys.collect::<Map<_, _>>()).to_string())
        }
    }
}
