//! Secrets: a token travels in the header that is made for it, and nowhere else.
//!
//! No path and no body of a request holds a token that was ever used, on any cluster: so none can reach a status, an
//! Event or an object.

use std::collections::BTreeSet;

use super::{Oracle, Scene};
use crate::wire::Letter;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Secrets {
    tokens: BTreeSet<String>,
}

impl Oracle for Secrets {
    fn name(&self) -> &'static str {
        "secrets"
    }

    fn sent(&mut self, letter: &Letter, _: &Scene<'_>) -> Option<String> {
        let token = letter.token();
        if !token.is_empty() && !self.tokens.contains(token) {
            self.tokens.insert(token.to_owned());
        }
        if !letter.is_write() || letter.is_about_lease() {
            return None;
        }
        let (path, body) = (letter.path(), String::from_utf8_lossy(&letter.body));
        let told = self.tokens.iter().any(|token| path.contains(token) || body.contains(token));
        // The text of the alarm must not tell it either.
        told.then(|| format!("{} to {} tells a token", letter.parts.method, letter.address))
    }
}
