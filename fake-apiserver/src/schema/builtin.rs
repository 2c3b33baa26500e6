//! Merge facts of the built-in kinds.
//!
//! The table is written as constants in [`table`]; here it is turned into [`MergeType`]s. Kinds and fields that are
//! not in the table have no facts beyond those of `metadata`.

mod table;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use self::table::{Fact, Field};
use super::{ListKey, MergeType};

/// The merge facts of a built-in kind. `group` is empty for the core group.
///
/// Builds the value anew (some ten microseconds for a kind with a pod template): call it once per kind and share.
pub fn builtin_merge_type(group: &str, kind: &str) -> Arc<MergeType> {
    let fields = table::KINDS
        .iter()
        .find(|(groups, kinds, _)| groups.contains(&group) && kinds.contains(&kind))
        .map_or(&[] as &[Field], |(_, _, fields)| fields);
    Arc::new(object(fields, &[("metadata", Fact::Struct(table::OBJECT_META))]))
}

/// The merge facts of `metadata`, which are the same for every kind.
pub fn object_meta_merge_type() -> Arc<MergeType> {
    Arc::new(object(table::OBJECT_META, &[]))
}

fn object(fields: &'static [Field], more: &'static [Field]) -> MergeType {
    let mut facts = BTreeMap::new();
    let mut always = None;
    let mut rest = MergeType::Plain;
    for (name, fact) in fields.iter().chain(more) {
        match fact {
            Fact::Always(names) => always = Some(*names),
            Fact::Only(names) => {
                rest = MergeType::Undeclared;
                facts.extend(names.iter().map(|name| ((*name).to_owned(), Arc::new(MergeType::Plain))));
            }
            fact => {
                facts.insert((*name).to_owned(), Arc::new(merge_type(fact)));
            }
        }
    }
    MergeType::Object { fields: facts, rest: Arc::new(rest), always: always.unwrap_or_default() }
}

fn merge_type(fact: &'static Fact) -> MergeType {
    match fact {
        Fact::Atomic => MergeType::Atomic,
        Fact::Set => MergeType::Set,
        Fact::Struct(fields) => object(fields, &[]),
        Fact::Keyed(keys, fields) => {
            MergeType::ListMap { keys: list_keys(keys), item: Arc::new(object(fields, &[])) }
        }
        Fact::KeyedAtomic(keys) => {
            MergeType::ListMap { keys: list_keys(keys), item: Arc::new(MergeType::Atomic) }
        }
        Fact::Scalars => object(&[], &[]),
        // Handled by `object`; alone they say nothing.
        Fact::Always(_) | Fact::Only(_) => MergeType::Plain,
    }
}

/// Reads `name` or `name=default`.
fn list_keys(keys: &[&str]) -> Vec<ListKey> {
    keys.iter()
        .map(|key| match key.split_once('=') {
            Some((name, default)) => ListKey { name: name.to_owned(), default: Some(Value::from(default)) },
            None => ListKey { name: (*key).to_owned(), default: None },
        })
        .collect()
}
