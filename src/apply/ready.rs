//! Whether a workload has rolled out.
//!
//! Pure. Available alone is not enough: a rollout counts when the controller has seen this generation and every
//! replica is of it (the rules of `kubectl rollout status`).

use serde_json::Value;

use crate::manifest::Object;

/// Verdict on one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// Rolled out, or nothing to roll out.
    Ready,
    /// Not yet; why.
    Waiting(String),
    /// It will not get there without a change; why.
    Failed(String),
}

/// Whether objects of this kind have anything to roll out.
pub fn is_workload(group: &str, kind: &str) -> bool {
    matches!((group, kind), ("apps", "Deployment" | "StatefulSet" | "DaemonSet") | ("batch", "Job"))
}

/// The verdict on a live object.
pub fn readiness(live: &Object) -> Readiness {
    let value = live.value();
    match (live.group(), live.kind()) {
        ("apps", "Deployment") => deployment(value),
        ("apps", "StatefulSet") => stateful_set(value),
        ("apps", "DaemonSet") => daemon_set(value),
        _ => Readiness::Ready,
    }
}

/// Whether a Job has run to its end: `Some(true)` completed, `Some(false)` failed, `None` neither yet.
pub fn job_finished(live: &Object) -> Option<bool> {
    if condition(live.value(), "Complete") == Some("True") {
        return Some(true);
    }
    (condition(live.value(), "Failed") == Some("True")).then_some(false)
}

fn deployment(value: &Value) -> Readiness {
    if let Some(waiting) = unseen_generation(value) {
        return waiting;
    }
    if condition_reason(value, "Progressing") == Some("ProgressDeadlineExceeded") {
        return Readiness::Failed("progress deadline exceeded".into());
    }
    let wanted = count(&value["spec"]["replicas"]).unwrap_or(1);
    let status = &value["status"];
    let [replicas, updated, available] =
        ["replicas", "updatedReplicas", "availableReplicas"].map(|field| count(&status[field]).unwrap_or(0));
    if updated < wanted {
        return Readiness::Waiting(format!("{updated} of {wanted} replicas updated"));
    }
    if replicas > updated {
        return Readiness::Waiting(format!("{} old replicas remain", replicas - updated));
    }
    if available < updated {
        return Readiness::Waiting(format!("{available} of {updated} updated replicas available"));
    }
    // Scaled to zero needs no condition; otherwise the controller's own verdict counts.
    match condition(value, "Available") {
        Some("True") => Readiness::Ready,
        _ if wanted == 0 => Readiness::Ready,
        _ => Readiness::Waiting("not available".into()),
    }
}

fn stateful_set(value: &Value) -> Readiness {
    if let Some(waiting) = unseen_generation(value) {
        return waiting;
    }
    let wanted = count(&value["spec"]["replicas"]).unwrap_or(1);
    let status = &value["status"];
    let ready = count(&status["readyReplicas"]).unwrap_or(0);
    let updated = count(&status["updatedReplicas"]).unwrap_or(0);
    if ready < wanted {
        return Readiness::Waiting(format!("{ready} of {wanted} replicas ready"));
    }
    if updated < wanted && status["currentRevision"] != status["updateRevision"] {
        return Readiness::Waiting(format!("{updated} of {wanted} replicas updated"));
    }
    Readiness::Ready
}

fn daemon_set(value: &Value) -> Readiness {
    if let Some(waiting) = unseen_generation(value) {
        return waiting;
    }
    let status = &value["status"];
    let [wanted, updated, available] =
        ["desiredNumberScheduled", "updatedNumberScheduled", "numberAvailable"]
            .map(|field| count(&status[field]).unwrap_or(0));
    if updated < wanted || available < wanted {
        return Readiness::Waiting(format!("{updated} updated, {available} available of {wanted} pods"));
    }
    Readiness::Ready
}

fn unseen_generation(value: &Value) -> Option<Readiness> {
    let generation = value["metadata"]["generation"].as_i64().unwrap_or(0);
    let observed = value["status"]["observedGeneration"].as_i64().unwrap_or(0);
    (observed < generation).then(|| Readiness::Waiting("not yet seen by its controller".into()))
}

fn count(value: &Value) -> Option<i64> {
    value.as_i64()
}

fn find_condition<'a>(value: &'a Value, kind: &str) -> Option<&'a Value> {
    value["status"]["conditions"].as_array()?.iter().find(|c| c["type"] == kind)
}

fn condition<'a>(value: &'a Value, kind: &str) -> Option<&'a str> {
    find_condition(value, kind)?["status"].as_str()
}

fn condition_reason<'a>(value: &'a Value, kind: &str) -> Option<&'a str> {
    find_condition(value, kind)?["reason"].as_str()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(kind: &str, spec: Value, status: Value, expected: Readiness) {
        let object = json!({
            "apiVersion": "apps/v1", "kind": kind,
            "metadata": {"name": "x", "generation": 2}, "spec": spec, "status": status,
        });
        assert_eq!(readiness(&Object::try_from(object).unwrap()), expected);
    }

    fn waiting(why: &str) -> Readiness {
        Readiness::Waiting(why.into())
    }

    #[test]
    fn an_available_deployment_of_an_older_generation_is_not_ready() {
        let available = json!([{"type": "Available", "status": "True"}]);
        let status = |observed: i64, updated: i64, replicas: i64| {
            json!({"observedGeneration": observed, "replicas": replicas, "updatedReplicas": updated,
                   "availableReplicas": replicas, "conditions": available})
        };
        check(
            "Deployment",
            json!({"replicas": 2}),
            status(1, 2, 2),
            waiting("not yet seen by its controller"),
        );
        check("Deployment", json!({"replicas": 2}), status(2, 1, 3), waiting("1 of 2 replicas updated"));
        check("Deployment", json!({"replicas": 2}), status(2, 2, 3), waiting("1 old replicas remain"));
        check("Deployment", json!({"replicas": 2}), status(2, 2, 2), Readiness::Ready);
    }

    #[test]
    fn a_deployment_past_its_progress_deadline_has_failed() {
        let conditions =
            json!([{"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"}]);
        let status = json!({"observedGeneration": 2, "conditions": conditions});
        check("Deployment", json!({}), status, Readiness::Failed("progress deadline exceeded".into()));
    }

    #[test]
    fn a_deployment_scaled_to_zero_is_ready_without_a_condition() {
        check("Deployment", json!({"replicas": 0}), json!({"observedGeneration": 2}), Readiness::Ready);
    }

    #[test]
    fn stateful_sets_and_daemon_sets_wait_for_their_replicas() {
        let status = json!({"observedGeneration": 2, "readyReplicas": 1});
        check("StatefulSet", json!({"replicas": 2}), status, waiting("1 of 2 replicas ready"));
        let status = json!({"observedGeneration": 2, "desiredNumberScheduled": 2, "updatedNumberScheduled": 2,
                            "numberAvailable": 1});
        check("DaemonSet", json!({}), status, waiting("2 updated, 1 available of 2 pods"));
    }
}
