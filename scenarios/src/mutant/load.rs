//! Operators that do not leave clusters in peace.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::Value;

use super::Mutant;
use crate::oracle::view::GROUP;
use crate::wire::{Letter, Meddler};
use crate::world::HUB;

pub(super) const MUTANTS: &[Mutant] = &[
    Mutant {
        name: "restless",
        family: "load",
        what: "applies something again with every look",
        make: || Arc::new(Restless::default()),
    },
    Mutant {
        name: "impatient",
        family: "load",
        what: "looks at every resource forty times",
        make: || Arc::new(Impatient),
    },
    Mutant {
        name: "storms",
        family: "load",
        what: "looks a hundred times at a resource after something went wrong",
        make: || Arc::new(Storms::default()),
    },
    Mutant {
        name: "repeats-status",
        family: "load",
        what: "writes the last status again with every look",
        make: || Arc::new(RepeatsStatus::default()),
    },
    Mutant {
        name: "sulks",
        family: "load",
        what: "works for nobody while one spoke does not answer",
        make: || Arc::new(Sulks::default()),
    },
];

#[derive(Default)]
struct Restless {
    /// The last Service that was applied, by address.
    last: Mutex<BTreeMap<String, Letter>>,
}

impl Meddler for Restless {
    fn outgoing(&self, letter: Letter) -> Vec<Letter> {
        let info = letter.info();
        let mut last = self.last.lock();
        if info.verb == "patch" && info.resource == "services" {
            last.insert(letter.address.clone(), letter.clone());
        }
        let mut all = vec![letter.clone()];
        if info.verb == "list" && info.resource == "services" && letter.address != HUB {
            all.extend(last.get(&letter.address).cloned());
        }
        all
    }
}

struct Impatient;

impl Meddler for Impatient {
    fn outgoing(&self, letter: Letter) -> Vec<Letter> {
        let info = letter.info();
        let looks = if info.verb == "get" && info.group == GROUP && !info.name.is_empty() { 40 } else { 1 };
        vec![letter; looks]
    }
}

#[derive(Default)]
struct Storms {
    failed: Mutex<bool>,
}

impl Meddler for Storms {
    fn outgoing(&self, letter: Letter) -> Vec<Letter> {
        let info = letter.info();
        let look = info.verb == "get" && info.group == GROUP && !info.name.is_empty();
        let storm = look && std::mem::take(&mut *self.failed.lock());
        vec![letter; if storm { 100 } else { 1 }]
    }

    fn incoming(&self, _: &Letter, answer: &mut Value) {
        if answer["kind"] == "Status" && answer["status"] == "Failure" && answer["code"] != 404 {
            *self.failed.lock() = true;
        }
    }
}

#[derive(Default)]
struct RepeatsStatus {
    /// The last status that was written, by path.
    last: Mutex<BTreeMap<String, Letter>>,
}

impl Meddler for RepeatsStatus {
    fn outgoing(&self, letter: Letter) -> Vec<Letter> {
        let info = letter.info();
        let path = letter.parts.uri.path().to_owned();
        let mut last = self.last.lock();
        if info.group == GROUP && info.subresource == "status" {
            last.insert(path.trim_end_matches("/status").to_owned(), letter.clone());
        }
        let again = last.get(&path).filter(|_| info.verb == "get").cloned();
        std::iter::once(letter).chain(again).collect()
    }
}

/// Requests without an answer from which a spoke counts as dead.
const SILENCE: u32 = 3;

#[derive(Default)]
struct Sulks {
    /// Requests since the last answer, by address.
    unanswered: Mutex<BTreeMap<String, u32>>,
}

impl Meddler for Sulks {
    fn outgoing(&self, letter: Letter) -> Vec<Letter> {
        if letter.address == HUB || letter.is_watch() {
            return vec![letter];
        }
        let mut unanswered = self.unanswered.lock();
        let dead = |(address, count): (&String, &u32)| *address != letter.address && *count >= SILENCE;
        if unanswered.iter().any(dead) {
            return Vec::new();
        }
        *unanswered.entry(letter.address.clone()).or_default() += 1;
        vec![letter]
    }

    fn incoming(&self, letter: &Letter, _: &mut Value) {
        self.unanswered.lock().remove(&letter.address);
    }
}
