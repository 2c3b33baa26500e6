//! The garbage collector: what becomes of objects whose owners go
//! (`pkg/controller/garbagecollector` of Kubernetes).
//!
//! An owner is what its reference says: group and kind, name, the namespace of the dependent, and UID. Whoever has
//! none left that exists is deleted, be it right after its creation.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};

use super::{Controller, Item, RETRY, Wish, Write, split_key};
use crate::options::Propagation;
use crate::state::State;
use crate::storage::{Event, Stored, object_key};

const FOREGROUND: &str = "foregroundDeletion";
const ORPHAN: &str = "orphan";

/// The graph of dependents, and the objects to look at.
#[derive(Clone, Debug)]
pub(crate) struct GarbageCollector {
    /// UID of an owner -> those who refer to it.
    dependents: BTreeMap<String, BTreeSet<Item>>,
    due: BTreeSet<(Timestamp, Item)>,
    delay: Duration,
    /// Restarts so far.
    restarts: u64,
}

/// What a reference leads to.
enum Owner {
    Present(Arc<Stored>),
    Absent,
    /// Its kind is unknown, or it can never be resolved: nothing may follow from it.
    Unknowable,
}

impl GarbageCollector {
    pub(crate) fn new(delay: Duration) -> Self {
        Self { dependents: BTreeMap::new(), due: BTreeSet::new(), delay, restarts: 0 }
    }

    fn enqueue(&mut self, item: Item, now: Timestamp) {
        let due = now.checked_add(self.delay).unwrap_or(Timestamp::MAX);
        self.due.insert((due, item));
    }

    fn retry(&mut self, item: Item, now: Timestamp) {
        self.due.insert((now.checked_add(RETRY).unwrap_or(Timestamp::MAX), item));
    }

    fn index(&mut self, item: &Item, object: &Value, add: bool) {
        for reference in references(object) {
            let uid = text(&reference["uid"]);
            if add {
                self.dependents.entry(uid).or_default().insert(item.clone());
            } else if let Some(items) = self.dependents.get_mut(&uid) {
                items.remove(item);
                if items.is_empty() {
                    self.dependents.remove(&uid);
                }
            }
        }
    }

    /// Forgets everything, and has everything to look at in an order that follows from a seed.
    fn restart(&mut self, state: &State, now: Timestamp, seed: u64) {
        self.dependents.clear();
        self.due.clear();
        let mut order = ChaCha8Rng::seed_from_u64(seed);
        for object in state.storage.snapshot().objects() {
            let item = (object.resource.into(), object_key(object.namespace, object.name));
            self.index(&item, object.value, true);
            let earlier = SignedDuration::from_nanos(order.random_range(0..1_000_000));
            self.due.insert((now.checked_sub(earlier).unwrap_or(now), item));
        }
    }

    /// Decides about one object.
    fn attend(&self, state: &State, item: &Item, writes: &mut Vec<Write>) {
        let Some(stored) = state.storage.get(&item.0, &item.1) else { return };
        let object = &*stored.value;
        if !object["metadata"]["deletionTimestamp"].is_null() {
            if has_finalizer(object, ORPHAN) {
                self.orphan(state, item, stored, writes);
            } else if has_finalizer(object, FOREGROUND) {
                self.wait_for_dependents(state, item, stored, writes);
            }
            return;
        }
        let (mut solid, mut dangling, mut waiting) = (0, Vec::new(), Vec::new());
        for reference in references(object) {
            match owner(state, item, reference) {
                Owner::Unknowable => return,
                Owner::Absent => dangling.push(text(&reference["uid"])),
                Owner::Present(owner) if is_waiting(&owner.value) => waiting.push(text(&reference["uid"])),
                Owner::Present(_) => solid += 1,
            }
        }
        if dangling.is_empty() && waiting.is_empty() {
            return;
        }
        if solid > 0 {
            let gone: Vec<String> = dangling.into_iter().chain(waiting).collect();
            writes.push(without_owners(item, stored, &gone));
            return;
        }
        let own = self.dependents.get(stored.uid());
        let propagation = if !waiting.is_empty() && own.is_some() {
            Propagation::Foreground
        } else if has_finalizer(object, ORPHAN) {
            Propagation::Orphan
        } else if has_finalizer(object, FOREGROUND) {
            Propagation::Foreground
        } else {
            Propagation::Background
        };
        writes.push(Write::Delete {
            item: item.clone(),
            uid: stored.uid().to_owned(),
            propagation: Some(propagation),
        });
    }

    /// Takes the owner off its dependents, then lets it go.
    fn orphan(&self, state: &State, item: &Item, stored: &Stored, writes: &mut Vec<Write>) {
        let uid = stored.uid().to_owned();
        for dependent in self.dependents.get(&uid).into_iter().flatten() {
            if let Some(found) = state.storage.get(&dependent.0, &dependent.1) {
                writes.push(without_owners(dependent, found, std::slice::from_ref(&uid)));
            }
        }
        writes.push(without_finalizer(item, stored, ORPHAN));
    }

    /// Deletes the dependents that block the owner; without any, lets it go.
    fn wait_for_dependents(&self, state: &State, item: &Item, stored: &Stored, writes: &mut Vec<Write>) {
        let uid = stored.uid();
        let mut blocked = false;
        for dependent in self.dependents.get(uid).into_iter().flatten() {
            let Some(found) = state.storage.get(&dependent.0, &dependent.1) else { continue };
            let blocks = references(&found.value)
                .any(|reference| reference["uid"] == uid && reference["blockOwnerDeletion"] == true);
            // A reference from another namespace is none.
            let reaches =
                split_key(&item.1).0.is_empty() || split_key(&item.1).0 == split_key(&dependent.1).0;
            if !blocks || !reaches {
                continue;
            }
            blocked = true;
            if found.metadata()["deletionTimestamp"].is_null() {
                self.attend(state, dependent, writes);
            }
        }
        if !blocked {
            writes.push(without_finalizer(item, stored, FOREGROUND));
        }
    }
}

impl Controller for GarbageCollector {
    fn manager(&self) -> &'static str {
        "kube-controller-manager"
    }

    fn observe(&mut self, state: &State, event: &Event, now: Timestamp) {
        let item = (event.resource.clone(), event.key.clone());
        if let Some(previous) = &event.previous {
            self.index(&item, &previous.value, false);
        }
        let object = &event.current.value;
        if event.deleted {
            for dependent in self.dependents.get(event.current.uid()).cloned().into_iter().flatten() {
                self.enqueue(dependent, now);
            }
        } else {
            self.index(&item, object, true);
            if references(object).next().is_some() || !object["metadata"]["deletionTimestamp"].is_null() {
                self.enqueue(item.clone(), now);
            }
        }
        // Owners that wait for this object look again, also when it stops referring to them.
        let before = event.previous.iter().flat_map(|previous| references(&previous.value));
        for reference in before.chain(references(object)) {
            if let Owner::Present(found) = owner(state, &item, reference)
                && is_waiting(&found.value)
                && let Some(place) = place_of(state, &item, reference)
            {
                self.enqueue(place, now);
            }
        }
    }

    fn decide(&mut self, state: &State, now: Timestamp) -> Wish {
        let mut wish = Wish::default();
        if state.gc_paused {
            return wish;
        }
        if self.restarts != state.gc_restart.0 {
            self.restarts = state.gc_restart.0;
            self.restart(state, now, state.gc_restart.1);
        }
        while let Some((due, _)) = self.due.first() {
            if *due > now {
                wish.wake_at(*due);
                break;
            }
            if let Some((_, item)) = self.due.pop_first() {
                let before = wish.writes.len();
                self.attend(state, &item, &mut wish.writes);
                if wish.writes.len() > before {
                    // Admission may refuse it, and then nothing else would bring the object back here.
                    self.retry(item, now);
                }
            }
        }
        wish
    }
}

fn references(object: &Value) -> impl Iterator<Item = &Value> {
    object["metadata"]["ownerReferences"].as_array().into_iter().flatten()
}

/// Where the owner of a dependent must be.
fn place_of(state: &State, dependent: &Item, reference: &Value) -> Option<Item> {
    let version = text(&reference["apiVersion"]);
    let group = version.split_once('/').map_or("", |(group, _)| group);
    let resource = state.registry.by_kind(group, reference["kind"].as_str()?)?;
    let namespace = if resource.namespaced { split_key(&dependent.1).0 } else { "" };
    if resource.namespaced && namespace.is_empty() {
        // A cluster-scoped object cannot have an owner in a namespace.
        return None;
    }
    Some((resource.storage.clone(), object_key(namespace, reference["name"].as_str()?)))
}

fn owner(state: &State, dependent: &Item, reference: &Value) -> Owner {
    let Some(place) = place_of(state, dependent, reference) else { return Owner::Unknowable };
    match state.storage.get(&place.0, &place.1) {
        Some(found) if found.uid() == text(&reference["uid"]) => Owner::Present(found.clone()),
        _ => Owner::Absent,
    }
}

/// Whether an owner waits for its dependents.
fn is_waiting(owner: &Value) -> bool {
    !owner["metadata"]["deletionTimestamp"].is_null() && has_finalizer(owner, FOREGROUND)
}

fn has_finalizer(object: &Value, name: &str) -> bool {
    object["metadata"]["finalizers"].as_array().is_some_and(|finalizers| finalizers.iter().any(|f| f == name))
}

fn without_owners(item: &Item, stored: &Stored, uids: &[String]) -> Write {
    let mut object = (*stored.value).clone();
    if let Some(list) = object["metadata"]["ownerReferences"].as_array_mut() {
        list.retain(|reference| !uids.contains(&text(&reference["uid"])));
    }
    Write::Update { item: item.clone(), subresource: "", revision: stored.revision, object }
}

fn without_finalizer(item: &Item, stored: &Stored, name: &str) -> Write {
    let mut object = (*stored.value).clone();
    if let Some(list) = object["metadata"]["finalizers"].as_array_mut() {
        list.retain(|finalizer| *finalizer != json!(name));
    }
    Write::Update { item: item.clone(), subresource: "", revision: stored.revision, object }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
