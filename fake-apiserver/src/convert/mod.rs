//! Objects in another version of their kind. Every object is stored in one version and shown in the one asked for.
//!
//! Of the built-in kinds two have versions that differ in more than their name: `autoscaler` and `event`. For custom
//! resources without a webhook only `apiVersion` changes; what the other version does not know is lost. With one the same is
//! done as long as the webhook can be reached: as for admission, nothing is called.

mod autoscaler;
mod event;

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::admission::webhook;
use crate::defaults;
use crate::registry::{Resource, Version};
use crate::schema::builtin::settle::settle;
use crate::state::{Call, State};
use crate::status::{Answer, Status};
use crate::storage::Stored;

/// Seconds that a conversion may take.
const TIMEOUT: u64 = 30;

/// An object as the version of a call has it.
pub(crate) fn seen(state: &State, call: &Call, object: &Value) -> Answer<Value> {
    let mut object = object.clone();
    convert(state, call.resource(), call.version(), &mut object)?;
    Ok(object)
}

/// A stored object as the version of a call has it; mostly that is the object itself.
pub(crate) fn seen_stored(state: &State, call: &Call, stored: &Arc<Stored>) -> Answer<Arc<Stored>> {
    if stored.value["apiVersion"] == call.version().api_version.as_str() {
        return Ok(stored.clone());
    }
    Ok(Arc::new(Stored::new(seen(state, call, &stored.value)?, stored.revision)))
}

/// Stored objects as the version of a call has them. Where there is but one version none of them is looked into: long
/// lists have no time for that.
pub(crate) fn seen_list<'a>(
    state: &State,
    call: &Call,
    stored: &'a [Arc<Stored>],
) -> Answer<Cow<'a, [Arc<Stored>]>> {
    if call.resource().has_one_form() {
        return Ok(stored.into());
    }
    stored.iter().map(|stored| seen_stored(state, call, stored)).collect()
}

/// Turns an object of a call's version into the stored one, defaults included: so it is read again.
pub(crate) fn to_stored(state: &State, call: &Call, object: &mut Value) -> Answer<()> {
    let stored = call.resource().stored_version();
    if object["apiVersion"] != stored.api_version.as_str() {
        convert(state, call.resource(), stored, object)?;
        if let Some(schema) = &stored.schema {
            schema.default(object);
        }
        defaults::fill(&call.resource().storage, object);
    }
    Ok(())
}

/// The field of a stored object that a field selector of a resource means.
pub(crate) fn stored_field(resource: &Resource, label: &str) -> String {
    // Only Events are stored under other names than they are selected by.
    if resource.storage == resource.id { label.to_owned() } else { event::stored_field(label) }
}

fn convert(state: &State, resource: &Resource, to: &Version, object: &mut Value) -> Answer<()> {
    if object["apiVersion"] == to.api_version.as_str() {
        return Ok(());
    }
    if let Some(client) = &resource.conversion
        && let Some(why) = webhook::unreachable(state, client, TIMEOUT)
    {
        let from = object["apiVersion"].as_str().unwrap_or_default();
        let kind = &resource.kind;
        return Err(Status::unexpected(format!("conversion webhook for {from}, Kind={kind} failed: {why}")));
    }
    match (resource.kind.as_str(), to.api_version.as_str()) {
        _ if resource.traits.custom => {}
        ("HorizontalPodAutoscaler", "autoscaling/v1") => autoscaler::to_v1(object),
        ("HorizontalPodAutoscaler", _) => autoscaler::to_v2(object),
        ("Event", version) => {
            if let Some(members) = object.as_object_mut() {
                event::rename(members, version);
            }
        }
        _ => {}
    }
    object["apiVersion"] = json!(to.api_version);
    if let (Some(of), Some(members)) = (to.built_in, object.as_object_mut()) {
        settle(of, members);
    }
    if let Some(schema) = &to.schema {
        schema.prune(object);
    }
    Ok(())
}
