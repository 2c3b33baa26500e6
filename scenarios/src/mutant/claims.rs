//! Operators that say what is not so.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};

use super::Mutant;
use crate::oracle::view::GROUP;
use crate::wire::{Letter, Meddler};
use crate::world::HUB;

pub(super) const MUTANTS: &[Mutant] = &[
    Mutant {
        name: "always-ready",
        family: "claims",
        what: "writes every condition as True",
        make: || Arc::new(AlwaysReady),
    },
    Mutant {
        name: "optimist",
        family: "claims",
        what: "takes every Deployment for rolled out",
        make: || Arc::new(Optimist),
    },
    Mutant {
        name: "wrong-version",
        family: "claims",
        what: "always reports the newest version",
        make: || Arc::new(WrongVersion),
    },
    Mutant {
        name: "stays-ready",
        family: "claims",
        what: "does not take Ready back",
        make: || Arc::new(StaysReady::default()),
    },
];

/// Changes a status on its way to the hub.
pub(super) fn with_status(mut letter: Letter, change: impl FnOnce(&mut Value)) -> Vec<Letter> {
    let info = letter.info();
    if info.group == GROUP && info.subresource == "status" {
        let mut body = letter.json();
        change(&mut body["status"]);
        letter.set_json(&body);
    }
    vec![letter]
}

struct AlwaysReady;

impl Meddler for AlwaysReady {
    fn outgoing(&self, letter: Letter) -> Vec<Letter> {
        with_status(letter, |status| {
            for condition in status["conditions"].as_array_mut().into_iter().flatten() {
                condition["status"] = json!("True");
            }
        })
    }
}

struct WrongVersion;

impl Meddler for WrongVersion {
    fn outgoing(&self, letter: Letter) -> Vec<Letter> {
        with_status(letter, |status| {
            if status["version"].is_string() {
                status["version"] = json!("1.23.0");
            }
        })
    }
}

struct Optimist;

impl Meddler for Optimist {
    fn incoming(&self, letter: &Letter, answer: &mut Value) {
        if letter.address == HUB || letter.info().resource != "deployments" {
            return;
        }
        roll_out(answer);
        for item in answer["items"].as_array_mut().into_iter().flatten() {
            roll_out(item);
        }
    }
}

fn roll_out(deployment: &mut Value) {
    if !deployment["spec"].is_object() {
        return;
    }
    let replicas = deployment["spec"]["replicas"].as_i64().unwrap_or(1);
    deployment["status"] = json!({
        "observedGeneration": deployment["metadata"]["generation"],
        "replicas": replicas, "updatedReplicas": replicas, "readyReplicas": replicas,
        "availableReplicas": replicas,
        "conditions": [{"type": "Available", "status": "True"}, {"type": "Progressing", "status": "True",
                        "reason": "NewReplicaSetAvailable"}],
    });
}

/// Repeats the conditions with which a resource was Ready.
#[derive(Default)]
struct StaysReady {
    ready: Mutex<BTreeMap<String, Value>>,
}

impl Meddler for StaysReady {
    fn outgoing(&self, letter: Letter) -> Vec<Letter> {
        let path = letter.parts.uri.path().to_owned();
        with_status(letter, |status| {
            let mut ready = self.ready.lock();
            let conditions = status["conditions"].as_array().into_iter().flatten();
            let is_ready = conditions.clone().any(|c| c["type"] == "Ready" && c["status"] == "True");
            if is_ready {
                ready.insert(path, status["conditions"].clone());
            } else if let Some(ready) = ready.get(&path)
                && status["conditions"].is_array()
            {
                status["conditions"] = ready.clone();
            }
        })
    }
}
