//! Operators that do not write down what they do.

use std::sync::Arc;

use knative_operator::api::ComponentKind;
use serde_json::{Value, json};

use super::Mutant;
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
];

struct NoInventory;

impl Meddler for NoInventory {
    fn outgoing(&self, mut letter: Letter) -> Vec<Letter> {
        let mut body = letter.json();
        if letter.info().group == GROUP
            && let Some(annotations) = body["status"]["annotations"].as_object_mut()
        {
            annotations.remove("operator.knative.dev/inventory");
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
