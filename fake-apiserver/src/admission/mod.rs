//! Admission: what may refuse a write after it has been understood and before it is stored.

pub(crate) mod lifecycle;
mod matching;
mod policy;
pub(crate) mod webhook;

use serde_json::Value;

use crate::state::{Call, State};
use crate::status::Answer;
use webhook::Phase;

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

/// Before defaults are final and the object is validated: webhooks that may change it.
pub(crate) fn mutate(state: &State, call: &Call, change: Change<'_>) -> Answer<()> {
    webhook::check(state, call, Phase::Mutating, change)
}

/// When the object is known to be valid: policies, then webhooks.
pub(crate) fn validate(state: &State, call: &mut Call, change: Change<'_>) -> Answer<()> {
    policy::check(state, call, change)?;
    webhook::check(state, call, Phase::Validating, change)
}
