//! Tokens: one that is known to be bad is never used again.
//!
//! A cluster refuses a token with 401, and the answer comes back. No request that is sent later carries that token to
//! that cluster. Requests that were under way are not blamed. The hub's own token has no plugin behind it, and is left
//! out.

use std::collections::BTreeSet;

use super::{Oracle, Scene};
use crate::wire::Letter;
use crate::world::HUB;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct DeadTokens {
    dead: BTreeSet<(String, String)>,
}

impl Oracle for DeadTokens {
    fn name(&self) -> &'static str {
        "tokens"
    }

    fn sent(&mut self, letter: &Letter, _: &Scene<'_>) -> Option<String> {
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
