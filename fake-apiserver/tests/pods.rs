//! What can be created below a Pod: a binding, an eviction.
#![allow(clippy::unwrap_used, reason = "a test may stop at what it does not expect")]

mod common;

use common::{quiet, send};
use fake_apiserver::FakeApiServer;
use serde_json::{Value, json};

const PODS: &str = "/api/v1/namespaces/default/pods";

fn with_pods(names: &[&str]) -> FakeApiServer {
    let cluster = quiet();
    for name in names {
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": "default", "labels": {"app": "x"}},
            "spec": {"containers": [{"name": "a", "image": "b"}]},
        });
        cluster.create(pod).unwrap();
    }
    cluster
}

fn run(cluster: &FakeApiServer, name: &str, ready: &str) {
    let status = json!({"phase": "Running", "conditions": [{"type": "Ready", "status": ready}]});
    cluster.edit_status("", "Pod", "default", name, |pod| pod["status"] = status.clone()).unwrap();
}

/// A budget of one healthy Pod, with the numbers a controller would report.
fn budget(cluster: &FakeApiServer, healthy: u64, allowed: u64) {
    let object = json!({
        "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "a", "namespace": "default"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "x"}}},
    });
    cluster.create(object).unwrap();
    let status = json!({
        "observedGeneration": 1, "currentHealthy": healthy, "desiredHealthy": 1, "expectedPods": 2,
        "disruptionsAllowed": allowed,
    });
    cluster
        .edit_status("policy", "PodDisruptionBudget", "default", "a", |budget| {
            budget["status"] = status.clone()
        })
        .unwrap();
}

async fn evict(cluster: &FakeApiServer, name: &str, options: Value) -> u16 {
    let body = json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}, "deleteOptions": options});
    send(cluster, "POST", &format!("{PODS}/{name}/eviction"), Some(body)).await.code
}

#[tokio::test]
async fn a_binding_puts_a_pod_on_a_node_once() {
    let cluster = with_pods(&["p"]);
    let bind = json!({"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n"}});
    assert_eq!(send(&cluster, "POST", &format!("{PODS}/p/binding"), Some(bind.clone())).await.code, 201);
    let pod = cluster.get("", "Pod", "default", "p").unwrap();
    assert_eq!((&pod["spec"]["nodeName"], &pod["metadata"]["generation"]), (&json!("n"), &json!(1)));
    assert_eq!(pod["status"]["conditions"][0]["type"], "PodScheduled");
    assert_eq!(send(&cluster, "POST", &format!("{PODS}/p/binding"), Some(bind)).await.code, 409);
}

#[tokio::test]
async fn an_eviction_uses_up_the_budget() {
    let cluster = with_pods(&["a", "b"]);
    ["a", "b"].into_iter().for_each(|name| run(&cluster, name, "True"));
    budget(&cluster, 2, 1);
    assert_eq!(evict(&cluster, "a", json!({"dryRun": ["All"]})).await, 201);
    assert!(cluster.get("", "Pod", "default", "a").is_some(), "a dry run takes nothing");
    assert_eq!(evict(&cluster, "a", json!({})).await, 201);
    assert!(cluster.get("", "Pod", "default", "a").is_none());
    assert_eq!(evict(&cluster, "b", json!({})).await, 429);
}

#[tokio::test]
async fn a_pod_that_does_not_work_may_go_while_enough_others_do() {
    for (healthy, code) in [(1, 201), (0, 429)] {
        let cluster = with_pods(&["sick"]);
        run(&cluster, "sick", "False");
        budget(&cluster, healthy, 0);
        assert_eq!(evict(&cluster, "sick", json!({})).await, code, "{healthy} healthy");
    }
}

#[tokio::test]
async fn a_pod_that_does_not_run_needs_no_budget() {
    let cluster = with_pods(&["waiting"]);
    budget(&cluster, 0, 0);
    assert_eq!(evict(&cluster, "waiting", json!({})).await, 201);
}
