//! Operators that install another version than the one asked for.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};

use super::{Mutant, plain};
use crate::oracle::view::GROUP;
use crate::wire::{Letter, Meddler};

pub(super) const MUTANTS: &[Mutant] = &[
    Mutant {
        name: "always-newest",
        family: "versions",
        what: "installs the newest version, whatever is asked for",
        make: || {
            plain::incoming(|letter, answer| {
                if is_component(letter, answer) {
                    answer["spec"]["version"] = json!("1.23.0");
                }
            })
        },
    },
    Mutant {
        name: "stays-behind",
        family: "versions",
        what: "goes on with the first specification that it has read",
        make: || Arc::new(StaysBehind::default()),
    },
];

/// Whether an answer is a custom resource.
pub(super) fn is_component(letter: &Letter, answer: &Value) -> bool {
    letter.info().group == GROUP && answer["spec"].is_object()
}

#[derive(Default)]
struct StaysBehind {
    /// Specification by UID.
    first: Mutex<BTreeMap<String, Value>>,
}

impl Meddler for StaysBehind {
    fn incoming(&self, letter: &Letter, answer: &mut Value) {
        if is_component(letter, answer) {
            let uid = answer["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
            let spec = answer["spec"].clone();
            answer["spec"] = self.first.lock().entry(uid).or_insert(spec).clone();
        }
    }
}
