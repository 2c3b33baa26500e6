//! Operators that leave out a part of an installation and believe that it is there.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};

use super::Mutant;
use crate::wire::{Letter, Meddler};
use crate::world::HUB;

pub(super) const MUTANTS: &[Mutant] = &[
    Mutant {
        name: "skips-bindings",
        family: "phases",
        what: "binds no cluster-wide role",
        make: || Arc::new(Skips::new("clusterrolebindings")),
    },
    Mutant {
        name: "skips-webhooks",
        family: "phases",
        what: "registers no webhooks",
        make: || Arc::new(Skips::new("validatingwebhookconfigurations")),
    },
    Mutant {
        name: "skips-budgets",
        family: "phases",
        what: "applies no PodDisruptionBudget",
        make: || Arc::new(Skips::new("poddisruptionbudgets")),
    },
];

/// Does not apply objects of one kind on spokes, and finds what it would have applied wherever it looks.
struct Skips {
    resource: &'static str,
    /// By address, namespace and name.
    pretended: Mutex<BTreeMap<(String, String, String), Value>>,
}

impl Skips {
    fn new(resource: &'static str) -> Self {
        Self { resource, pretended: Mutex::default() }
    }

    fn concerns(&self, letter: &Letter) -> bool {
        letter.address != HUB && letter.info().resource == self.resource
    }
}

impl Meddler for Skips {
    fn outgoing(&self, letter: Letter) -> Vec<Letter> {
        if !self.concerns(&letter) || !letter.is_write() {
            return vec![letter];
        }
        let info = letter.info();
        let key = (letter.address.clone(), info.namespace.clone(), info.name.clone());
        if info.verb == "delete" {
            self.pretended.lock().remove(&key);
            return Vec::new();
        }
        let mut object = letter.json();
        object["metadata"]["uid"] = json!(format!("pretended-{}", info.name));
        self.pretended.lock().insert(key, object);
        Vec::new()
    }

    fn incoming(&self, letter: &Letter, answer: &mut Value) {
        if !self.concerns(letter) {
            return;
        }
        let info = letter.info();
        let pretended = self.pretended.lock();
        let key = (letter.address.clone(), info.namespace.clone(), info.name.clone());
        if let Some(object) = pretended.get(&key) {
            *answer = object.clone();
        }
        if let Some(items) = answer["items"].as_array_mut() {
            let here = pretended.iter().filter(|((address, ..), _)| *address == letter.address);
            items.extend(here.map(|(_, object)| object.clone()));
        }
    }
}
