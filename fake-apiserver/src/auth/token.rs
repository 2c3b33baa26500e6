//! Bearer tokens that expire on the simulated clock and can be revoked.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::User;

/// The tokens of one cluster.
#[derive(Debug, Default)]
pub(crate) struct TokenStore {
    tokens: BTreeMap<String, Grant>,
}

#[derive(Debug)]
struct Grant {
    user: User,
    expires: Option<Timestamp>,
}

impl TokenStore {
    /// Accepts `token` for `user` until `expires`.
    pub(crate) fn insert(&mut self, token: String, user: User, expires: Option<Timestamp>) {
        self.tokens.insert(token, Grant { user, expires });
    }

    /// Refuses `token` from now on; false when it was unknown.
    pub(crate) fn revoke(&mut self, token: &str) -> bool {
        self.tokens.remove(token).is_some()
    }

    /// The user that `token` stands for at `now`.
    pub(crate) fn user(&self, token: &str, now: Timestamp) -> Option<&User> {
        let grant = self.tokens.get(token)?;
        grant.expires.is_none_or(|expires| now < expires).then_some(&grant.user)
    }
}
