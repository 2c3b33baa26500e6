//! Operators that do not write down what they do.

use std::collections::BTreeSet;
use std::sync::Arc;

use knative_operator::api::ComponentKind;
use knative_operator::reconcile::record::{INVENTORY, Record, TARGET};
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::versions::is_component;
use super::{Mutant, plain};
use crate::oracle::view::GROUP;
use crate::wire::{Letter, Meddler};

pub(super) const MUTANTS: &[Mutant] = &[
    Mutant {
        name: "no-inventory",
        family: "records",
        what: "keeps no inventory in the status",
        make: || Arc::new(NoInventory),
    },
    Mutant {
        name: "no-finalizer",
        family: "records",
        what: "puts no finalizer on custom resources",
        make: || Arc::new(NoFinalizer),
    },
    Mutant {
        name: "inventory-of-namespaced",
        family: "records",
        what: "lists no cluster-scoped objects",
        make: || plain::outgoing(|letter| vec![without_cluster_scoped(letter)]),
    },
    Mutant {
        name: "inventory-in-memory",
        family: "records",
        what: "knows what is installed only as long as it runs",
        make: || Arc::new(InMemory::default()),
    },
    Mutant {
        name: "forgets-target",
        family: "records",
        what: "does not know any more where a resource was installed",
        make: || {
            plain::incoming(|letter, answer| {
                if is_component(letter, answer)
                    && let Some(annotations) = answer["status"]["annotations"].as_object_mut()
                {
                    annotations.remove(TARGET);
                }
            })
        },
    },
];

fn without_cluster_scoped(mut letter: Letter) -> Letter {
    let mut body = letter.json();
    if letter.info().group == GROUP
        && let Ok(mut record) = Record::read(&body["status"]["annotations"])
        && body["status"]["annotations"][INVENTORY].is_string()
    {
        record.inventory.objects.retain(|key, _| !key.namespace.is_empty());
        body["status"]["annotations"][INVENTORY] = json!(record.inventory.encode());
        letter.set_json(&body);
    }
    letter
}

/// Reads no inventory that it has not written itself since its start.
#[derive(Default)]
struct InMemory {
    /// Start and path.
    written: Mutex<BTreeSet<(u64, String)>>,
}

fn path_of(letter: &Letter) -> String {
    letter.parts.uri.path().trim_end_matches("/status").to_owned()
}

impl Meddler for InMemory {
    fn outgoing(&self, letter: Letter) -> Vec<Letter> {
        if letter.json()["status"]["annotations"][INVENTORY].is_string() {
            self.written.lock().insert((letter.replica, path_of(&letter)));
        }
        vec![letter]
    }

    fn incoming(&self, letter: &Letter, answer: &mut Value) {
        let known = self.written.lock().contains(&(letter.replica, path_of(letter)));
        if is_component(letter, answer)
            && !known
            && let Some(annotations) = answer["status"]["annotations"].as_object_mut()
        {
            annotations.remove(INVENTORY);
        }
    }
}

struct NoInventory;

impl Meddler for NoInventory {
    fn outgoing(&self, mut letter: Letter) -> Vec<Letter> {
        let mut body = letter.json();
        if letter.info().group == GROUP
            && let Some(annotations) = body["status"]["annotations"].as_object_mut()
        {
            annotations.remove(INVENTORY);
            letter.set_json(&body);
        }
        vec![letter]
    }
}

struct NoFinalizer;

impl Meddler for NoFinalizer {
    fn outgoing(&self, mut letter: Letter) -> Vec<Letter> {
        let mut body = letter.json();
        if letter.info().group == GROUP && body["metadata"]["finalizers"].is_array() {
            body["metadata"]["finalizers"] = json!([]);
            letter.set_json(&body);
        }
        vec![letter]
    }

    /// It believes that it has done so.
    fn incoming(&self, letter: &Letter, answer: &mut Value) {
        let info = letter.info();
        let kind = ComponentKind::ALL.into_iter().find(|kind| kind.plural() == info.resource);
        if let Some(kind) = kind.filter(|_| info.group == GROUP && answer["spec"].is_object()) {
            answer["metadata"]["finalizers"] = json!([kind.finalizer()]);
        }
    }
}
