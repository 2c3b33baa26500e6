//! CustomResourceDefinitions: which names are accepted, when a kind is served, and what happens to its objects
//! when the definition goes (`k8s.io/apiextensions-apiserver/pkg/controller/{status,establish,finalizer}`).
//!
//! A real server needs a moment for each; here it is done with the write that causes it.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Controller, RETRY, Wish, Write};
use crate::apply::{Writer, track_update};
use crate::clock::rfc3339;
use crate::options::DeleteOptions;
use crate::registry::{Served, resource_of};
use crate::state::{Call, State};
use crate::storage::{Event, ResourceId};
use crate::strategy::CRD_CLEANUP;
use crate::verb::delete::delete;

const DEFINITIONS: &str = "customresourcedefinitions.apiextensions.k8s.io";

/// Brings the status of a definition, the registry and the objects of the kind in line with the definition.
pub(crate) fn settle(state: &mut State, name: &str, now: Timestamp) {
    let id: ResourceId = DEFINITIONS.into();
    let Some(stored) = state.storage.get(&id, name).cloned() else { return };
    let mut definition = (*stored.value).clone();
    let conflict = name_conflict(state, &definition);
    set_status(&mut definition, conflict.as_ref(), now);
    if definition != *stored.value {
        track_status(state, &stored.value, &mut definition, now);
        state.storage.put(&id, &name.into(), definition.clone());
    }
    if is_true(&definition, "Established") {
        // The schema was checked when the definition was written; one that cannot be read serves nothing.
        if let Ok(resource) = resource_of(&definition) {
            if state.registry.by_id(name).is_none() {
                state.storage.begin_history(&name.into());
            }
            state.registry.install(resource);
            reinterpret(state, name);
        }
    }
    if !definition["metadata"]["deletionTimestamp"].is_null() {
        drain(state, name, now);
    }
}

/// The status belongs to the server.
fn track_status(state: &State, old: &Value, definition: &mut Value, now: Timestamp) {
    let Some(resource) = state.registry.by_id(DEFINITIONS) else { return };
    let writer = Writer {
        manager: "kube-apiserver".into(),
        api_version: resource.stored_version().api_version.clone(),
        subresource: Some("status".into()),
        time: rfc3339(now),
    };
    track_update(Some(old), definition, resource.stored_version().merge(), &writer);
}

/// Prunes and defaults what is stored by the schema that holds now: a real server does it at each read.
fn reinterpret(state: &mut State, name: &str) {
    let Some(resource) = state.registry.by_id(name).cloned() else { return };
    for (key, stored) in &state.storage.objects(name) {
        let version =
            resource.versions.iter().find(|version| stored.value["apiVersion"] == *version.api_version);
        let Some(schema) = version.and_then(|version| version.schema.as_ref()) else { continue };
        let mut object = (*stored.value).clone();
        schema.prune(&mut object);
        schema.default(&mut object);
        if object != *stored.value {
            state.storage.reinterpret(name, key, object);
        }
    }
}

/// Stops serving the kind of a definition that has gone; its names are free for others.
pub(crate) fn removed(state: &mut State, definition: &Value, now: Timestamp) {
    let name = definition["metadata"]["name"].as_str().unwrap_or_default();
    let group = &definition["spec"]["group"];
    state.registry.uninstall(name);
    state.storage.end_watches(&name.into());
    let waiting: Vec<String> = definitions(state)
        .filter(|other| other["spec"]["group"] == *group && !is_true(other, "Established"))
        .filter_map(|other| other["metadata"]["name"].as_str().map(str::to_owned))
        .collect();
    waiting.iter().for_each(|other| settle(state, other, now));
}

/// Deletes the objects of a kind and, once none is left, releases the definition.
fn drain(state: &mut State, name: &str, now: Timestamp) {
    if let Some(resource) = state.registry.by_id(name).cloned() {
        let keys: Vec<String> = state
            .storage
            .objects(name)
            .iter()
            .filter(|(_, stored)| stored.metadata()["deletionTimestamp"].is_null())
            .map(|(key, _)| key.to_string())
            .collect();
        let served = Served { version: resource.stored, resource };
        for key in keys {
            let (namespace, name) = key.split_once('/').unwrap_or(("", &key));
            let mut call = Call::internal(served.clone(), namespace, name, now, "kube-apiserver");
            // A webhook may refuse; the controller tries again.
            let _ = delete(state, &mut call, &DeleteOptions::default());
        }
    }
    let id: ResourceId = DEFINITIONS.into();
    if !state.storage.objects(name).is_empty() {
        return;
    }
    let Some(stored) = state.storage.get(&id, name).cloned() else { return };
    let mut definition = (*stored.value).clone();
    if let Some(finalizers) = definition["metadata"]["finalizers"].as_array_mut() {
        let before = finalizers.len();
        finalizers.retain(|finalizer| finalizer != CRD_CLEANUP);
        if finalizers.len() == before {
            return;
        }
        if finalizers.is_empty() {
            state.storage.remove(&id, &name.into());
            removed(state, &definition, now);
        } else {
            state.storage.put(&id, &name.into(), definition);
        }
    }
}

/// Tries again to delete the objects of definitions that are going: a webhook may have refused, and no longer do.
#[derive(Clone, Debug, Default)]
pub(crate) struct Drain {
    /// Definitions with objects that nobody has managed to delete, and when to try again.
    going: BTreeMap<String, Timestamp>,
}

impl Controller for Drain {
    fn manager(&self) -> &'static str {
        "kube-apiserver"
    }

    fn observe(&mut self, _: &State, event: &Event, now: Timestamp) {
        if &*event.resource != DEFINITIONS {
            return;
        }
        if event.deleted || event.current.metadata()["deletionTimestamp"].is_null() {
            self.going.remove(&*event.key);
        } else {
            self.going.entry(event.key.to_string()).or_insert(now + RETRY);
        }
    }

    fn decide(&mut self, state: &State, now: Timestamp) -> Wish {
        let mut wish = Wish::default();
        self.going.retain(|name, time| {
            let objects = state.storage.objects(name);
            let mut kept =
                objects.iter().filter(|(_, stored)| stored.metadata()["deletionTimestamp"].is_null());
            if *time > now {
                return kept.next().is_some();
            }
            *time = now + RETRY;
            let before = wish.writes.len();
            wish.writes.extend(kept.map(|(key, stored)| Write::Delete {
                item: (name.as_str().into(), key.clone()),
                uid: stored.uid().to_owned(),
                propagation: None,
            }));
            wish.writes.len() > before
        });
        if let Some(next) = self.going.values().min() {
            wish.wake_at(*next);
        }
        wish
    }
}

/// A name that another kind of the group has: condition reason and message.
struct NameConflict {
    reason: &'static str,
    message: String,
}

fn name_conflict(state: &State, definition: &Value) -> Option<NameConflict> {
    let name = &definition["metadata"]["name"];
    let names = &definition["spec"]["names"];
    let others: Vec<Value> = definitions(state)
        .filter(|other| {
            other["metadata"]["name"] != *name && other["spec"]["group"] == definition["spec"]["group"]
        })
        .map(|other| other["status"]["acceptedNames"].clone())
        .collect();
    let taken = |value: &Value, fields: &[&str]| {
        let text = value.as_str().unwrap_or_default();
        !text.is_empty()
            && others.iter().any(|other| {
                fields.iter().any(|field| {
                    other[*field] == *value
                        || other[*field].as_array().is_some_and(|list| list.contains(value))
                })
            })
    };
    let resource_names = ["plural", "singular", "shortNames"];
    let kinds = ["kind", "listKind"];
    let mut wanted = vec![
        ("PluralConflict", &names["plural"], &resource_names[..]),
        ("SingularConflict", &names["singular"], &resource_names[..]),
    ];
    let short = names["shortNames"].as_array().into_iter().flatten();
    wanted.extend(short.map(|name| ("ShortNamesConflict", name, &resource_names[..])));
    wanted.push(("KindConflict", &names["kind"], &kinds[..]));
    wanted.push(("ListKindConflict", &names["listKind"], &kinds[..]));
    // The last conflict found is the one that is reported.
    let (reason, value, _) = wanted.into_iter().rfind(|(_, value, fields)| taken(value, fields))?;
    Some(NameConflict { reason, message: format!("{value} is already in use") })
}

fn definitions(state: &State) -> impl Iterator<Item = std::sync::Arc<Value>> {
    let objects: Vec<_> =
        state.storage.objects(DEFINITIONS).values().map(|stored| stored.value.clone()).collect();
    objects.into_iter()
}

fn set_status(definition: &mut Value, conflict: Option<&NameConflict>, now: Timestamp) {
    let time = rfc3339(now);
    let names = definition["spec"]["names"].clone();
    match conflict {
        None => {
            definition["status"]["acceptedNames"] = names;
            set_condition(definition, "NamesAccepted", true, "NoConflicts", "no conflicts found", &time);
            let message = "the initial names have been accepted";
            set_condition(definition, "Established", true, "InitialNamesAccepted", message, &time);
        }
        Some(conflict) => {
            if !is_true(definition, "Established") {
                definition["status"]["acceptedNames"] = json!({ "plural": names["plural"], "kind": "" });
                set_condition(
                    definition,
                    "Established",
                    false,
                    "NotAccepted",
                    "not all names are accepted",
                    &time,
                );
            }
            set_condition(definition, "NamesAccepted", false, conflict.reason, &conflict.message, &time);
        }
    }
}

fn set_condition(definition: &mut Value, kind: &str, holds: bool, reason: &str, message: &str, time: &str) {
    let status = if holds { "True" } else { "False" };
    if !definition["status"]["conditions"].is_array() {
        definition["status"]["conditions"] = json!([]);
    }
    let Some(conditions) = definition["status"]["conditions"].as_array_mut() else { return };
    let condition = json!({
        "type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": time,
    });
    match conditions.iter_mut().find(|condition| condition["type"] == kind) {
        // Established stays as it was first reached.
        Some(found) if found["status"] == status => {}
        Some(found) => *found = condition,
        // NamesAccepted comes first.
        None if kind == "NamesAccepted" => conditions.insert(0, condition),
        None => conditions.push(condition),
    }
}

fn is_true(definition: &Value, kind: &str) -> bool {
    let conditions = definition["status"]["conditions"].as_array().into_iter().flatten();
    conditions.into_iter().any(|condition| condition["type"] == kind && condition["status"] == "True")
}
