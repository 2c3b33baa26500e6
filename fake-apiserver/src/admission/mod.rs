//! Admission: what may refuse a write after it has been understood and before it is stored.

pub(crate) mod lifecycle;
mod limit_ranger;
mod matching;
mod owner_guard;
mod pod_security;
mod policy;
mod quota;
mod review;
pub(crate) mod webhook;

use serde_json::Value;

use crate::state::{Call, State};
use crate::status::Answer;

/// A write on its way through admission.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Change<'a> {
    /// `CREATE`, `UPDATE` or `DELETE`.
    operation: &'static str,
    /// The object as it shall be.
    object: Option<&'a Value>,
    /// The object as it is.
    old: Option<&'a Value>,
}

impl<'a> Change<'a> {
    pub(crate) fn create(object: &'a Value) -> Self {
        Self { operation: "CREATE", object: Some(object), old: None }
    }

    pub(crate) fn update(old: &'a Value, object: &'a Value) -> Self {
        Self { operation: "UPDATE", object: Some(object), old: Some(old) }
    }

    pub(crate) fn delete(old: &'a Value) -> Self {
        Self { operation: "DELETE", object: None, old: Some(old) }
    }
}

/// What the cluster itself fills into a new object, before anything is decided about it.
pub(crate) fn fill(state: &State, call: &Call, object: &mut Value) {
    limit_ranger::fill(state, call, object);
}

/// Before defaults are final and the object is validated: webhooks that may change it. What they make of it, if they
/// make something of it.
pub(crate) fn mutate(state: &State, call: &mut Call, change: Change<'_>) -> Answer<Option<Value>> {
    webhook::mutate(state, call, change)
}

/// When the object is known to be valid, in the order of a real server: limits, pod security, policies, webhooks, and
/// last the quota, which is used up by what all others allow.
pub(crate) fn validate(state: &mut State, call: &mut Call, change: Change<'_>) -> Answer<()> {
    owner_guard::check(state, call, change)?;
    limit_ranger::check(state, call, change)?;
    pod_security::check(state, call, change)?;
    policy::check(state, call, change)?;
    webhook::validate(state, call, change)?;
    quota::charge(state, call, change)
}
