//! Workloads and Jobs need simulated time, as their scripts say.
#![allow(clippy::unwrap_used, reason = "a test may stop at what it does not expect")]

mod common;

use std::time::Duration;

use common::cluster;
use fake_apiserver::{FakeApiServer, Readiness};
use serde_json::{Value, json};

fn template(restart: &str) -> Value {
    json!({"metadata": {"labels": {"app": "web"}}, "spec": {"restartPolicy": restart, "containers": [{"name": "a", "image": "b"}]}})
}

fn deployment(name: &str) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": "default"},
        "spec": {"replicas": 2, "progressDeadlineSeconds": 30, "selector": {"matchLabels": {"app": "web"}}, "template": template("Always")},
    })
}

fn job(name: &str, ttl: Option<u64>) -> Value {
    json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "namespace": "default"},
        "spec": {"template": template("Never"), "ttlSecondsAfterFinished": ttl},
    })
}

fn state(cluster: &FakeApiServer, group: &str, kind: &str, name: &str, condition: &str) -> String {
    let object = cluster.get(group, kind, "default", name).unwrap();
    let conditions = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let found = conditions.iter().find(|found| found["type"] == condition).cloned().unwrap_or_default();
    format!("{} {}", found["status"].as_str().unwrap_or("-"), found["reason"].as_str().unwrap_or("-"))
}

async fn pass(seconds: u64) {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
}

#[tokio::test(start_paused = true)]
async fn a_deployment_is_available_after_its_time() {
    let cluster = cluster();
    cluster.workloads().script("web", Readiness::After(Duration::from_secs(5)));
    cluster.create(deployment("web")).unwrap();
    let observed = || {
        cluster.get("apps", "Deployment", "default", "web").unwrap()["status"]["observedGeneration"].clone()
    };
    tokio::task::yield_now().await;
    assert_eq!(observed(), Value::Null, "the status lags behind");
    pass(1).await;
    assert_eq!(observed(), 1);
    assert_eq!(state(&cluster, "apps", "Deployment", "web", "Available"), "False MinimumReplicasUnavailable");
    pass(5).await;
    assert_eq!(state(&cluster, "apps", "Deployment", "web", "Available"), "True MinimumReplicasAvailable");
    assert_eq!(state(&cluster, "apps", "Deployment", "web", "Progressing"), "True NewReplicaSetAvailable");
    let status = cluster.get("apps", "Deployment", "default", "web").unwrap()["status"].clone();
    for count in ["replicas", "updatedReplicas", "readyReplicas", "availableReplicas"] {
        assert_eq!(status[count], 2, "{count}");
    }
    assert!(status.get("unavailableReplicas").is_none());
}

#[tokio::test(start_paused = true)]
async fn a_rollout_keeps_a_deployment_available() {
    let cluster = cluster();
    cluster.create(deployment("web")).unwrap();
    pass(5).await;
    cluster
        .edit("apps", "Deployment", "default", "web", |web| {
            web["spec"]["template"]["spec"]["hostNetwork"] = json!(true)
        })
        .unwrap();
    pass(1).await;
    let web = cluster.get("apps", "Deployment", "default", "web").unwrap();
    assert_eq!(
        (&web["status"]["observedGeneration"], web["status"].get("updatedReplicas")),
        (&json!(2), None)
    );
    assert_eq!(state(&cluster, "apps", "Deployment", "web", "Available"), "True MinimumReplicasAvailable");
    pass(2).await;
    assert_eq!(cluster.get("apps", "Deployment", "default", "web").unwrap()["status"]["updatedReplicas"], 2);
}

#[tokio::test(start_paused = true)]
async fn a_stalled_deployment_exceeds_its_deadline() {
    let cluster = cluster();
    cluster.workloads().script("*", Readiness::Never);
    cluster.create(deployment("web")).unwrap();
    pass(29).await;
    assert_eq!(state(&cluster, "apps", "Deployment", "web", "Progressing"), "True ReplicaSetUpdated");
    pass(2).await;
    assert_eq!(state(&cluster, "apps", "Deployment", "web", "Progressing"), "False ProgressDeadlineExceeded");
    cluster.workloads().script("*", Readiness::After(Duration::ZERO));
    pass(1).await;
    assert_eq!(state(&cluster, "apps", "Deployment", "web", "Available"), "True MinimumReplicasAvailable");
}

#[tokio::test(start_paused = true)]
async fn a_flapping_deployment_comes_and_goes() {
    let cluster = cluster();
    cluster.workloads().script("web", Readiness::Flapping(Duration::from_secs(10)));
    cluster.create(deployment("web")).unwrap();
    let mut seen = Vec::new();
    pass(5).await;
    for _ in 0..4 {
        seen.push(state(&cluster, "apps", "Deployment", "web", "Available").starts_with("True"));
        pass(10).await;
    }
    assert_eq!(seen, [false, true, false, true]);
}

#[tokio::test(start_paused = true)]
async fn a_job_completes_and_goes_when_its_time_to_live_is_over() {
    let cluster = cluster();
    cluster.create(job("one", Some(20))).unwrap();
    pass(1).await;
    assert_eq!(cluster.get("batch", "Job", "default", "one").unwrap()["status"]["active"], 1);
    pass(2).await;
    assert_eq!(state(&cluster, "batch", "Job", "one", "Complete"), "True CompletionsReached");
    pass(21).await;
    assert!(cluster.get("batch", "Job", "default", "one").is_none());
}

#[tokio::test(start_paused = true)]
async fn a_job_fails_when_its_script_says_so() {
    let cluster = cluster();
    cluster.workloads().script("bad-*", Readiness::FailsAfter(Duration::from_secs(1)));
    cluster.create(job("bad-one", None)).unwrap();
    pass(3).await;
    assert_eq!(state(&cluster, "batch", "Job", "bad-one", "Failed"), "True BackoffLimitExceeded");
}

#[tokio::test(start_paused = true)]
async fn idle_clusters_write_nothing() {
    let cluster = cluster();
    cluster.create(deployment("web")).unwrap();
    pass(60).await;
    let revision = cluster.revision();
    pass(100_000).await;
    assert_eq!(cluster.revision(), revision);
}
