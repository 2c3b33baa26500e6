//! Operators that write where they should not.

use std::collections::BTreeMap;
use std::sync::Arc;

use http::{HeaderValue, header};
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::{Mutant, plain};
use crate::oracle::view::GROUP;
use crate::wire::{Letter, Meddler};
use crate::world::HUB;

pub(super) const MUTANTS: &[Mutant] = &[
    Mutant {
        name: "writes-to-hub",
        family: "target",
        what: "installs what is for a spoke on the hub too",
        make: || Arc::new(Doubles::new(|address| address == HUB)),
    },
    Mutant {
        name: "writes-to-neighbour",
        family: "target",
        what: "installs what is for a spoke on another spoke too",
        make: || Arc::new(Doubles::new(|address| address != HUB)),
    },
    Mutant {
        name: "frozen-profile",
        family: "target",
        what: "reads each profile once and never again",
        make: || Arc::new(FrozenProfile::default()),
    },
    Mutant {
        name: "blind-to-health",
        family: "target",
        what: "takes every profile for healthy",
        make: || {
            plain::incoming(|letter, answer| {
                let conditions = answer.pointer_mut("/status/conditions").and_then(Value::as_array_mut);
                for condition in conditions.into_iter().flatten() {
                    if letter.info().resource == "clusterprofiles" {
                        condition["status"] = json!("True");
                    }
                }
            })
        },
    },
    Mutant {
        name: "local-to-spoke",
        family: "target",
        what: "installs what is for the hub on a spoke too",
        make: || {
            Arc::new(Doubles { from: |address| address == HUB, ..Doubles::new(|address| address != HUB) })
        },
    },
    Mutant {
        name: "ignores-pause",
        family: "target",
        what: "works on paused resources",
        make: || Arc::new(IgnoresPause),
    },
];

/// Sends what is applied to one cluster to another too, with the token that is used there.
struct Doubles {
    from: fn(&str) -> bool,
    to: fn(&str) -> bool,
    tokens: Mutex<BTreeMap<String, HeaderValue>>,
}

impl Doubles {
    fn new(to: fn(&str) -> bool) -> Self {
        Self { from: |address| address != HUB, to, tokens: Mutex::default() }
    }
}

impl Meddler for Doubles {
    fn outgoing(&self, letter: Letter) -> Vec<Letter> {
        let mut tokens = self.tokens.lock();
        if let Some(token) = letter.parts.headers.get(header::AUTHORIZATION) {
            tokens.insert(letter.address.clone(), token.clone());
        }
        let mut all = vec![letter.clone()];
        let info = letter.info();
        if (self.from)(&letter.address) && info.verb == "patch" && info.group != GROUP {
            let other = tokens.iter().find(|(address, _)| **address != letter.address && (self.to)(address));
            if let Some((address, token)) = other {
                let mut copy = letter;
                copy.address = address.clone();
                copy.parts.headers.insert(header::AUTHORIZATION, token.clone());
                all.push(copy);
            }
        }
        all
    }
}

#[derive(Default)]
struct FrozenProfile {
    first: Mutex<BTreeMap<String, Value>>,
}

impl Meddler for FrozenProfile {
    fn incoming(&self, letter: &Letter, answer: &mut Value) {
        let info = letter.info();
        if info.resource != "clusterprofiles" || info.verb != "get" {
            return;
        }
        let mut first = self.first.lock();
        match first.get(&info.name) {
            Some(known) => *answer = known.clone(),
            None if answer["status"].is_object() => drop(first.insert(info.name, answer.clone())),
            None => {}
        }
    }
}

struct IgnoresPause;

impl Meddler for IgnoresPause {
    fn incoming(&self, letter: &Letter, answer: &mut Value) {
        if letter.info().group == GROUP
            && let Some(annotations) = answer["metadata"]["annotations"].as_object_mut()
        {
            annotations.remove("operator.knative.dev/paused");
        }
    }
}
