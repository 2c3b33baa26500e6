//! The controllers of a cluster, as ordinary clients of storage.
//!
//! Each looks at the events since its last turn, never at everything, and answers with the writes it wants and the
//! time at which it wants to look again. [`ControllerSet::settle`] lets all of them take turns until nobody wants
//! anything; one task per cluster calls it whenever storage changed or a time has come.

pub(crate) mod aggregation;
pub(crate) mod apiservice;
pub(crate) mod crd;
pub(crate) mod gc;
pub(crate) mod job;
pub(crate) mod namespace;
pub(crate) mod serviceaccount;
pub(crate) mod token;
pub(crate) mod workload;

#[cfg(test)]
mod tests;

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::options::{DeleteOptions, Propagation};
use crate::registry::Served;
use crate::state::{Call, State};
use crate::storage::{Event, ObjectKey, ResourceId};
use crate::verb::update::{Origin, update};
use crate::verb::{create, delete, get};

/// Rounds of turns in one go, lest two controllers that disagree hold up the cluster for ever.
const MAX_ROUNDS: usize = 1_000;

/// Which controllers run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Controllers {
    /// Garbage collector.
    pub garbage_collector: bool,
    /// Empties and removes namespaces that are deleted.
    pub namespaces: bool,
    /// Tries again to delete the objects of a CustomResourceDefinition that is being deleted, if that was refused.
    pub definitions: bool,
    /// Progress of Deployments, StatefulSets, DaemonSets and ReplicaSets.
    pub workloads: bool,
    /// Progress of Jobs, and their removal when their time to live is over.
    pub jobs: bool,
    /// ClusterRoles made of other ClusterRoles.
    pub aggregation: bool,
    /// ServiceAccount `default` and ConfigMap `kube-root-ca.crt` in every namespace, tokens in token Secrets.
    pub service_accounts: bool,
    /// Availability of aggregated APIs.
    pub api_services: bool,
}

impl Controllers {
    /// Every controller.
    pub fn all() -> Self {
        Self {
            garbage_collector: true,
            namespaces: true,
            definitions: true,
            workloads: true,
            jobs: true,
            aggregation: true,
            service_accounts: true,
            api_services: true,
        }
    }

    /// No controller: nothing happens but what is asked for.
    pub fn none() -> Self {
        Self {
            garbage_collector: false,
            namespaces: false,
            definitions: false,
            workloads: false,
            jobs: false,
            aggregation: false,
            service_accounts: false,
            api_services: false,
        }
    }
}

/// How long after a deletion that admission may have refused the next attempt comes.
const RETRY: SignedDuration = SignedDuration::from_secs(5);

/// One object.
pub(crate) type Item = (ResourceId, ObjectKey);

/// A write that a controller wants.
#[derive(Debug)]
pub(crate) enum Write {
    /// Creates an object in `namespace`.
    Create { resource: &'static str, namespace: String, object: Value },
    /// Replaces an object, or a subresource of it, as it was at `revision`.
    Update { item: Item, subresource: &'static str, revision: u64, object: Value },
    /// Deletes an object that still has this UID.
    Delete { item: Item, uid: String, propagation: Option<Propagation> },
}

/// What a controller wants after its turn.
#[derive(Debug, Default)]
pub(crate) struct Wish {
    pub(crate) writes: Vec<Write>,
    /// When to look again even if nothing changes.
    pub(crate) wake: Option<Timestamp>,
}

impl Wish {
    pub(crate) fn wake_at(&mut self, time: Timestamp) {
        self.wake = Some(self.wake.map_or(time, |earlier| earlier.min(time)));
    }
}

/// Makes a control loop once more, with what it remembers.
pub(crate) trait Duplicate {
    fn duplicate(&self) -> Box<dyn Controller>;
}

impl<C: Controller + Clone + 'static> Duplicate for C {
    fn duplicate(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}

/// A control loop.
pub(crate) trait Controller: Duplicate + Send + Sync {
    /// As it appears in managedFields.
    fn manager(&self) -> &'static str;

    /// Takes note of a write.
    fn observe(&mut self, state: &State, event: &Event, now: Timestamp);

    /// Decides what to do now.
    fn decide(&mut self, state: &State, now: Timestamp) -> Wish;
}

/// The controllers of one cluster, with what they remember.
pub(crate) struct ControllerSet {
    controllers: Vec<Box<dyn Controller>>,
}

impl ControllerSet {
    pub(crate) fn new(enabled: Controllers, gc_delay: Duration) -> Self {
        let mut controllers: Vec<Box<dyn Controller>> = Vec::new();
        // New namespaces are furnished before anything else happens in them.
        if enabled.service_accounts {
            controllers.push(Box::<serviceaccount::Furnisher>::default());
            controllers.push(Box::<token::TokenSecrets>::default());
        }
        if enabled.aggregation {
            controllers.push(Box::<aggregation::Aggregator>::default());
        }
        if enabled.api_services {
            controllers.push(Box::<apiservice::Availability>::default());
        }
        if enabled.workloads {
            controllers.push(Box::<workload::Workloads>::default());
        }
        if enabled.jobs {
            controllers.push(Box::<job::Jobs>::default());
        }
        if enabled.garbage_collector {
            controllers.push(Box::new(gc::GarbageCollector::new(gc_delay)));
        }
        if enabled.namespaces {
            controllers.push(Box::<namespace::Drain>::default());
        }
        if enabled.definitions {
            controllers.push(Box::<crd::Drain>::default());
        }
        Self { controllers }
    }

    /// The same once more.
    pub(crate) fn duplicate(&self) -> Self {
        Self { controllers: self.controllers.iter().map(|controller| (**controller).duplicate()).collect() }
    }

    /// Whether there is anybody to run.
    pub(crate) fn is_empty(&self) -> bool {
        self.controllers.is_empty()
    }

    /// Lets everybody take turns until nobody wants to write; the answer is when to come back.
    pub(crate) fn settle(&mut self, state: &mut State, now: Timestamp) -> Option<Timestamp> {
        let mut wake = None;
        for _ in 0..MAX_ROUNDS {
            let events = state.storage.take_feed();
            wake = None;
            let mut wrote = false;
            for controller in &mut self.controllers {
                events.iter().for_each(|event| controller.observe(state, event, now));
                let wish = controller.decide(state, now);
                wake = [wake, wish.wake].into_iter().flatten().min();
                let manager = controller.manager();
                for write in wish.writes {
                    wrote |= carry_out(state, now, manager, write);
                }
            }
            if !wrote && !state.storage.has_feed() {
                break;
            }
        }
        wake
    }
}

/// Does a write; one that is refused is dropped: whatever refused it will change, and the controller look again.
fn carry_out(state: &mut State, now: Timestamp, manager: &str, write: Write) -> bool {
    let call_for = |state: &State, resource: &str, namespace: &str, name: &str| {
        let resource = state.registry.by_id(resource)?.clone();
        let served = Served { version: resource.stored, resource };
        Some(Call::internal(served, namespace, name, now, manager))
    };
    match write {
        Write::Create { resource, namespace, object } => {
            let Some(mut call) = call_for(state, resource, &namespace, "") else { return false };
            create::create(state, &mut call, object, false).is_ok()
        }
        Write::Update { item: (resource, key), subresource, revision, mut object } => {
            let (namespace, name) = split_key(&key);
            let Some(mut call) = call_for(state, &resource, namespace, name) else { return false };
            let Ok(live) = get::find(state, &call).cloned() else { return false };
            call.subresource = subresource.to_owned();
            object["metadata"]["resourceVersion"] = json!(revision.to_string());
            update(state, &mut call, &live, object, Origin::Put)
                .is_ok_and(|stored| stored.revision != revision)
        }
        Write::Delete { item: (resource, key), uid, propagation } => {
            let (namespace, name) = split_key(&key);
            let Some(mut call) = call_for(state, &resource, namespace, name) else { return false };
            let options = DeleteOptions { uid: Some(uid), propagation, ..DeleteOptions::default() };
            delete::delete(state, &mut call, &options).is_ok()
        }
    }
}

/// Namespace (empty for cluster-scoped objects) and name.
pub(crate) fn split_key(key: &str) -> (&str, &str) {
    key.split_once('/').unwrap_or(("", key))
}

/// Sets a condition of a status, keeping the time of the last transition unless the status changes.
pub(crate) fn set_condition(
    status: &mut Value,
    kind: &str,
    holds: bool,
    reason: &str,
    message: &str,
    now: &str,
) {
    let value = if holds { "True" } else { "False" };
    if !status["conditions"].is_array() {
        status["conditions"] = json!([]);
    }
    let Some(conditions) = status["conditions"].as_array_mut() else { return };
    let found = conditions.iter().position(|condition| condition["type"] == kind);
    let since = found.map(|index| &conditions[index]).filter(|condition| condition["status"] == value);
    let since = since.map_or(json!(now), |condition| condition["lastTransitionTime"].clone());
    let condition = json!({
        "type": kind, "status": value, "reason": reason, "message": message, "lastTransitionTime": since,
    });
    match found {
        Some(index) => conditions[index] = condition,
        None => conditions.push(condition),
    }
}
