//! Creating an object.

use std::sync::Arc;

use serde_json::{Value, json};

use super::body::{metadata_of, settle_object, warn};
use super::{apply_schema, check_type, schema_errors};
use crate::admission::{self, Change};
use crate::state::{Call, State};
use crate::status::{Answer, Status};
use crate::storage::Stored;
use crate::{apply, auth, convert, defaults, hooks, strategy, validation};

/// Creates `object` in the call's namespace. With `call.name` set (an apply or put that creates), the object must
/// have that name. `tracked` says that its managedFields are already right.
pub(crate) fn create(
    state: &mut State,
    call: &mut Call,
    mut object: Value,
    tracked: bool,
) -> Answer<Arc<Stored>> {
    check_type(&state.registry, call, &mut object)?;
    let metadata = metadata_of(call, &mut object)?;
    let versioned = metadata.remove("resourceVersion").is_some_and(|version| version.as_str() != Some(""));
    // An apply may name a version of what is not there any more.
    if versioned && !tracked {
        return Err(Status::unexpected("resourceVersion should not be set on objects to be created"));
    }
    strategy::place(call, metadata)?;
    let text = |key: &str| metadata.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (name, base) = (text("name"), text("generateName"));
    call.name = name;
    admission::lifecycle::check_create(state, call)?;
    apply_schema(call, &mut object, tracked)?;
    defaults::fill(&call.resource().id, &mut object);
    strategy::reset_new(call, &mut object);
    settle_object(call, &mut object);
    if !tracked {
        apply::track_update(None, &mut object, call.version().merge(), &call.writer());
    }
    admission::lifecycle::check_account(state, call, &object)?;
    admission::fill(state, call, &mut object);
    if let Some(changed) = admission::mutate(state, call, Change::create(&object))? {
        object = changed;
        apply_schema(call, &mut object, false)?;
        defaults::fill(&call.resource().id, &mut object);
        strategy::reset_new(call, &mut object);
        settle_object(call, &mut object);
    }
    if call.name.is_empty() && !base.is_empty() {
        call.name = state.ids.name_from(&base);
    }
    object["metadata"]["name"] = json!(call.name);
    strategy::prepare_create(state, call, &mut object);
    auth::escalation::check(state, call, &object, None)?;
    let rule = validation::name_rule(&call.resource().id);
    let mut errors = validation::metadata_errors(&object["metadata"], rule);
    if !call.resource().traits.custom {
        errors.extend(validation::finalizer_errors(&object["metadata"]));
    }
    errors.extend(schema_errors(call, &object, None));
    errors.extend(strategy::create_errors(state, call, &object));
    if !errors.is_empty() {
        return Err(Status::invalid(&call.resource().kind_name(), &call.name, &errors));
    }
    warn(call, &object, None);
    admission::validate(state, call, Change::create(&object))?;
    convert::to_stored(state, call, &mut object)?;
    convert::prepare_to_show(state, call, &object)?;
    let (id, key) = (call.resource().storage.clone(), call.key());
    if let Some(taken) = state.storage.get(&id, &key) {
        let deleting = !taken.metadata()["deletionTimestamp"].is_null();
        return Err(Status::already_exists(&call.resource().name(), &call.name, deleting));
    }
    if call.options.dry_run {
        return Ok(Arc::new(Stored::unwritten(object)));
    }
    let stored = state.storage.put(&id, &key, object);
    hooks::after_write(state, call, &stored);
    Ok(stored)
}
