//! Merge facts of a structural schema
//! (`k8s.io/apiserver`, `managedfields` on the OpenAPI that a CRD publishes).

use std::collections::BTreeMap;
use std::sync::Arc;

use super::node::{Additional, ListType, Node};
use crate::schema::{ListKey, MergeType, object_meta_merge_type};

/// The facts of a whole object.
pub(super) fn root(node: &Node) -> MergeType {
    object(node, true)
}

fn of(node: &Node) -> MergeType {
    if let Some(item) = &node.items {
        return match &node.list {
            ListType::Atomic => MergeType::Atomic,
            ListType::Set => MergeType::Set,
            ListType::Map(keys) => MergeType::ListMap {
                keys: keys
                    .iter()
                    .map(|key| ListKey {
                        name: key.clone(),
                        default: item.properties.get(key).and_then(|property| property.default.clone()),
                    })
                    .collect(),
                item: Arc::new(of(item)),
            },
        };
    }
    match node.type_name.as_deref() {
        Some("object") if node.atomic_map => MergeType::Atomic,
        Some("object") => object(node, node.embedded),
        None if node.preserve => MergeType::Deduced,
        _ => MergeType::Plain,
    }
}

fn object(node: &Node, is_resource: bool) -> MergeType {
    let mut fields: BTreeMap<String, Arc<MergeType>> =
        node.properties.iter().map(|(name, member)| (name.clone(), Arc::new(of(member)))).collect();
    if is_resource {
        fields.insert("apiVersion".into(), Arc::new(MergeType::Plain));
        fields.insert("kind".into(), Arc::new(MergeType::Plain));
        fields.insert("metadata".into(), object_meta_merge_type());
    }
    let rest = match &node.additional {
        Additional::Each(each) => of(each),
        Additional::Any => MergeType::Deduced,
        Additional::None if node.preserve => MergeType::Deduced,
        Additional::None => MergeType::Undeclared,
    };
    MergeType::Object { fields, rest: Arc::new(rest), always: Vec::new() }
}
