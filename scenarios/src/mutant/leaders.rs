//! Operators that do not wait their turn.

use std::sync::Arc;

use serde_json::{Value, json};

use super::Mutant;
use crate::wire::{Letter, Meddler};
use crate::world::replica_name;

pub(super) const MUTANTS: &[Mutant] = &[
    Mutant {
        name: "usurper",
        family: "leaders",
        what: "takes every Lease for its own",
        make: || Arc::new(Usurper),
    },
    Mutant {
        name: "hasty-candidate",
        family: "leaders",
        what: "takes a Lease over before its time is up",
        make: || Arc::new(Hasty),
    },
];

/// Changes what a replica reads of the Lease.
fn with_lease(letter: &Letter, answer: &mut Value, change: impl FnOnce(&mut Value)) {
    if letter.is_about_lease() && !letter.is_write() && answer["kind"] == "Lease" {
        change(&mut answer["spec"]);
    }
}

struct Usurper;

impl Meddler for Usurper {
    fn incoming(&self, letter: &Letter, answer: &mut Value) {
        with_lease(letter, answer, |spec| spec["holderIdentity"] = json!(replica_name(letter.replica)));
    }
}

struct Hasty;

impl Meddler for Hasty {
    fn incoming(&self, letter: &Letter, answer: &mut Value) {
        with_lease(letter, answer, |spec| {
            spec["leaseDurationSeconds"] = json!(0);
            // It does not see either that the holder is alive.
            spec["renewTime"] = Value::Null;
        });
    }
}
