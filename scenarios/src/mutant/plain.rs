//! Meddlers that remember nothing, as one function each.

use std::sync::Arc;

use serde_json::Value;

use crate::wire::{Letter, Meddler};

/// Changes requests.
pub(super) fn outgoing(change: fn(Letter) -> Vec<Letter>) -> Arc<dyn Meddler> {
    Arc::new(Outgoing(change))
}

/// Changes answers.
pub(super) fn incoming(change: fn(&Letter, &mut Value)) -> Arc<dyn Meddler> {
    Arc::new(Incoming(change))
}

struct Outgoing(fn(Letter) -> Vec<Letter>);

impl Meddler for Outgoing {
    fn outgoing(&self, letter: Letter) -> Vec<Letter> {
        (self.0)(letter)
    }
}

struct Incoming(fn(&Letter, &mut Value));

impl Meddler for Incoming {
    fn incoming(&self, letter: &Letter, answer: &mut Value) {
        (self.0)(letter, answer);
    }
}
