//! Operators that lose sight of a deletion.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};

use super::Mutant;
use super::removal::disown;
use super::versions::is_component;
use crate::oracle::view::GROUP;
use crate::wire::{Letter, Meddler};
use crate::world::HUB;

pub(super) const MUTANTS: &[Mutant] = &[
    Mutant {
        name: "does-not-wait",
        family: "deletion",
        what: "takes for gone what it has asked to delete",
        make: || Arc::new(Hides::new(|hides| hides.deletes_sent)),
    },
    Mutant {
        name: "shared-target",
        family: "deletion",
        what: "leaves everything of a deleted resource when another one lives on the same cluster",
        make: || Arc::new(Hides::new(|hides| hides.is_shared())),
    },
    Mutant {
        name: "needs-memory",
        family: "deletion",
        what: "finds no cluster for a deleted resource that it has not seen alive since its start",
        make: || Arc::new(NeedsMemory::default()),
    },
    Mutant {
        name: "silent-deletion",
        family: "deletion",
        what: "writes no status while a resource is being deleted",
        make: || Arc::new(Silent::default()),
    },
];

/// Custom resources as they were read last, by UID.
type Book = BTreeMap<String, Value>;

fn uid(object: &Value) -> String {
    object["metadata"]["uid"].as_str().unwrap_or_default().to_owned()
}

fn is_deleting(object: &Value) -> bool {
    object["metadata"]["deletionTimestamp"].is_string()
}

/// Sees nothing on spokes any more from a certain point of a deletion on.
struct Hides {
    when: fn(&State) -> bool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    book: Book,
    /// The resource that was read last.
    current: Value,
    /// Whether deletions of it have been sent.
    deletes_sent: bool,
}

impl State {
    /// Whether another resource lives on the cluster of the current one.
    fn is_shared(&self) -> bool {
        let profile = |object: &Value| object["spec"]["clusterProfileRef"].clone();
        let mine = (uid(&self.current), profile(&self.current));
        self.book
            .values()
            .any(|other| uid(other) != mine.0 && profile(other) == mine.1 && !is_deleting(other))
    }
}

impl Hides {
    fn new(when: fn(&State) -> bool) -> Self {
        Self { when, state: Mutex::default() }
    }
}

impl Meddler for Hides {
    fn outgoing(&self, letter: Letter) -> Vec<Letter> {
        let mut state = self.state.lock();
        state.deletes_sent |=
            letter.address != HUB && letter.info().verb == "delete" && is_deleting(&state.current);
        vec![letter]
    }

    fn incoming(&self, letter: &Letter, answer: &mut Value) {
        let mut state = self.state.lock();
        if is_component(letter, answer) {
            if uid(answer) != uid(&state.current) {
                state.deletes_sent = false;
            }
            state.book.insert(uid(answer), answer.clone());
            state.current = answer.clone();
        }
        let hidden = is_deleting(&state.current) && (self.when)(&state);
        if hidden && letter.address != HUB && !letter.is_write() {
            disown(answer);
            if answer["items"].is_array() {
                answer["items"] = json!([]);
            }
        }
    }
}

/// Knows the cluster of a resource only from having installed it.
#[derive(Default)]
struct NeedsMemory {
    /// Resources that a start has seen alive.
    alive: Mutex<BTreeSet<(u64, String)>>,
    /// Whether a start works on a deletion of one that it has not.
    lost: Mutex<BTreeSet<u64>>,
}

impl Meddler for NeedsMemory {
    fn incoming(&self, letter: &Letter, answer: &mut Value) {
        let replica = letter.replica;
        if is_component(letter, answer) {
            let key = (replica, uid(answer));
            self.lost.lock().remove(&replica);
            if !is_deleting(answer) {
                self.alive.lock().insert(key);
            } else if !self.alive.lock().contains(&key) {
                self.lost.lock().insert(replica);
            }
        }
        if letter.info().resource == "clusterprofiles" && self.lost.lock().contains(&replica) {
            answer["status"] = Value::Null;
        }
    }
}

/// Says nothing about deletions.
#[derive(Default)]
struct Silent {
    /// Paths of resources that are being deleted.
    deleting: Mutex<BTreeSet<String>>,
}

impl Meddler for Silent {
    fn outgoing(&self, letter: Letter) -> Vec<Letter> {
        let info = letter.info();
        let path = letter.parts.uri.path().trim_end_matches("/status");
        let about = info.group == GROUP && info.subresource == "status";
        if about && self.deleting.lock().contains(path) { Vec::new() } else { vec![letter] }
    }

    fn incoming(&self, letter: &Letter, answer: &mut Value) {
        if is_component(letter, answer) && letter.info().subresource.is_empty() {
            let path = letter.parts.uri.path().to_owned();
            let mut deleting = self.deleting.lock();
            if is_deleting(answer) {
                deleting.insert(path)
            } else {
                deleting.remove(&path)
            };
        }
    }
}
