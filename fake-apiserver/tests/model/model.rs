//! What becomes of the fields of objects, and of who owns them.

use std::collections::{BTreeMap, BTreeSet};

use crate::shape::{Kind, Leaf, Leaves};

/// Which object.
pub(crate) type Id = (Kind, u8);

/// Who owns fields: a manager, and whether by applying.
pub(crate) type Owner = (u8, bool);

/// One object.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Object {
    pub(crate) leaves: Leaves,
    pub(crate) owned: BTreeMap<Owner, BTreeSet<Leaf>>,
}

/// All objects.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Model {
    pub(crate) objects: BTreeMap<Id, Object>,
}

/// What a write comes to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Outcome {
    Created,
    Done,
    NotFound,
    Exists,
    Conflict,
}

impl Outcome {
    /// The status code that says so.
    pub(crate) fn code(self) -> u16 {
        match self {
            Self::Created => 201,
            Self::Done => 200,
            Self::NotFound => 404,
            Self::Exists | Self::Conflict => 409,
        }
    }
}

impl Object {
    /// Gives it these leaves, by a manager that does not apply: what is new or other is now that manager's alone.
    pub(crate) fn update(&mut self, manager: u8, leaves: Leaves) {
        let changed: BTreeSet<Leaf> = leaves
            .iter()
            .filter(|(leaf, value)| self.leaves.get(leaf) != Some(value))
            .map(|(leaf, _)| *leaf)
            .collect();
        for owned in self.owned.values_mut() {
            owned.retain(|leaf| leaves.contains_key(leaf) && !changed.contains(leaf));
        }
        if !changed.is_empty() {
            self.owned.entry((manager, false)).or_default().extend(changed);
        }
        self.leaves = leaves;
        self.tidy();
    }

    /// Whether a manager that applies these leaves is refused.
    pub(crate) fn conflicts(&self, manager: u8, leaves: &Leaves) -> bool {
        self.others((manager, true))
            .any(|leaf| leaves.get(leaf).is_some_and(|value| self.leaves[leaf] != *value))
    }

    /// Gives it these leaves, by a manager that applies: what it applied before and nobody else owns goes.
    pub(crate) fn apply(&mut self, manager: u8, leaves: Leaves) {
        let owner = (manager, true);
        for (other, owned) in &mut self.owned {
            owned.retain(|leaf| {
                *other == owner || leaves.get(leaf).is_none_or(|value| self.leaves[leaf] == *value)
            });
        }
        let before = self.owned.insert(owner, leaves.keys().copied().collect()).unwrap_or_default();
        let kept: BTreeSet<Leaf> = self.others(owner).copied().collect();
        self.leaves.retain(|leaf, _| !before.contains(leaf) || kept.contains(leaf));
        self.leaves.extend(leaves);
        self.tidy();
    }

    /// What anybody but `owner` owns.
    fn others(&self, owner: Owner) -> impl Iterator<Item = &Leaf> {
        self.owned.iter().filter(move |(other, _)| **other != owner).flat_map(|(_, owned)| owned)
    }

    fn tidy(&mut self) {
        self.owned.retain(|_, owned| !owned.is_empty());
    }
}
