//! Operators that take less away than they should.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use fake_apiserver::RequestInfo;
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::Mutant;
use crate::oracle::view::GROUP;
use crate::wire::{Letter, Meddler};
use crate::world::HUB;

pub(super) const MUTANTS: &[Mutant] = &[
    Mutant {
        name: "early-finalizer",
        family: "removal",
        what: "takes a deleted resource for removed at once",
        make: || Arc::new(Blind::default()),
    },
    Mutant {
        name: "keeps-webhooks",
        family: "removal",
        what: "never deletes webhook configurations",
        make: || Arc::new(Keeps::new(|info, _| info.group == "admissionregistration.k8s.io")),
    },
    Mutant {
        name: "keeps-roles",
        family: "removal",
        what: "never deletes cluster-wide roles and bindings",
        make: || {
            let roles = |info: &RequestInfo, _| info.resource.starts_with("clusterrole");
            Arc::new(Keeps::new(roles))
        },
    },
    Mutant {
        name: "prunes-nothing",
        family: "removal",
        what: "deletes nothing unless the whole resource is deleted",
        make: || Arc::new(Keeps::new(|_, deleting| !deleting)),
    },
    Mutant {
        name: "prunes-at-first-sight",
        family: "removal",
        what: "leaves what is obsolete for ever if a Deployment was not ready at the first look after a change",
        make: || Arc::new(FirstSight::default()),
    },
];

/// Sees nothing on spokes any more once a resource is being deleted.
#[derive(Default)]
struct Blind {
    deleting: AtomicBool,
}

impl Meddler for Blind {
    fn incoming(&self, letter: &Letter, answer: &mut Value) {
        note_deletion(letter, answer, &self.deleting);
        if self.deleting.load(Ordering::Relaxed) && letter.address != HUB && !letter.is_write() {
            disown(answer);
            if answer["items"].is_array() {
                answer["items"] = json!([]);
            }
        }
    }
}

/// Does not send some deletions, and does not see any more what it should have deleted.
struct Keeps {
    which: fn(&RequestInfo, bool) -> bool,
    deleting: AtomicBool,
    kept: Mutex<BTreeSet<(String, String, String)>>,
}

impl Keeps {
    fn new(which: fn(&RequestInfo, bool) -> bool) -> Self {
        Self { which, deleting: AtomicBool::default(), kept: Mutex::default() }
    }

    fn keeps(&self, resource: &str, namespace: &str, name: &str) -> bool {
        self.kept.lock().contains(&(resource.to_owned(), namespace.to_owned(), name.to_owned()))
    }
}

impl Meddler for Keeps {
    fn outgoing(&self, letter: Letter) -> Vec<Letter> {
        let info = letter.info();
        let deleting = self.deleting.load(Ordering::Relaxed);
        if info.verb != "delete" || !(self.which)(&info, deleting) {
            return vec![letter];
        }
        self.kept.lock().insert((info.resource, info.namespace, info.name));
        Vec::new()
    }

    fn incoming(&self, letter: &Letter, answer: &mut Value) {
        note_deletion(letter, answer, &self.deleting);
        let info = letter.info();
        if self.keeps(&info.resource, &info.namespace, &info.name) && !letter.is_write() {
            disown(answer);
        }
        let items = answer["items"].as_array_mut();
        if let Some(items) = items {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            items.retain(|item| {
                let metadata = &item["metadata"];
                !self.keeps(&info.resource, &text(&metadata["namespace"]), &text(&metadata["name"]))
            });
        }
    }
}

/// Prunes only if it never had to wait since the specification changed.
struct FirstSight {
    keeps: Keeps,
    generation: AtomicI64,
    waited: AtomicBool,
}

impl Default for FirstSight {
    fn default() -> Self {
        let keeps = Keeps::new(|_, deleting| !deleting);
        Self { keeps, generation: AtomicI64::default(), waited: AtomicBool::default() }
    }
}

impl Meddler for FirstSight {
    fn outgoing(&self, letter: Letter) -> Vec<Letter> {
        if self.waited.load(Ordering::Relaxed) { self.keeps.outgoing(letter) } else { vec![letter] }
    }

    fn incoming(&self, letter: &Letter, answer: &mut Value) {
        let generation = answer["metadata"]["generation"].as_i64().unwrap_or_default();
        if letter.info().group == GROUP
            && answer["spec"].is_object()
            && self.generation.swap(generation, Ordering::Relaxed) != generation
        {
            self.waited.store(false, Ordering::Relaxed);
        }
        let items = answer["items"].as_array().into_iter().flatten();
        let late = |item: &Value| {
            let (status, replicas) = (&item["status"], item["spec"]["replicas"].as_i64().unwrap_or(1));
            status["availableReplicas"].as_i64().unwrap_or_default() < replicas
        };
        if letter.info().resource == "deployments" && items.filter(|item| item["spec"].is_object()).any(late)
        {
            self.waited.store(true, Ordering::Relaxed);
        }
        self.keeps.incoming(letter, answer);
    }
}

/// Whether the resource that was read last is being deleted.
fn note_deletion(letter: &Letter, answer: &Value, deleting: &AtomicBool) {
    if letter.info().group == GROUP && answer["spec"].is_object() {
        deleting.store(answer["metadata"]["deletionTimestamp"].is_string(), Ordering::Relaxed);
    }
}

/// Takes off everything that shows who wrote an object.
pub(super) fn disown(answer: &mut Value) {
    if let Some(metadata) = answer["metadata"].as_object_mut() {
        metadata.remove("managedFields");
        metadata.remove("ownerReferences");
    }
}
