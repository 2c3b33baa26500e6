//! Operators that are careless with tokens.

use std::collections::BTreeMap;
use std::sync::Arc;

use http::{HeaderValue, header};
use parking_lot::Mutex;

use super::Mutant;
use crate::wire::{Letter, Meddler};
use crate::world::HUB;

pub(super) const MUTANTS: &[Mutant] = &[
    Mutant {
        name: "first-token",
        family: "credentials",
        what: "uses the first token of each spoke for ever",
        make: || Arc::new(FirstToken::default()),
    },
    Mutant {
        name: "others-token",
        family: "credentials",
        what: "takes one spoke's credentials for all of them",
        make: || Arc::new(OthersToken::default()),
    },
];

#[derive(Default)]
struct FirstToken {
    first: Mutex<BTreeMap<String, HeaderValue>>,
}

impl Meddler for FirstToken {
    fn outgoing(&self, mut letter: Letter) -> Vec<Letter> {
        if letter.address != HUB
            && let Some(token) = letter.parts.headers.get(header::AUTHORIZATION).cloned()
        {
            let first = self.first.lock().entry(letter.address.clone()).or_insert(token).clone();
            letter.parts.headers.insert(header::AUTHORIZATION, first);
        }
        vec![letter]
    }
}

#[derive(Default)]
struct OthersToken {
    /// The last token of each spoke.
    tokens: Mutex<BTreeMap<String, HeaderValue>>,
}

impl Meddler for OthersToken {
    fn outgoing(&self, mut letter: Letter) -> Vec<Letter> {
        if letter.address != HUB
            && let Some(token) = letter.parts.headers.get(header::AUTHORIZATION).cloned()
        {
            let mut tokens = self.tokens.lock();
            tokens.insert(letter.address.clone(), token);
            if let Some((_, first)) = tokens.first_key_value() {
                letter.parts.headers.insert(header::AUTHORIZATION, first.clone());
            }
        }
        vec![letter]
    }
}
