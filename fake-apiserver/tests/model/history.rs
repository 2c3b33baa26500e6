//! What can happen, and what the model says of it.

use proptest::prelude::*;

use crate::model::{Model, Object, Outcome};
use crate::shape::{Fields, KINDS, Kind, Leaf, Leaves};

/// What somebody does to an object.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    Create(Fields),
    /// Reads the object, and puts it back with these fields.
    Put(Fields),
    /// Puts the object as it was before its latest change.
    PutStale,
    /// Sets the labels and leaves everything else alone.
    Patch(Fields),
    Apply(Fields, bool),
    Delete,
}

/// One event of a history.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) kind: Kind,
    pub(crate) name: u8,
    pub(crate) manager: u8,
    pub(crate) act: Act,
}

/// Few names, few fields and few values, so that they meet.
fn fields() -> impl Strategy<Value = Fields> {
    let some = || prop::collection::btree_map(0..3_u8, 0..3_u8, 0..3);
    (some(), some()).prop_map(|(labels, values)| Fields { labels, values })
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        2 => fields().prop_map(Act::Create),
        3 => fields().prop_map(Act::Put),
        1 => Just(Act::PutStale),
        2 => fields().prop_map(Act::Patch),
        6 => (fields(), any::<bool>()).prop_map(|(fields, force)| Act::Apply(fields, force)),
        1 => Just(Act::Delete),
    ]
}

/// Histories of up to `length` steps.
pub(crate) fn history(length: usize) -> impl Strategy<Value = Vec<Step>> {
    let step = (prop::sample::select(&KINDS[..]), 0..2_u8, 0..3_u8, act());
    let step = step.prop_map(|(kind, name, manager, act)| Step { kind, name, manager, act });
    prop::collection::vec(step, 1..length)
}

impl Model {
    /// What the step comes to. [`Act::PutStale`] is none of the model's business.
    pub(crate) fn step(&mut self, step: &Step) -> Outcome {
        let (kind, id) = (step.kind, (step.kind, step.name));
        let found = self.objects.get_mut(&id);
        match (&step.act, found) {
            (Act::Create(_), Some(_)) => Outcome::Exists,
            (Act::Create(fields), None) => {
                let mut object = Object::default();
                object.update(step.manager, kind.leaves(fields));
                self.objects.insert(id, object);
                Outcome::Created
            }
            (Act::Apply(fields, _), None) => {
                let mut object = Object::default();
                object.apply(step.manager, kind.leaves(fields));
                self.objects.insert(id, object);
                Outcome::Created
            }
            (_, None) => Outcome::NotFound,
            (Act::Apply(fields, force), Some(object)) => {
                let leaves = kind.leaves(fields);
                if !force && object.conflicts(step.manager, &leaves) {
                    return Outcome::Conflict;
                }
                object.apply(step.manager, leaves);
                Outcome::Done
            }
            (Act::Put(fields), Some(object)) => {
                object.update(step.manager, put_leaves(kind, fields, &object.leaves));
                Outcome::Done
            }
            (Act::Patch(fields), Some(object)) => {
                let mut leaves = object.leaves.clone();
                leaves.extend(fields.labels.iter().map(|(key, value)| (Leaf::Label(*key), *value)));
                object.update(step.manager, leaves);
                Outcome::Done
            }
            (Act::PutStale, Some(_)) => Outcome::Conflict,
            (Act::Delete, Some(_)) => {
                self.objects.remove(&id);
                Outcome::Done
            }
        }
    }
}

/// What a put of these fields makes of an object. Items of lists that are there keep their values: to take over a
/// value alone would leave the item itself with others.
pub(crate) fn put_leaves(kind: Kind, fields: &Fields, live: &Leaves) -> Leaves {
    let mut leaves = kind.leaves(fields);
    for key in fields.values.keys().filter(|key| live.contains_key(&Leaf::Item(**key))) {
        match live.get(&Leaf::Value(*key)) {
            Some(value) => leaves.insert(Leaf::Value(*key), *value),
            None => leaves.remove(&Leaf::Value(*key)),
        };
    }
    leaves
}
