//! How values of a field merge: all that server-side apply and strategic merge patch need of a schema.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

/// How one value merges with another of the same field.
#[derive(Clone, Debug, PartialEq)]
pub enum MergeType {
    /// No schema: objects merge by key, and each key is a piece of data of its own; lists and scalars are replaced
    /// as a whole.
    Deduced,
    /// A field of a known type without facts: objects merge by field, lists and scalars are replaced as a whole.
    /// Differs from [`MergeType::Deduced`] in that fields are no data: an applier owns their leaves only.
    Plain,
    /// A field that the schema does not have: applying it is an error.
    Undeclared,
    /// Replaced as a whole, whatever it is.
    Atomic,
    /// An object with known fields; `rest` describes all others.
    Object {
        /// Fields with facts of their own.
        fields: BTreeMap<String, Arc<MergeType>>,
        /// Every other field.
        rest: Arc<MergeType>,
        /// Fields that the server writes even when they are empty (Go structs without a pointer), so that their
        /// appearance is no change.
        always: Vec<&'static str>,
    },
    /// A list of distinct scalars.
    Set,
    /// A list of objects that are told apart by `keys`.
    ListMap {
        /// The key fields, with the default of an absent one.
        keys: Vec<ListKey>,
        /// How one item merges.
        item: Arc<MergeType>,
    },
}

/// One key field of a [`MergeType::ListMap`].
#[derive(Clone, Debug, PartialEq)]
pub struct ListKey {
    /// Field name, for instance `containerPort`.
    pub name: String,
    /// Value that an item without the field has, for instance `TCP` for `protocol`.
    pub default: Option<Value>,
}

impl MergeType {
    /// The facts of one field of an object.
    pub fn field(&self, name: &str) -> &MergeType {
        match self {
            MergeType::Object { fields, rest, .. } => fields.get(name).unwrap_or(rest),
            MergeType::Plain | MergeType::Atomic | MergeType::Set | MergeType::ListMap { .. } => {
                &MergeType::Plain
            }
            MergeType::Deduced | MergeType::Undeclared => &MergeType::Deduced,
        }
    }

    /// Whether `name` is a field of the type, in contrast to a key of a map.
    pub fn declares(&self, name: &str) -> bool {
        match self {
            MergeType::Object { fields, rest, .. } => fields.contains_key(name) || **rest == MergeType::Plain,
            MergeType::Plain => true,
            _ => false,
        }
    }

    /// Whether the server writes the field `name` even when it is empty.
    pub fn always_has(&self, name: &str) -> bool {
        matches!(self, MergeType::Object { always, .. } if always.contains(&name))
    }
}
