//! Operators that get owners wrong.

use std::collections::BTreeMap;
use std::sync::Arc;

use knative_operator::apply::anchor;
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::Mutant;
use crate::wire::{Letter, Meddler};
use crate::world::HUB;

pub(super) const MUTANTS: &[Mutant] = &[
    Mutant {
        name: "no-owner",
        family: "ownership",
        what: "applies objects without owner references",
        make: || Arc::new(NoOwner),
    },
    Mutant {
        name: "first-owner",
        family: "ownership",
        what: "keeps the first anchor's UID in owner references for ever",
        make: || Arc::new(FirstOwner::default()),
    },
    Mutant {
        name: "scoped-owner",
        family: "ownership",
        what: "makes the anchor the owner of cluster-scoped objects too",
        make: || Arc::new(ScopedOwner::default()),
    },
    Mutant {
        name: "adopts-anchors",
        family: "ownership",
        what: "takes another hub's anchor for nobody's",
        make: || Arc::new(Adopts::default()),
    },
];

struct NoOwner;

impl Meddler for NoOwner {
    fn outgoing(&self, mut letter: Letter) -> Vec<Letter> {
        if letter.address != HUB && letter.is_write() {
            let mut body = letter.json();
            if let Some(metadata) = body["metadata"].as_object_mut()
                && metadata.remove("ownerReferences").is_some()
            {
                letter.set_json(&body);
            }
        }
        vec![letter]
    }
}

#[derive(Default)]
struct FirstOwner {
    /// UID by address and name of the owner.
    first: Mutex<BTreeMap<(String, String), Value>>,
}

impl Meddler for FirstOwner {
    fn outgoing(&self, mut letter: Letter) -> Vec<Letter> {
        let mut body = letter.json();
        let owners = body["metadata"]["ownerReferences"].as_array().cloned().unwrap_or_default();
        if letter.address == HUB || owners.is_empty() {
            return vec![letter];
        }
        let owners: Vec<Value> = owners
            .into_iter()
            .map(|mut owner| {
                let name = owner["name"].as_str().unwrap_or_default().to_owned();
                let key = (letter.address.clone(), name);
                owner["uid"] = self.first.lock().entry(key).or_insert(owner["uid"].clone()).clone();
                owner
            })
            .collect();
        body["metadata"]["ownerReferences"] = json!(owners);
        letter.set_json(&body);
        vec![letter]
    }
}

#[derive(Default)]
struct ScopedOwner {
    /// The last owner that was given, by address.
    last: Mutex<BTreeMap<String, Value>>,
}

impl Meddler for ScopedOwner {
    fn outgoing(&self, mut letter: Letter) -> Vec<Letter> {
        if letter.address == HUB || !letter.is_write() {
            return vec![letter];
        }
        let mut body = letter.json();
        let owners = body["metadata"]["ownerReferences"].clone();
        if owners.is_array() {
            self.last.lock().insert(letter.address.clone(), owners);
        } else if body["kind"] == "ClusterRoleBinding"
            && let Some(owners) = self.last.lock().get(&letter.address)
        {
            body["metadata"]["ownerReferences"] = owners.clone();
            letter.set_json(&body);
        }
        vec![letter]
    }
}

#[derive(Default)]
struct Adopts {
    /// What it writes of its own hub.
    hub: Mutex<Option<Value>>,
}

impl Meddler for Adopts {
    fn outgoing(&self, letter: Letter) -> Vec<Letter> {
        let hub = letter.json()["metadata"]["annotations"][anchor::HUB].clone();
        if hub.is_string() {
            *self.hub.lock() = Some(hub);
        }
        vec![letter]
    }

    fn incoming(&self, letter: &Letter, answer: &mut Value) {
        let Some(annotations) = answer["metadata"]["annotations"].as_object_mut() else { return };
        let hub = annotations.get(anchor::HUB).cloned();
        if hub.is_some() && hub != *self.hub.lock() && !letter.is_write() {
            annotations.retain(|key, _| !key.starts_with("operator.knative.dev/"));
        }
    }
}
