//! Defaults (`k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting`).

use serde_json::Value;

use super::node::Node;

/// Gives absent members their default; a null counts as absent unless it is allowed. Nothing is filled in below an
/// absent object.
pub(super) fn fill_in(node: &Node, value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, member) in &node.properties {
                if let Some(default) = &member.default
                    && fields.get(name).is_none_or(|value| value.is_null() && !member.nullable)
                {
                    fields.insert(name.clone(), default.clone());
                }
            }
            for (name, value) in fields {
                if let Some(member) = node.member(name) {
                    if value.is_null()
                        && !member.nullable
                        && let Some(default) = &member.default
                    {
                        value.clone_from(default);
                    }
                    fill_in(member, value);
                }
            }
        }
        Value::Array(items) => {
            let Some(item) = node.items.as_deref() else { return };
            for value in items {
                if value.is_null()
                    && !item.nullable
                    && let Some(default) = &item.default
                {
                    value.clone_from(default);
                }
                fill_in(item, value);
            }
        }
        _ => {}
    }
}

/// Removes nulls that are neither allowed nor replaced by a default.
pub(super) fn prune_nulls(node: &Node, value: &mut Value) {
    match value {
        Value::Object(fields) => fields.retain(|name, value| {
            let Some(member) = node.member(name) else { return true };
            if value.is_null() && !member.nullable && !accepts_anything(member) && member.default.is_none() {
                return false;
            }
            prune_nulls(member, value);
            true
        }),
        Value::Array(items) => {
            for value in items {
                if let Some(item) = node.items.as_deref() {
                    prune_nulls(item, value);
                }
            }
        }
        _ => {}
    }
}

/// A member without a type holds any value, null included.
fn accepts_anything(node: &Node) -> bool {
    node.preserve && node.type_name.is_none()
}
