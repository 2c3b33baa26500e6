//! Bearer tokens that expire on the simulated clock, are meant for somebody, and can be revoked.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::User;
use crate::ids::Ids;
use crate::storage::{ObjectKey, ResourceId, Storage};

/// For whom tokens are meant unless they say otherwise: the API server itself.
pub(crate) const AUDIENCE: &str = "https://kubernetes.default.svc.cluster.local";

/// The tokens of one cluster.
#[derive(Clone, Debug, Default)]
pub(crate) struct TokenStore {
    tokens: BTreeMap<String, Grant>,
}

/// What a token stands for.
#[derive(Clone, Debug)]
pub(crate) struct Grant {
    pub(crate) user: User,
    /// When it ends, if it does.
    pub(crate) expires: Option<Timestamp>,
    /// For whom it is meant; nobody in particular when empty.
    pub(crate) audiences: Vec<String>,
    /// Objects that it ends with.
    pub(crate) bound: Vec<Bound>,
}

/// An object that a token is bound to.
#[derive(Clone, Debug)]
pub(crate) struct Bound {
    pub(crate) resource: ResourceId,
    pub(crate) key: ObjectKey,
    pub(crate) uid: String,
}

impl Bound {
    fn stands(&self, storage: &Storage) -> bool {
        storage.get(&self.resource, &self.key).is_some_and(|stored| stored.uid() == self.uid)
    }
}

impl Grant {
    /// A token without an end, for anybody.
    pub(crate) fn of(user: User) -> Self {
        Self { user, expires: None, audiences: Vec::new(), bound: Vec::new() }
    }

    /// Which of `wanted` it is meant for.
    pub(crate) fn meant_for<'a>(&self, wanted: &'a [String]) -> Vec<&'a String> {
        wanted.iter().filter(|one| self.audiences.is_empty() || self.audiences.contains(one)).collect()
    }
}

impl TokenStore {
    /// Accepts `token` as what `grant` says.
    pub(crate) fn insert(&mut self, token: String, grant: Grant) {
        self.tokens.insert(token, grant);
    }

    /// Refuses `token` from now on; false when it was unknown.
    pub(crate) fn revoke(&mut self, token: &str) -> bool {
        self.tokens.remove(token).is_some()
    }

    /// What `token` stands for at `now`, as long as the objects it is bound to are in `storage`.
    pub(crate) fn grant(&self, token: &str, storage: &Storage, now: Timestamp) -> Option<&Grant> {
        let grant = self.tokens.get(token)?;
        let lasts = grant.expires.is_none_or(|expires| now < expires);
        (lasts && grant.bound.iter().all(|bound| bound.stands(storage))).then_some(grant)
    }
}

/// A token in the form of a JSON web token with these claims; its signature is made up.
pub(crate) fn web_token(ids: &mut Ids, claims: &Value) -> String {
    let header = json!({"alg": "RS256", "kid": "fake"});
    let part = |value: String| URL_SAFE_NO_PAD.encode(value);
    format!("{}.{}.{}", part(header.to_string()), part(claims.to_string()), part(ids.suffix(32)))
}
