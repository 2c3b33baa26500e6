//! Namespaces that are deleted: their contents go first, and conditions tell what is left
//! (`pkg/controller/namespace/deletion` of Kubernetes).

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Controller, Item, RETRY, Wish, Write, set_condition, split_key};
use crate::clock::rfc3339;
use crate::options::Propagation;
use crate::state::State;
use crate::storage::{Event, Stored, object_key};

const NAMESPACES: &str = "namespaces";

/// The finalizer in `spec.finalizers` that this controller removes.
const OURS: &str = "kubernetes";

/// The namespaces that are going, and those to look at.
#[derive(Clone, Debug, Default)]
pub(crate) struct Drain {
    terminating: BTreeSet<String>,
    dirty: BTreeSet<String>,
    /// When to try again to delete what admission may have refused.
    retries: BTreeMap<String, Timestamp>,
}

/// What keeps a namespace.
#[derive(Clone, Debug, Default)]
struct Remains {
    by_resource: BTreeMap<String, usize>,
    by_finalizer: BTreeMap<String, usize>,
    unknown_groups: Vec<String>,
}

impl Controller for Drain {
    fn manager(&self) -> &'static str {
        "kube-controller-manager"
    }

    fn observe(&mut self, _state: &State, event: &Event, _now: Timestamp) {
        let (namespace, name) = split_key(&event.key);
        if &*event.resource == NAMESPACES {
            let going = !event.deleted && !event.current.metadata()["deletionTimestamp"].is_null();
            if going {
                self.terminating.insert(name.to_owned());
                self.dirty.insert(name.to_owned());
            } else {
                self.terminating.remove(name);
                self.retries.remove(name);
            }
        } else if self.terminating.contains(namespace) {
            self.dirty.insert(namespace.to_owned());
        } else if &*event.resource == "apiservices.apiregistration.k8s.io" {
            self.dirty.extend(self.terminating.iter().cloned());
        }
    }

    fn decide(&mut self, state: &State, now: Timestamp) -> Wish {
        let mut wish = Wish::default();
        let due = self.retries.iter().filter(|(_, time)| **time <= now);
        self.dirty.extend(due.map(|(name, _)| name.clone()));
        for name in std::mem::take(&mut self.dirty) {
            let Some(stored) = state.storage.get(NAMESPACES, &name) else { continue };
            if drain(state, &name, stored, now, &mut wish.writes) {
                self.retries.insert(name, now + RETRY);
            } else {
                self.retries.remove(&name);
            }
        }
        if let Some(next) = self.retries.values().min() {
            wish.wake_at(*next);
        }
        wish
    }
}

/// Whether it asked for deletions, which may be refused.
fn drain(state: &State, name: &str, stored: &Stored, now: Timestamp, writes: &mut Vec<Write>) -> bool {
    let finalizers = stored.value["spec"]["finalizers"].as_array().cloned().unwrap_or_default();
    if !finalizers.iter().any(|finalizer| finalizer == OURS) {
        return false;
    }
    let deleted = delete_contents(state, name, writes);
    if deleted {
        // What was deleted shows in the next turn.
        return true;
    }
    let remains = remains(state, name);
    let mut object = (*stored.value).clone();
    object["status"] = status(&object["status"], &remains, &rfc3339(now));
    let item = (NAMESPACES.into(), object_key("", name));
    if object["status"] != stored.value["status"] {
        writes.push(Write::Update { item, subresource: "status", revision: stored.revision, object });
    } else if remains.by_resource.is_empty() && remains.unknown_groups.is_empty() {
        let rest: Vec<Value> = finalizers.into_iter().filter(|finalizer| finalizer != OURS).collect();
        object["spec"]["finalizers"] = json!(rest);
        writes.push(Write::Update { item, subresource: "finalize", revision: stored.revision, object });
    }
    false
}

/// Deletes what is not being deleted yet; whether there was anything.
fn delete_contents(state: &State, namespace: &str, writes: &mut Vec<Write>) -> bool {
    let before = writes.len();
    for (item, stored) in contents(state, namespace) {
        if stored.metadata()["deletionTimestamp"].is_null() {
            let uid = stored.uid().to_owned();
            writes.push(Write::Delete { item, uid, propagation: Some(Propagation::Background) });
        }
    }
    writes.len() > before
}

fn contents(state: &State, namespace: &str) -> impl Iterator<Item = (Item, std::sync::Arc<Stored>)> {
    let prefix = format!("{namespace}/");
    let kinds: Vec<_> =
        state.registry.all().filter(|kind| kind.namespaced).map(|kind| kind.id.clone()).collect();
    let tables: Vec<_> = kinds.into_iter().map(|id| (state.storage.objects(&id), id)).collect();
    tables.into_iter().flat_map(move |(objects, id)| {
        let start = prefix.clone();
        let found: Vec<_> = objects
            .range::<_, str>((std::ops::Bound::Included(start.as_str()), std::ops::Bound::Unbounded))
            .take_while(|(key, _)| key.starts_with(&start))
            .map(|(key, stored)| ((id.clone(), key.clone()), stored.clone()))
            .collect();
        found
    })
}

fn remains(state: &State, namespace: &str) -> Remains {
    let mut remains = Remains::default();
    for ((resource, _), stored) in contents(state, namespace) {
        // Core resources show an empty group: `configmaps.`
        let name = if resource.contains('.') { resource.to_string() } else { format!("{resource}.") };
        *remains.by_resource.entry(name).or_default() += 1;
        for finalizer in stored.metadata()["finalizers"].as_array().into_iter().flatten() {
            *remains.by_finalizer.entry(finalizer.as_str().unwrap_or_default().to_owned()).or_default() += 1;
        }
    }
    for service in state.storage.objects("apiservices.apiregistration.k8s.io").values() {
        let conditions = service.value["status"]["conditions"].as_array().into_iter().flatten();
        let mut conditions = conditions.into_iter();
        if conditions.any(|condition| condition["type"] == "Available" && condition["status"] == "False") {
            let spec = &service.value["spec"];
            let part = |field: &str| spec[field].as_str().unwrap_or_default();
            remains.unknown_groups.push(format!("{}/{}", part("group"), part("version")));
        }
    }
    remains
}

/// The conditions of a namespace that is going.
fn status(old: &Value, remains: &Remains, now: &str) -> Value {
    let mut status = old.clone();
    status["phase"] = json!("Terminating");
    let mut set = |kind: &str, problem: Option<(&str, String)>, reason: &str, message: &str| match problem {
        Some((reason, message)) => set_condition(&mut status, kind, true, reason, &message, now),
        None => set_condition(&mut status, kind, false, reason, message, now),
    };
    let failing = (!remains.unknown_groups.is_empty()).then(|| {
        let list: Vec<String> = remains
            .unknown_groups
            .iter()
            .map(|group| format!("{group}: stale GroupVersion discovery: {group}"))
            .collect();
        let message = format!(
            "Discovery failed for some groups, {} failing: unable to retrieve the complete list of server APIs: {}",
            list.len(),
            list.join(", ")
        );
        ("DiscoveryFailed", message)
    });
    let all = "All resources successfully discovered";
    set("NamespaceDeletionDiscoveryFailure", failing, "ResourcesDiscovered", all);
    let parsed = "All legacy kube types successfully parsed";
    set("NamespaceDeletionGroupVersionParsingFailure", None, "ParsedGroupVersions", parsed);
    let deleted = "All content successfully deleted, may be waiting on finalization";
    set("NamespaceDeletionContentFailure", None, "ContentDeleted", deleted);
    let list = |counts: &BTreeMap<String, usize>, verb: &str| {
        let parts: Vec<String> =
            counts.iter().map(|(name, count)| format!("{name} {verb} {count} resource instances")).collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    };
    let content = list(&remains.by_resource, "has")
        .map(|text| ("SomeResourcesRemain", format!("Some resources are remaining: {text}")));
    set("NamespaceContentRemaining", content, "ContentRemoved", "All content successfully removed");
    let finalizers = list(&remains.by_finalizer, "in").map(|text| {
        ("SomeFinalizersRemain", format!("Some content in the namespace has finalizers remaining: {text}"))
    });
    let finished = "All content-preserving finalizers finished";
    set("NamespaceFinalizersRemaining", finalizers, "ContentHasNoFinalizers", finished);
    status
}
