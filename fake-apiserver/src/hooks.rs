//! What follows from a write in the same instant, because a real API server does it itself rather than a
//! controller: custom resources appear, change and go with their definitions, and the tokens in Secrets are good as
//! long as the Secrets are there.

use crate::controllers::crd;
use crate::controllers::token::token_of;
use crate::reviews::account_grant;
use crate::state::{Call, State};
use crate::storage::Stored;

const DEFINITIONS: &str = "customresourcedefinitions.apiextensions.k8s.io";

/// Follows up a write of an object that exists now.
pub(crate) fn after_write(state: &mut State, call: &Call, stored: &Stored) {
    if call.resource().is(DEFINITIONS) {
        crd::settle(state, stored.metadata()["name"].as_str().unwrap_or_default(), call.now);
    } else if call.resource().is("secrets")
        && let Some((token, namespace, name)) = token_of(&stored.value)
    {
        let grant = account_grant(state, namespace, name);
        state.tokens.insert(token, grant);
    }
}

/// Follows up the removal of an object.
pub(crate) fn after_removal(state: &mut State, call: &Call, last: &Stored) {
    if call.resource().is(DEFINITIONS) {
        crd::removed(state, &last.value, call.now);
    } else if call.resource().is("secrets")
        && let Some((token, ..)) = token_of(&last.value)
    {
        state.tokens.revoke(&token);
    } else if call.resource().traits.terminating {
        crd::settle(state, &call.resource().id.clone(), call.now);
    }
}
