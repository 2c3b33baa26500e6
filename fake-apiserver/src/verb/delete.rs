//! Deleting objects and collections: preconditions, finalizers and propagation.

use std::sync::Arc;

use serde_json::{Value, json};

use super::get::find;
use super::list::{Found, list};
use crate::admission::{self, Change};
use crate::clock::rfc3339;
use crate::options::{DeleteOptions, ListOptions, Propagation};
use crate::state::{Call, State};
use crate::status::{Answer, ResourceName, Status};
use crate::storage::Stored;
use crate::{convert, hooks, strategy};

/// What became of an object.
#[derive(Debug)]
pub(crate) enum Deleted {
    /// It is gone; this was its last state.
    Gone(Arc<Stored>),
    /// Finalizers hold it.
    Waiting(Arc<Stored>),
}

/// Deletes the object a call names.
pub(crate) fn delete(state: &mut State, call: &mut Call, options: &DeleteOptions) -> Answer<Deleted> {
    let live = admit(state, call, options)?;
    delete_admitted(state, call, &live, options)
}

/// Checks that the object a call names may be deleted; nothing has changed yet.
pub(crate) fn admit(state: &mut State, call: &mut Call, options: &DeleteOptions) -> Answer<Arc<Stored>> {
    let live = find(state, call)?.clone();
    check_preconditions(call, &live, options)?;
    admission::lifecycle::check_delete(call)?;
    admission::mutate(state, call, Change::delete(&live.value))?;
    admission::validate(state, call, Change::delete(&live.value))?;
    convert::prepare_to_show(state, call, &live.value)?;
    Ok(live)
}

/// Deletes an object that may be deleted.
pub(crate) fn delete_admitted(
    state: &mut State,
    call: &mut Call,
    live: &Arc<Stored>,
    options: &DeleteOptions,
) -> Answer<Deleted> {
    warn_about_orphans(call, options);
    let mut object = (*live.value).clone();
    let finalizers = finalizers_for(call, &object, options);
    let already_deleting = !object["metadata"]["deletionTimestamp"].is_null();
    set_finalizers(&mut object, &finalizers);
    let id = call.resource().storage.clone();
    let grace = grace_of(call, &object, options);
    if strategy::may_go(&id, &object) && grace == 0 {
        return remove(state, call, live, options.dry_run);
    }
    if grace > 0 {
        start_grace(call, &mut object, grace);
    } else if !already_deleting {
        object["metadata"]["deletionTimestamp"] = json!(rfc3339(call.now));
        strategy::start_deletion(call, &mut object, &rfc3339(call.now));
    }
    if object == *live.value {
        return Ok(Deleted::Waiting(live.clone()));
    }
    if options.dry_run {
        return Ok(Deleted::Waiting(Arc::new(Stored::unwritten(object))));
    }
    let stored = state.storage.put(&id, &call.key(), object);
    hooks::after_write(state, call, &stored);
    Ok(Deleted::Waiting(stored))
}

/// Deletes every object of a collection that the selectors match; the answer is what was there.
pub(crate) fn delete_collection(
    state: &mut State,
    call: &mut Call,
    selection: &ListOptions,
    options: &DeleteOptions,
) -> Answer<Found> {
    let found = list(state, call, selection)?;
    let mut admitted = Vec::new();
    for item in &found.items {
        let text = |field: &str| item.metadata()[field].as_str().unwrap_or_default().to_owned();
        let mut one = call.clone();
        one.name = text("name");
        one.namespace = text("namespace");
        match admit(state, &mut one, options) {
            Err(refusal) if refusal.reason != "NotFound" => return Err(refusal),
            live => admitted.extend(live.map(|live| (one, live))),
        }
    }
    for (mut one, live) in admitted {
        delete_admitted(state, &mut one, &live, options)?;
    }
    Ok(found)
}

/// The Status that answers a completed delete.
pub(crate) fn success(call: &Call, last: &Stored) -> Value {
    let mut details = json!({ "name": call.name, "kind": call.resource().plural, "uid": last.uid() });
    if !call.resource().group.is_empty() {
        details["group"] = json!(call.resource().group);
    }
    json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details })
}

fn remove(state: &mut State, call: &Call, live: &Arc<Stored>, dry_run: bool) -> Answer<Deleted> {
    if dry_run {
        return Ok(Deleted::Gone(live.clone()));
    }
    let last = state.storage.remove(&call.resource().storage, &call.key());
    if let Some(last) = &last {
        hooks::after_removal(state, call, last);
    }
    let last = last.unwrap_or_else(|| live.clone());
    if !call.resource().is("pods") {
        return Ok(Deleted::Gone(last));
    }
    // Pods are always deleted in the graceful way, however short the grace.
    let mut object = (*last.value).clone();
    let now = rfc3339(call.now);
    object["metadata"]["resourceVersion"] = json!(last.revision.to_string());
    object["metadata"]["deletionTimestamp"] = json!(now);
    strategy::start_deletion(call, &mut object, &now);
    Ok(Deleted::Gone(Arc::new(Stored::unwritten(object))))
}

fn check_preconditions(call: &Call, live: &Stored, options: &DeleteOptions) -> Answer<()> {
    // Here the server names the kind where it names the resource elsewhere.
    let who = ResourceName { group: &call.resource().group, resource: &call.resource().kind };
    if let Some(uid) = options.uid.as_deref().filter(|uid| *uid != live.uid()) {
        let why = format!(
            "the UID in the precondition ({uid}) does not match the UID in record ({}). The object might have been \
             deleted and then recreated",
            live.uid()
        );
        return Err(Status::conflict(&who, &call.name, &why));
    }
    let current = live.revision.to_string();
    if let Some(version) = options.resource_version.as_deref().filter(|version| *version != current) {
        let why = format!(
            "the ResourceVersion in the precondition ({version}) does not match the ResourceVersion in record \
             ({current}). The object might have been modified"
        );
        return Err(Status::conflict(&who, &call.name, &why));
    }
    Ok(())
}

/// The finalizers an object has once its deletion has been asked for.
fn finalizers_for(call: &Call, object: &Value, options: &DeleteOptions) -> Vec<String> {
    const ORPHAN: &str = "orphan";
    const FOREGROUND: &str = "foregroundDeletion";
    let names = object["metadata"]["finalizers"].as_array().into_iter().flatten();
    let mut finalizers: Vec<String> = names.filter_map(|name| name.as_str().map(str::to_owned)).collect();
    let default = call.resource().traits.orphans_by_default.then_some(Propagation::Orphan);
    let has_own = finalizers.iter().any(|name| name == ORPHAN || name == FOREGROUND);
    let policy = match options.propagation {
        // What an earlier delete asked for stays in force.
        None if has_own => return finalizers,
        None => default,
        some => some,
    };
    let wanted = match policy {
        Some(Propagation::Orphan) => Some(ORPHAN),
        Some(Propagation::Foreground) => Some(FOREGROUND),
        Some(Propagation::Background) | None => None,
    };
    if policy.is_some() {
        finalizers.retain(|name| (name != ORPHAN && name != FOREGROUND) || Some(name.as_str()) == wanted);
    }
    if let Some(wanted) = wanted.filter(|wanted| !finalizers.iter().any(|name| name == wanted)) {
        finalizers.push(wanted.to_owned());
    }
    finalizers.extend(strategy::deletion_finalizer(call, &finalizers));
    finalizers
}

/// Seconds that a Pod on a node has to end; nothing else has any, and nobody here ends it early.
fn grace_of(call: &Call, object: &Value, options: &DeleteOptions) -> i64 {
    if !call.resource().is("pods") || object["spec"]["nodeName"].as_str().unwrap_or_default().is_empty() {
        return 0;
    }
    let own = object["spec"]["terminationGracePeriodSeconds"].as_i64().unwrap_or(30);
    options.grace_seconds.unwrap_or(own).max(0)
}

/// Notes when a Pod has to be gone; a later delete can only shorten that.
fn start_grace(call: &Call, object: &mut Value, seconds: i64) {
    let given = object["metadata"]["deletionGracePeriodSeconds"].as_i64();
    if given.is_some_and(|given| given <= seconds) {
        return;
    }
    let end = call.now.checked_add(jiff::SignedDuration::from_secs(seconds)).unwrap_or(jiff::Timestamp::MAX);
    object["metadata"]["deletionTimestamp"] = json!(rfc3339(end));
    object["metadata"]["deletionGracePeriodSeconds"] = json!(seconds);
    if given.is_none()
        && let Some(generation) = object["metadata"]["generation"].as_i64()
    {
        object["metadata"]["generation"] = json!(generation + 1);
    }
}

fn set_finalizers(object: &mut Value, finalizers: &[String]) {
    match object["metadata"].as_object_mut() {
        Some(metadata) if finalizers.is_empty() => drop(metadata.remove("finalizers")),
        Some(metadata) => drop(metadata.insert("finalizers".into(), json!(finalizers))),
        None => {}
    }
}

fn warn_about_orphans(call: &mut Call, options: &DeleteOptions) {
    if call.resource().is("jobs.batch") && options.propagation.is_none() {
        call.warnings.push(
            "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove \
             them or set propagationPolicy=Orphan to suppress this warning"
                .into(),
        );
    }
}
