//! Tokens: each goes to one cluster, and one that is known to be bad is never used again.
//!
//! A token that was sent to one address is never sent to another: it would be told to strangers. A cluster refuses a token with 401, and the answer comes back. No request that is sent later carries that token to
//! that cluster. Requests that were under way are not blamed. The hub's own token has no plugin behind it, and is left
//! out.

use std::collections::{BTreeMap, BTreeSet};

use super::{Oracle, Scene};
use crate::wire::Letter;
use crate::world::HUB;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Tokens {
    /// Where each was sent first.
    home: BTreeMap<String, String>,
    dead: BTreeSet<(String, String)>,
}

impl Oracle for Tokens {
    fn name(&self) -> &'static str {
        "tokens"
    }

    fn sent(&mut self, letter: &Letter, _: &Scene<'_>) -> Option<String> {
        if !self.home.contains_key(letter.token()) {
            self.home.insert(letter.token().to_owned(), letter.address.clone());
        }
        let home = &self.home[letter.token()];
        if *home != letter.address {
            return Some(format!("{} gets a token that was for {home}", letter.address));
        }
        let key = (letter.address.clone(), letter.token().to_owned());
        self.dead.contains(&key).then(|| {
            let path = letter.path();
            format!(
                "{} {}{path} carries a token that was refused before",
                letter.parts.method, letter.address
            )
        })
    }

    fn answered(&mut self, letter: &Letter, code: u16, _: &Scene<'_>) -> Option<String> {
        if code == 401 && letter.address != HUB {
            self.dead.insert((letter.address.clone(), letter.token().to_owned()));
        }
        None
    }
}
