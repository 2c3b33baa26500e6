//! Removes unknown fields (`k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning`), and unknown metadata
//! fields of embedded objects (`.../schema/objectmeta`).

use serde_json::{Map, Value};

use super::node::{Additional, Node};
use super::push_member;

const OBJECT_META: &[&str] = &[
    "name",
    "generateName",
    "namespace",
    "selfLink",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
    "annotations",
    "ownerReferences",
    "finalizers",
    "managedFields",
];

/// Prunes a whole object and returns the paths of what was removed: first the fields, then metadata of embedded
/// objects.
pub(super) fn prune(root: &Node, object: &mut Value) -> Vec<String> {
    let mut pruner = Pruner::default();
    pruner.value(Some(root), object, true);
    pruner.removed.sort_unstable();
    pruner.removed_metadata.sort_unstable();
    pruner.removed.append(&mut pruner.removed_metadata);
    pruner.removed
}

#[derive(Default)]
struct Pruner {
    path: String,
    removed: Vec<String>,
    removed_metadata: Vec<String>,
}

impl Pruner {
    fn value(&mut self, node: Option<&Node>, value: &mut Value, is_resource: bool) {
        let length = self.path.len();
        match value {
            Value::Object(fields) => self.object(node, fields, is_resource),
            Value::Array(items) => {
                let item = node.and_then(|node| node.items.as_deref());
                // Below a list that keeps unknown fields everything is kept unless the items say otherwise.
                let keeps = node.is_some_and(|node| node.preserve) && item.is_none();
                for (position, value) in items.iter_mut().enumerate().filter(|_| !keeps) {
                    self.path.push_str(&format!("[{position}]"));
                    self.value(item, value, item.is_some_and(|item| item.embedded));
                    self.path.truncate(length);
                }
            }
            _ => {}
        }
    }

    fn object(&mut self, node: Option<&Node>, fields: &mut Map<String, Value>, is_resource: bool) {
        let length = self.path.len();
        let preserve = node.is_some_and(|node| node.preserve);
        fields.retain(|name, value| {
            let is_type = is_resource && matches!(name.as_str(), "apiVersion" | "kind");
            if is_type {
                return true;
            }
            push_member(&mut self.path, name);
            let known = if is_resource && name == "metadata" {
                if length > 0 {
                    self.metadata(value);
                }
                true
            } else {
                self.member(node, name, value) || preserve
            };
            if !known {
                self.removed.push(self.path.clone());
            }
            self.path.truncate(length);
            known
        });
    }

    /// Prunes a member that the schema knows; false if it does not.
    fn member(&mut self, node: Option<&Node>, name: &str, value: &mut Value) -> bool {
        let Some(node) = node else { return false };
        match node.member(name) {
            Some(member) => self.value(Some(member), value, member.embedded),
            None if matches!(node.additional, Additional::Any) => self.value(None, value, false),
            None => return false,
        }
        true
    }

    fn metadata(&mut self, metadata: &mut Value) {
        let Value::Object(fields) = metadata else { return };
        fields.retain(|name, _| {
            let known = OBJECT_META.contains(&name.as_str());
            if !known {
                self.removed_metadata.push(format!("{}.{name}", self.path));
            }
            known
        });
    }
}
