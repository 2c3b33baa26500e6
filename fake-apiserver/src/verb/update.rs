//! Replacing an object, by a put or as the second half of any patch.

use std::sync::Arc;

use serde_json::{Value, json};

use super::body::{metadata_of, settle_object, warn};
use super::get::find;
use super::{apply_schema, check_type, schema_errors};
use crate::admission::{self, Change};
use crate::schema::FieldError;
use crate::state::{Call, State};
use crate::status::{Answer, Status};
use crate::storage::Stored;
use crate::{apply, auth, convert, defaults, hooks, strategy, validation};

/// What a new object came from: decides how stale or foreign metadata is refused.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Origin {
    Put,
    Patch,
    /// A server-side apply: managedFields are already right.
    Apply,
}

/// Answers a put: replaces the object, or creates it where the kind allows that. True when created.
pub(crate) fn put(state: &mut State, call: &mut Call, mut object: Value) -> Answer<(Arc<Stored>, bool)> {
    check_type(&state.registry, call, &mut object)?;
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    if name.is_empty() {
        return Err(Status::bad_request(format!(
            "the name of the object ({} based on URL) was undeterminable: name must be provided",
            call.name
        )));
    }
    match find(state, call).cloned() {
        Ok(live) => update(state, call, &live, object, Origin::Put).map(|stored| (stored, false)),
        Err(_) if call.resource().traits.create_on_update && call.subresource.is_empty() => {
            object["metadata"]["resourceVersion"] = Value::Null;
            super::create::create(state, call, object, false).map(|stored| (stored, true))
        }
        Err(missing) => Err(missing),
    }
}

/// Replaces `live` by `new` (in the call's version) with all the rules of the kind and subresource.
pub(crate) fn update(
    state: &mut State,
    call: &mut Call,
    live: &Arc<Stored>,
    mut new: Value,
    origin: Origin,
) -> Answer<Arc<Stored>> {
    check_type(&state.registry, call, &mut new)?;
    let metadata = metadata_of(call, &mut new)?;
    strategy::place(call, metadata)?;
    check_version(call, live, &new, origin)?;
    apply_schema(call, &mut new, origin == Origin::Apply)?;
    let old = convert::seen(state, call, &live.value)?;
    let old = &*old;
    let mut errors = system_field_errors(old, &new);
    strategy::reset(call, old, &mut new);
    defaults::fill(&call.resource().id, &mut new);
    settle_object(call, &mut new);
    if origin != Origin::Apply {
        apply::track_update(Some(old), &mut new, call.version().merge(), &call.writer());
    }
    if let Some(changed) = admission::mutate(state, call, Change::update(old, &new))? {
        new = changed;
        apply_schema(call, &mut new, false)?;
        strategy::reset(call, old, &mut new);
        defaults::fill(&call.resource().id, &mut new);
        settle_object(call, &mut new);
    }
    strategy::prepare_update(call, old, &mut new);
    strategy::carry_over(&call.resource().id, old, &mut new);
    if call.resource().is("services") {
        strategy::allocate_addresses(state, &mut new);
    }
    strategy::bump_generation(call, old, &mut new);
    auth::escalation::check(state, call, &new, Some(old))?;
    errors.extend(validation::common_metadata_errors(&new["metadata"]));
    if !call.resource().traits.custom {
        errors.extend(validation::finalizer_errors(&new["metadata"]));
    }
    errors.extend(schema_errors(call, &new, Some(old)));
    errors.extend(strategy::update_errors(call, old, &new));
    if !errors.is_empty() {
        return Err(Status::invalid(&call.resource().kind_name(), &call.name, &errors));
    }
    warn(call, &new, Some(old));
    admission::validate(state, call, Change::update(old, &new))?;
    convert::to_stored(state, call, &mut new)?;
    convert::prepare_to_show(state, call, &new)?;
    if same(&live.value, &new) {
        return Ok(live.clone());
    }
    commit(state, call, live, new)
}

/// Writes the result, or removes the object when its last finalizer has gone.
fn commit(state: &mut State, call: &Call, live: &Arc<Stored>, mut new: Value) -> Answer<Arc<Stored>> {
    let (id, key) = (call.resource().storage.clone(), call.key());
    new["metadata"]["resourceVersion"] = json!(live.revision.to_string());
    if call.options.dry_run {
        return Ok(Arc::new(Stored::unwritten(new)));
    }
    if strategy::is_released(&id, &new) {
        let answer = Arc::new(Stored::unwritten(new));
        // Watchers see the state before the last finalizer went.
        if let Some(last) = state.storage.remove(&id, &key) {
            hooks::after_removal(state, call, &last);
        }
        return Ok(answer);
    }
    let stored = state.storage.put(&id, &key, new);
    hooks::after_write(state, call, &stored);
    Ok(stored)
}

fn check_version(call: &Call, live: &Stored, new: &Value, origin: Origin) -> Answer<()> {
    let resource = call.resource();
    let metadata = &new["metadata"];
    let version = metadata["resourceVersion"].as_str().unwrap_or_default();
    if version.is_empty() {
        if !resource.traits.unconditional_update {
            let zero =
                FieldError::invalid("metadata.resourceVersion", &json!(0), "must be specified for an update");
            return Err(Status::invalid(&resource.name(), &call.name, &[zero]));
        }
    } else {
        let number: u64 = version.parse().map_err(|_| {
            Status::unexpected(format!("strconv.ParseUint: parsing \"{version}\": invalid syntax"))
        })?;
        if number != 0 && number != live.revision {
            return Err(Status::stale(&resource.name(), &call.name));
        }
    }
    let uid = metadata["uid"].as_str().unwrap_or_default();
    if origin == Origin::Put && !uid.is_empty() && uid != live.uid() {
        let why = format!(
            "StorageError: invalid object, Code: 4, Key: /registry/{}/{}, ResourceVersion: 0, AdditionalErrorMsg: \
             Precondition failed: UID in precondition: {uid}, UID in object meta: {}",
            resource.plural,
            call.key(),
            live.uid()
        );
        return Err(Status::conflict(&resource.name(), &call.name, &why));
    }
    Ok(())
}

/// Attempts to change what only the server sets. Each counts twice, as both halves of the real validation
/// report it.
fn system_field_errors(old: &Value, new: &Value) -> Vec<FieldError> {
    let (old, new) = (&old["metadata"], &new["metadata"]);
    let mut errors = Vec::new();
    for field in ["uid", "deletionTimestamp"] {
        let set = !new[field].is_null() && new[field] != "";
        if set && new[field] != old[field] {
            let error = FieldError::invalid(format!("metadata.{field}"), &new[field], "field is immutable");
            errors.extend([error.clone(), error]);
        }
    }
    if !old["deletionTimestamp"].is_null() {
        let known = |name: &Value| old["finalizers"].as_array().is_some_and(|list| list.contains(name));
        let added: Vec<_> = new["finalizers"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|name| !known(name))
            .map(Value::to_string)
            .collect();
        if !added.is_empty() {
            let why = format!(
                "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
                added.join(", ")
            );
            let error = FieldError::forbidden("metadata.finalizers", &why);
            errors.extend([error.clone(), error]);
        }
    }
    errors
}

/// Whether an update changes nothing; the times in managedFields do not count.
fn same(old: &Value, new: &Value) -> bool {
    let (Some(old), Some(new)) = (old.as_object(), new.as_object()) else { return false };
    old.len() == new.len()
        && old.iter().all(|(member, value)| match (member.as_str(), new.get(member)) {
            (_, None) => false,
            ("metadata", Some(other)) => same_metadata(value, other),
            (_, Some(other)) => value == other,
        })
}

fn same_metadata(old: &Value, new: &Value) -> bool {
    let (Some(old), Some(new)) = (old.as_object(), new.as_object()) else { return false };
    old.keys().chain(new.keys()).all(|member| match (member.as_str(), old.get(member), new.get(member)) {
        ("resourceVersion", ..) => true,
        ("managedFields", Some(old), Some(new)) => same_but_for_times(old, new),
        (_, old, new) => old == new,
    })
}

/// The members of an entry of managedFields but its time.
fn timeless(entry: &Value) -> impl Iterator<Item = (&String, &Value)> {
    entry.as_object().into_iter().flatten().filter(|(member, _)| *member != "time")
}

fn same_but_for_times(old: &Value, new: &Value) -> bool {
    let (Some(old), Some(new)) = (old.as_array(), new.as_array()) else { return old == new };
    old.len() == new.len() && old.iter().zip(new).all(|(old, new)| timeless(old).eq(timeless(new)))
}
