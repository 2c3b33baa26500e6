//! Objects in another version of their kind. Every object is stored in one version and shown in the one asked for.
//!
//! Of the built-in kinds two have versions that differ in more than their name: `autoscaler` and `event`. For custom
//! resources without a webhook only `apiVersion` changes; what the other version does not know is lost. The same is done
//! as long as a webhook can be reached for which nobody answers.

mod autoscaler;
mod event;
mod webhook;

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::defaults;
use crate::registry::{Resource, Version};
use crate::schema::builtin::settle::settle;
use crate::state::{Call, State};
use crate::status::Answer;
use crate::storage::Stored;

/// An object as the version of a call has it; mostly that is the object itself.
pub(crate) fn seen<'a>(state: &State, call: &Call, object: &'a Value) -> Answer<Cow<'a, Value>> {
    let same = object["apiVersion"] == call.version().api_version.as_str();
    if same && call.resource().conversion.is_none() {
        return Ok(Cow::Borrowed(object));
    }
    convert(state, call, call.version(), &[object]).map(|mut objects| Cow::Owned(objects.remove(0)))
}

/// A stored object as the version of a call has it; mostly that is the object itself.
pub(crate) fn seen_stored(state: &State, call: &Call, stored: &Arc<Stored>) -> Answer<Arc<Stored>> {
    if stored.value["apiVersion"] == call.version().api_version.as_str() {
        return Ok(stored.clone());
    }
    Ok(Arc::new(Stored::new(seen(state, call, &stored.value)?.into_owned(), stored.revision)))
}

/// Sees to it that an object about to be stored can be shown in the call's version afterwards: a webhook that has to be
/// asked is asked before anything has changed.
pub(crate) fn prepare_to_show(state: &State, call: &Call, object: &Value) -> Answer<()> {
    let same = object["apiVersion"] == call.version().api_version.as_str();
    if same || call.resource().conversion.is_none() { Ok(()) } else { seen(state, call, object).map(drop) }
}

/// Stored objects as the version of a call has them. Where there is but one version none of them is looked into: long
/// lists have no time for that.
pub(crate) fn seen_list<'a>(
    state: &State,
    call: &Call,
    all: &'a [Arc<Stored>],
) -> Answer<Cow<'a, [Arc<Stored>]>> {
    let strange = |stored: &&Arc<Stored>| stored.value["apiVersion"] != call.version().api_version.as_str();
    if call.resource().has_one_form() || !all.iter().any(|stored| strange(&stored)) {
        return Ok(all.into());
    }
    let others: Vec<&Value> = all.iter().filter(strange).map(|stored| &*stored.value).collect();
    let mut converted = convert(state, call, call.version(), &others)?.into_iter();
    let seen = all.iter().map(|stored| match strange(&stored) {
        true => converted
            .next()
            .map_or_else(|| stored.clone(), |object| Arc::new(Stored::new(object, stored.revision))),
        false => stored.clone(),
    });
    Ok(seen.collect())
}

/// Turns an object of a call's version into the stored one, defaults included: so it is read again.
pub(crate) fn to_stored(state: &State, call: &Call, object: &mut Value) -> Answer<()> {
    let stored = call.resource().stored_version();
    if object["apiVersion"] != stored.api_version.as_str() {
        *object = convert(state, call, stored, &[object])?.remove(0);
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

/// Objects of a call's kind in another version of it; as many as are given.
fn convert(state: &State, call: &Call, to: &Version, objects: &[&Value]) -> Answer<Vec<Value>> {
    let resource = call.resource();
    let strange = |object: &&&Value| object["apiVersion"] != to.api_version.as_str();
    if let Some(client) = &resource.conversion {
        let others: Vec<&Value> = objects.iter().filter(strange).copied().collect();
        if let Some(converted) = webhook::convert(state, call, client, to, &others)? {
            let mut converted = converted.into_iter();
            let next = |object: &&Value| {
                let mut object = if strange(&object) { converted.next()? } else { (*object).clone() };
                settle_as(to, &mut object);
                Some(object)
            };
            return Ok(objects.iter().filter_map(next).collect());
        }
    }
    let rename = |object: &&Value| {
        let mut object = (*object).clone();
        if object["apiVersion"] != to.api_version.as_str() {
            rename(resource, to, &mut object);
            settle_as(to, &mut object);
        }
        object
    };
    Ok(objects.iter().map(rename).collect())
}

/// Does what the versions of a kind are known to differ in.
fn rename(resource: &Resource, to: &Version, object: &mut Value) {
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
}

/// Leaves what the version knows.
fn settle_as(to: &Version, object: &mut Value) {
    if let (Some(of), Some(members)) = (to.built_in, object.as_object_mut()) {
        settle(of, members);
    }
    if let Some(schema) = &to.schema {
        schema.prune(object);
    }
}
