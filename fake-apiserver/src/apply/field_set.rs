//! Sets of fields, as `metadata.managedFields[*].fieldsV1` records them.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use serde_json::{Map, Value};

use super::element;

/// A set of fields: a tree of path elements, some of which are members.
///
/// No branch without a member is kept, so two sets with the same members are equal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldSet {
    /// Whether the field at which this subtree hangs is a member itself.
    pub(super) member: bool,
    /// What lies below, by path element.
    pub(super) below: BTreeMap<String, FieldSet>,
}

impl FieldSet {
    /// A subtree whose root is its only member.
    pub(super) fn leaf() -> Self {
        Self { member: true, below: BTreeMap::new() }
    }

    /// Whether nothing is a member.
    pub fn is_empty(&self) -> bool {
        !self.member && self.below.is_empty()
    }

    /// Reads `fieldsV1`. What is no valid path element is left out, as is the object itself, which is no field.
    pub fn decode(fields: &Value) -> Self {
        Self { member: false, ..Self::decode_at(fields, false) }
    }

    fn decode_at(fields: &Value, leaf_is_member: bool) -> Self {
        let mut set = Self::default();
        let Value::Object(fields) = fields else { return set };
        for (name, inner) in fields {
            if name == "." {
                set.member = true;
            } else if let Some(name) = element::canonical(name) {
                set.insert(name, Self::decode_at(inner, true));
            }
        }
        set.member |= leaf_is_member && fields.is_empty();
        set
    }

    /// Writes `fieldsV1`.
    pub fn encode(self) -> Value {
        let below = self.below.into_iter().map(|(name, set)| {
            let member = set.member && !set.below.is_empty();
            let Value::Object(mut inner) = set.encode() else { return (name, Value::Null) };
            if member {
                inner.insert(".".to_owned(), Value::Object(Map::new()));
            }
            (name, Value::Object(inner))
        });
        Value::Object(below.collect())
    }

    /// Adds a subtree; an empty one changes nothing.
    pub(super) fn insert(&mut self, name: String, set: FieldSet) {
        if set.is_empty() {
            return;
        }
        match self.below.entry(name) {
            Entry::Vacant(free) => {
                free.insert(set);
            }
            Entry::Occupied(mut present) => present.get_mut().unite(set),
        }
    }

    /// Adds all members of `other`.
    pub fn unite(&mut self, other: FieldSet) {
        self.member |= other.member;
        for (name, set) in other.below {
            self.insert(name, set);
        }
    }

    /// Removes the members of `other`; what lies below a removed member stays.
    pub fn subtract(&mut self, other: &FieldSet) {
        self.member &= !other.member;
        for (name, gone) in &other.below {
            if let Some(set) = self.below.get_mut(name) {
                set.subtract(gone);
                if set.is_empty() {
                    self.below.remove(name);
                }
            }
        }
    }

    /// Whether all members of `other` are members.
    pub fn contains(&self, other: &FieldSet) -> bool {
        (self.member || !other.member)
            && other
                .below
                .iter()
                .all(|(name, other)| self.below.get(name).is_some_and(|set| set.contains(other)))
    }

    /// The members that both sets have.
    #[must_use]
    pub fn intersection(&self, other: &FieldSet) -> FieldSet {
        let mut both = FieldSet { member: self.member && other.member, below: BTreeMap::new() };
        for (name, set) in &self.below {
            if let Some(other) = other.below.get(name) {
                let common = set.intersection(other);
                if !common.is_empty() {
                    both.below.insert(name.clone(), common);
                }
            }
        }
        both
    }

    /// The path of each member as the server prints it: members of one level before those further down.
    pub fn paths(&self) -> Vec<String> {
        let mut paths = Vec::new();
        self.collect_paths(&mut String::new(), &mut paths);
        paths
    }

    fn collect_paths(&self, prefix: &mut String, paths: &mut Vec<String>) {
        let length = prefix.len();
        for (name, _) in self.below.iter().filter(|(_, set)| set.member) {
            element::print(prefix, name);
            paths.push(prefix.clone());
            prefix.truncate(length);
        }
        for (name, set) in &self.below {
            element::print(prefix, name);
            set.collect_paths(prefix, paths);
            prefix.truncate(length);
        }
    }

    /// Removes what nobody owns: the type, and the metadata that the server itself maintains.
    pub(super) fn strip_system_fields(&mut self) {
        const METADATA: &[&str] = &[
            "f:name",
            "f:namespace",
            "f:creationTimestamp",
            "f:selfLink",
            "f:uid",
            "f:clusterName",
            "f:generation",
            "f:managedFields",
            "f:resourceVersion",
        ];
        self.member = false;
        self.below.remove("f:apiVersion");
        self.below.remove("f:kind");
        if let Some(metadata) = self.below.get_mut("f:metadata") {
            metadata.member = false;
            for name in METADATA {
                metadata.below.remove(*name);
            }
            if metadata.is_empty() {
                self.below.remove("f:metadata");
            }
        }
    }
}
