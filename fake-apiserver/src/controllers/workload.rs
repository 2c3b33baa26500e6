//! Progress of workloads without pods: after a change of its specification a workload needs simulated time to be
//! ready, as its script says. Only the status is written; there are no ReplicaSets and no Pods.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Controller, Item, Wish, Write, set_condition, split_key};
use crate::clock::rfc3339;
use crate::state::State;
use crate::storage::Event;

const KINDS: [&str; 4] = ["deployments.apps", "statefulsets.apps", "daemonsets.apps", "replicasets.apps"];

/// How long `status.observedGeneration` lags behind a change.
const OBSERVE_LAG: Duration = Duration::from_millis(100);

/// How a workload (or Job) gets ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// Ready (a Job: complete) this long after each change of its specification.
    After(Duration),
    /// Never: a Deployment runs into its progress deadline, a Job runs for ever.
    Never,
    /// Not ready for a period, ready for a period, and so on.
    Flapping(Duration),
    /// A Job fails after this time; a workload is never ready.
    FailsAfter(Duration),
}

/// Which workloads get ready how. The last entry that matches a name counts.
#[derive(Clone, Debug)]
pub(crate) struct Scripts {
    default: Readiness,
    entries: Vec<(String, Readiness)>,
}

impl Scripts {
    pub(crate) fn new(default: Readiness) -> Self {
        Self { default, entries: Vec::new() }
    }

    /// Adds an entry for names that match `glob`; one for the same glob is replaced.
    pub(crate) fn set(&mut self, glob: &str, readiness: Readiness) {
        self.entries.retain(|(known, _)| known != glob);
        self.entries.push((glob.to_owned(), readiness));
    }

    pub(crate) fn of(&self, name: &str) -> Readiness {
        let entry = self.entries.iter().rev().find(|(glob, _)| matches_glob(glob, name));
        entry.map_or(self.default, |(_, readiness)| *readiness)
    }
}

/// Whether `name` matches a pattern in which `*` stands for anything.
fn matches_glob(glob: &str, name: &str) -> bool {
    match glob.split_once('*') {
        None => glob == name,
        Some((head, tail)) => name.strip_prefix(head).is_some_and(|rest| {
            (0..=rest.len()).any(|at| rest.is_char_boundary(at) && matches_glob(tail, &rest[at..]))
        }),
    }
}

/// What is remembered of one workload.
#[derive(Clone, Copy, Debug)]
struct Progress {
    generation: i64,
    /// When this generation was first seen.
    since: Timestamp,
    /// Whether it was available before.
    was_available: bool,
}

/// The workloads in progress, and when to look at which again.
#[derive(Clone, Debug, Default)]
pub(crate) struct Workloads {
    progress: BTreeMap<Item, Progress>,
    due: BTreeSet<(Timestamp, Item)>,
    script_version: u64,
}

impl Controller for Workloads {
    fn manager(&self) -> &'static str {
        "kube-controller-manager"
    }

    fn observe(&mut self, _state: &State, event: &Event, now: Timestamp) {
        if !KINDS.contains(&&*event.resource) {
            return;
        }
        let item = (event.resource.clone(), event.key.clone());
        if event.deleted {
            self.progress.remove(&item);
            return;
        }
        let object = &event.current.value;
        let generation = object["metadata"]["generation"].as_i64().unwrap_or(0);
        let recreated = event.previous.as_ref().is_none_or(|previous| previous.uid() != event.current.uid());
        let known =
            self.progress.get(&item).filter(|progress| progress.generation == generation && !recreated);
        if known.is_none() {
            let was_available = object["status"]["availableReplicas"].as_i64().unwrap_or(0) > 0;
            self.progress.insert(item.clone(), Progress { generation, since: now, was_available });
        }
        self.due.insert((now, item));
    }

    fn decide(&mut self, state: &State, now: Timestamp) -> Wish {
        if self.script_version != state.script_version {
            self.script_version = state.script_version;
            self.due.extend(self.progress.keys().map(|item| (now, item.clone())));
        }
        let mut wish = Wish::default();
        while let Some((due, _)) = self.due.first() {
            if *due > now {
                wish.wake_at(*due);
                break;
            }
            let Some((_, item)) = self.due.pop_first() else { break };
            let (Some(stored), Some(progress)) =
                (state.storage.get(&item.0, &item.1), self.progress.get(&item))
            else {
                continue;
            };
            let readiness = state.scripts.of(split_key(&item.1).1);
            let (status, next) = status(&item.0, &stored.value, *progress, readiness, now);
            if let Some(next) = next {
                self.due.insert((next, item.clone()));
            }
            if status != stored.value["status"] {
                let mut object = (*stored.value).clone();
                object["status"] = status;
                wish.writes.push(Write::Update {
                    item,
                    subresource: "status",
                    revision: stored.revision,
                    object,
                });
            }
        }
        wish
    }
}

/// The status of a workload now, and when it will be another one.
fn status(
    kind: &str,
    object: &Value,
    progress: Progress,
    readiness: Readiness,
    now: Timestamp,
) -> (Value, Option<Timestamp>) {
    let after = |wait: Duration| progress.since.checked_add(wait).unwrap_or(Timestamp::MAX);
    let old = &object["status"];
    if now < after(OBSERVE_LAG) {
        return (old.clone(), Some(after(OBSERVE_LAG)));
    }
    let wanted = if kind == "daemonsets.apps" { 1 } else { object["spec"]["replicas"].as_i64().unwrap_or(1) };
    let deadline = object["spec"]["progressDeadlineSeconds"].as_u64().filter(|_| kind == "deployments.apps");
    let deadline = deadline.map(|seconds| after(Duration::from_secs(seconds)));
    let (ready, mut next) = match readiness {
        _ if wanted == 0 => (true, None),
        Readiness::After(wait) => (now >= after(wait), Some(after(wait))),
        Readiness::Never | Readiness::FailsAfter(_) => (false, deadline),
        Readiness::Flapping(period) => {
            let passed = now.duration_since(progress.since).as_millis();
            let period_ms = i128::try_from(period.as_millis().max(1)).unwrap_or(i128::MAX);
            let index = passed / period_ms;
            let steps = u32::try_from(index + 1).unwrap_or(u32::MAX);
            (index % 2 == 1, Some(after(period.saturating_mul(steps))))
        }
    };
    next = next.filter(|next| *next > now);
    let late = !ready && deadline.is_some_and(|deadline| now >= deadline);
    if !ready && !late {
        next = [next, deadline].into_iter().flatten().min();
    }
    let counts = Counts {
        wanted,
        updated: if ready || !progress.was_available { wanted } else { 0 },
        ready: match (ready, readiness, progress.was_available) {
            (true, ..) => wanted,
            (false, Readiness::Flapping(_), _) => 0,
            // A rolling update keeps the old replicas until the new ones are ready.
            (false, _, true) => wanted,
            (false, _, false) => 0,
        },
    };
    let status = match kind {
        "deployments.apps" => deployment_status(object, &counts, ready, late, now),
        "statefulsets.apps" => stateful_set_status(object, &counts),
        "daemonsets.apps" => daemon_set_status(object, &counts),
        _ => replica_set_status(object, &counts),
    };
    (status, next)
}

struct Counts {
    wanted: i64,
    updated: i64,
    ready: i64,
}

/// Members that are zero are left out, as in typed objects.
fn with_counts(status: &mut Value, members: &[(&str, i64)]) {
    let Some(status) = status.as_object_mut() else { return };
    for (name, count) in members {
        match count {
            0 => drop(status.remove(*name)),
            count => drop(status.insert((*name).to_owned(), json!(count))),
        }
    }
}

fn start_from(object: &Value) -> Value {
    let mut status = match &object["status"] {
        Value::Object(members) => Value::Object(members.clone()),
        _ => json!({}),
    };
    status["observedGeneration"] = object["metadata"]["generation"].clone();
    status
}

fn deployment_status(object: &Value, counts: &Counts, ready: bool, late: bool, now: Timestamp) -> Value {
    let mut status = start_from(object);
    with_counts(
        &mut status,
        &[
            ("replicas", counts.wanted),
            ("updatedReplicas", counts.updated),
            ("readyReplicas", counts.ready),
            ("availableReplicas", counts.ready),
            ("unavailableReplicas", counts.wanted - counts.ready),
        ],
    );
    let time = rfc3339(now);
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    let revision = object["metadata"]["generation"].as_i64().unwrap_or(1);
    let replica_set = format!("{name}-{revision}");
    let before = status["conditions"].clone();
    let (available, reason, message) = if counts.ready >= counts.wanted {
        (true, "MinimumReplicasAvailable", "Deployment has minimum availability.")
    } else {
        (false, "MinimumReplicasUnavailable", "Deployment does not have minimum availability.")
    };
    set_condition(&mut status, "Available", available, reason, message, &time);
    let (progressing, reason, message) = if ready {
        (true, "NewReplicaSetAvailable", format!("ReplicaSet \"{replica_set}\" has successfully progressed."))
    } else if late {
        (
            false,
            "ProgressDeadlineExceeded",
            format!("ReplicaSet \"{replica_set}\" has timed out progressing."),
        )
    } else {
        (true, "ReplicaSetUpdated", format!("ReplicaSet \"{replica_set}\" is progressing."))
    };
    set_condition(&mut status, "Progressing", progressing, reason, &message, &time);
    stamp_updates(&mut status, &before, &time);
    status
}

/// Deployment conditions also tell when they were last updated.
fn stamp_updates(status: &mut Value, before: &Value, now: &str) {
    let conditions = status["conditions"].as_array_mut().into_iter().flatten();
    for condition in conditions.filter(|condition| condition.is_object()) {
        let old = before.as_array().into_iter().flatten().find(|old| old["type"] == condition["type"]);
        let same = old.is_some_and(|old| {
            ["status", "reason", "message"].iter().all(|field| old[*field] == condition[*field])
        });
        condition["lastUpdateTime"] = match old {
            Some(old) if same => old["lastUpdateTime"].clone(),
            _ => json!(now),
        };
    }
}

fn stateful_set_status(object: &Value, counts: &Counts) -> Value {
    let mut status = start_from(object);
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    let generation = &object["metadata"]["generation"];
    with_counts(
        &mut status,
        &[
            ("currentReplicas", counts.wanted),
            ("updatedReplicas", counts.updated),
            ("readyReplicas", counts.ready),
        ],
    );
    status["replicas"] = json!(counts.wanted);
    status["availableReplicas"] = json!(counts.ready);
    status["updateRevision"] = json!(format!("{name}-{generation}"));
    if counts.updated == counts.wanted {
        status["currentRevision"] = status["updateRevision"].clone();
    }
    status["collisionCount"] = json!(0);
    status
}

fn daemon_set_status(object: &Value, counts: &Counts) -> Value {
    let mut status = start_from(object);
    with_counts(
        &mut status,
        &[
            ("updatedNumberScheduled", counts.updated),
            ("numberAvailable", counts.ready),
            ("numberUnavailable", counts.wanted - counts.ready),
        ],
    );
    status["currentNumberScheduled"] = json!(counts.wanted);
    status["desiredNumberScheduled"] = json!(counts.wanted);
    status["numberMisscheduled"] = json!(0);
    status["numberReady"] = json!(counts.ready);
    status
}

fn replica_set_status(object: &Value, counts: &Counts) -> Value {
    let mut status = start_from(object);
    with_counts(
        &mut status,
        &[
            ("fullyLabeledReplicas", counts.wanted),
            ("readyReplicas", counts.ready),
            ("availableReplicas", counts.ready),
        ],
    );
    status["replicas"] = json!(counts.wanted);
    status
}

#[cfg(test)]
mod glob_tests {
    use super::*;

    #[test]
    fn a_glob_star_stands_for_anything() {
        assert!(matches_glob("*", "x"));
        assert!(matches_glob("web*k", "webhook"));
        assert!(!matches_glob("web", "webhook"));
        assert!(!matches_glob("*x", "webhook"));
    }
}
