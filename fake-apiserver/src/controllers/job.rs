//! Progress of Jobs without pods: running, complete or failed as their script says, and gone when their time to
//! live after that is over.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::workload::Readiness;
use super::{Controller, Item, Wish, Write, set_condition, split_key};
use crate::clock::rfc3339;
use crate::options::Propagation;
use crate::state::State;
use crate::storage::{Event, Stored};

const JOBS: &str = "jobs.batch";

/// When to look at which Job.
#[derive(Clone, Debug, Default)]
pub(crate) struct Jobs {
    due: BTreeSet<(Timestamp, Item)>,
    known: BTreeSet<Item>,
    script_version: u64,
}

impl Controller for Jobs {
    fn manager(&self) -> &'static str {
        "kube-controller-manager"
    }

    fn observe(&mut self, _state: &State, event: &Event, now: Timestamp) {
        if &*event.resource != JOBS {
            return;
        }
        let item = (event.resource.clone(), event.key.clone());
        if event.deleted {
            self.known.remove(&item);
        } else {
            self.known.insert(item.clone());
            self.due.insert((now, item));
        }
    }

    fn decide(&mut self, state: &State, now: Timestamp) -> Wish {
        if self.script_version != state.script_version {
            self.script_version = state.script_version;
            self.due.extend(self.known.iter().map(|item| (now, item.clone())));
        }
        let mut wish = Wish::default();
        while let Some((due, _)) = self.due.first() {
            if *due > now {
                wish.wake_at(*due);
                break;
            }
            let Some((_, item)) = self.due.pop_first() else { break };
            let Some(stored) = state.storage.get(&item.0, &item.1) else { continue };
            if !stored.metadata()["deletionTimestamp"].is_null() {
                continue;
            }
            let readiness = state.scripts.of(split_key(&item.1).1);
            if let Some(next) = attend(&item, stored, readiness, now, &mut wish.writes) {
                self.due.insert((next, item));
            }
        }
        wish
    }
}

/// Decides about one Job; the answer is when to look again.
fn attend(
    item: &Item,
    stored: &Stored,
    readiness: Readiness,
    now: Timestamp,
    writes: &mut Vec<Write>,
) -> Option<Timestamp> {
    let job = &*stored.value;
    if let Some(finished) = finished_at(job) {
        let ttl = job["spec"]["ttlSecondsAfterFinished"].as_u64()?;
        let end = finished.checked_add(Duration::from_secs(ttl)).unwrap_or(Timestamp::MAX);
        if now < end {
            return Some(end);
        }
        let uid = stored.uid().to_owned();
        writes.push(Write::Delete { item: item.clone(), uid, propagation: Some(Propagation::Foreground) });
        return None;
    }
    if job["spec"]["suspend"] == true {
        return None;
    }
    let mut status = job["status"].clone();
    let mut next = None;
    match time(&status["startTime"]) {
        None => {
            status["startTime"] = json!(rfc3339(now));
            status["active"] = job["spec"]["parallelism"].clone();
            status["ready"] = json!(0);
            status["terminating"] = json!(0);
            status["uncountedTerminatedPods"] = json!({});
        }
        Some(start) => {
            let end = |wait: Duration| start.checked_add(wait).unwrap_or(Timestamp::MAX);
            match readiness {
                Readiness::Never => {}
                Readiness::After(wait) | Readiness::Flapping(wait) if now >= end(wait) => {
                    complete(job, &mut status, now);
                }
                Readiness::FailsAfter(wait) if now >= end(wait) => fail(&mut status, now),
                Readiness::After(wait) | Readiness::Flapping(wait) | Readiness::FailsAfter(wait) => {
                    next = Some(end(wait));
                }
            }
        }
    }
    if status != job["status"] {
        let mut object = job.clone();
        object["status"] = status;
        let item = item.clone();
        writes.push(Write::Update { item, subresource: "status", revision: stored.revision, object });
    }
    next
}

fn complete(job: &Value, status: &mut Value, now: Timestamp) {
    let time = rfc3339(now);
    settle(status);
    status["succeeded"] = json!(job["spec"]["completions"].as_i64().unwrap_or(1));
    status["completionTime"] = json!(time);
    let message = "Reached expected number of succeeded pods";
    for condition in ["SuccessCriteriaMet", "Complete"] {
        set_condition(status, condition, true, "CompletionsReached", message, &time);
    }
    stamp_probes(status, &time);
}

fn fail(status: &mut Value, now: Timestamp) {
    let time = rfc3339(now);
    settle(status);
    status["failed"] = json!(1);
    let message = "Job has reached the specified backoff limit";
    for condition in ["FailureTarget", "Failed"] {
        set_condition(status, condition, true, "BackoffLimitExceeded", message, &time);
    }
    stamp_probes(status, &time);
}

/// Nothing runs any more.
fn settle(status: &mut Value) {
    if let Some(members) = status.as_object_mut() {
        members.remove("active");
    }
}

fn stamp_probes(status: &mut Value, now: &str) {
    let conditions = status["conditions"].as_array_mut().into_iter().flatten();
    for condition in conditions.filter(|condition| condition.is_object()) {
        condition["lastProbeTime"] = json!(now);
    }
}

/// When a Job completed or failed.
fn finished_at(job: &Value) -> Option<Timestamp> {
    let conditions = job["status"]["conditions"].as_array()?;
    let finished = conditions.iter().find(|condition| {
        (condition["type"] == "Complete" || condition["type"] == "Failed") && condition["status"] == "True"
    })?;
    time(&finished["lastTransitionTime"])
}

fn time(value: &Value) -> Option<Timestamp> {
    value.as_str()?.parse().ok()
}
