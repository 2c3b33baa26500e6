//! Reading one object.

use std::sync::Arc;

use crate::state::{Call, State};
use crate::status::{Answer, Status};
use crate::storage::Stored;

/// The object a call names.
pub(crate) fn get(state: &State, call: &Call, resource_version: &str) -> Answer<Arc<Stored>> {
    if !resource_version.is_empty() {
        let asked = parse_version(resource_version).map_err(Status::unexpected)?;
        if asked > state.storage.revision() {
            return Err(Status::too_large_version(asked, state.storage.revision()));
        }
    }
    find(state, call).cloned()
}

/// The stored object a call names, or 404.
pub(crate) fn find<'a>(state: &'a State, call: &Call) -> Answer<&'a Arc<Stored>> {
    state
        .storage
        .get(&call.resource().storage, &call.key())
        .ok_or_else(|| Status::not_found(&call.resource().name(), &call.name))
}

/// A resourceVersion as a number.
///
/// # Errors
/// The server's message.
pub(crate) fn parse_version(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| {
        format!("resourceVersion: Invalid value: \"{text}\": strconv.ParseUint: parsing \"{text}\": invalid syntax")
    })
}
