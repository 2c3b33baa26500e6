//! What becomes of objects when their owners go.
#![allow(clippy::unwrap_used, reason = "a test may stop at what it does not expect")]

mod common;

use std::time::Duration;

use common::{cluster, config_map, send, with};
use fake_apiserver::FakeApiServer;
use serde_json::{Value, json};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn owned(name: &str, owner: &Value, blocking: bool) -> Value {
    let reference = json!({
        "apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"], "blockOwnerDeletion": blocking,
    });
    with(config_map(name), json!({"metadata": {"ownerReferences": [reference]}}))
}

fn exists(cluster: &FakeApiServer, name: &str) -> bool {
    cluster.get("", "ConfigMap", "default", name).is_some()
}

fn owners(cluster: &FakeApiServer, name: &str) -> Vec<String> {
    let map = cluster.get("", "ConfigMap", "default", name).unwrap();
    let list = map["metadata"]["ownerReferences"].as_array().cloned().unwrap_or_default();
    list.iter().map(|owner| owner["name"].as_str().unwrap().to_owned()).collect()
}

async fn delete(cluster: &FakeApiServer, name: &str, policy: &str) -> Value {
    send(cluster, "DELETE", &format!("{MAPS}/{name}"), Some(json!({"propagationPolicy": policy}))).await.body
}

#[tokio::test]
async fn deleting_an_owner_collects_its_dependents_in_the_background() {
    let cluster = cluster();
    let owner = cluster.create(config_map("owner")).unwrap();
    let child = cluster.create(owned("child", &owner, false)).unwrap();
    cluster.create(owned("grandchild", &child, false)).unwrap();
    cluster.settle();
    delete(&cluster, "owner", "Background").await;
    assert!(exists(&cluster, "child"), "the collector comes after the answer");
    cluster.settle();
    assert!(!exists(&cluster, "child") && !exists(&cluster, "grandchild"));
}

#[tokio::test(start_paused = true)]
async fn the_collector_runs_by_itself_after_its_delay() {
    let cluster = FakeApiServer::builder().gc_delay(Duration::from_secs(5)).build();
    let owner = cluster.create(config_map("owner")).unwrap();
    cluster.create(owned("child", &owner, false)).unwrap();
    tokio::time::sleep(Duration::from_secs(10)).await;
    cluster.remove("", "ConfigMap", "default", "owner").unwrap();
    tokio::time::sleep(Duration::from_secs(4)).await;
    assert!(exists(&cluster, "child"));
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert!(!exists(&cluster, "child"));
}

#[tokio::test]
async fn a_paused_collector_does_nothing_until_it_is_resumed() {
    let cluster = cluster();
    cluster.pause_gc();
    let owner = cluster.create(config_map("owner")).unwrap();
    cluster.create(owned("child", &owner, false)).unwrap();
    cluster.remove("", "ConfigMap", "default", "owner").unwrap();
    cluster.settle();
    assert!(exists(&cluster, "child"));
    cluster.resume_gc();
    cluster.settle();
    assert!(!exists(&cluster, "child"));
}

#[tokio::test]
async fn a_dependent_of_another_uid_is_collected_at_once() {
    let cluster = cluster();
    let mut owner = (*cluster.create(config_map("owner")).unwrap()).clone();
    owner["metadata"]["uid"] = json!("11111111-2222-3333-4444-555555555555");
    cluster.create(owned("child", &owner, false)).unwrap();
    cluster.settle();
    assert!(exists(&cluster, "owner") && !exists(&cluster, "child"));
}

#[tokio::test]
async fn one_living_owner_is_enough_and_the_dangling_reference_goes() {
    let cluster = cluster();
    let live = cluster.create(config_map("live")).unwrap();
    let mut child = owned("child", &live, false);
    let ghost = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "ghost", "uid": "1-2"});
    child["metadata"]["ownerReferences"].as_array_mut().unwrap().push(ghost);
    cluster.create(child).unwrap();
    cluster.settle();
    assert_eq!(owners(&cluster, "child"), ["live"]);
}

#[tokio::test]
async fn an_owner_in_another_namespace_counts_as_absent() {
    let cluster = cluster();
    let owner = with(config_map("owner"), json!({"metadata": {"namespace": "kube-public"}}));
    let owner = cluster.create(owner).unwrap();
    cluster.create(owned("child", &owner, false)).unwrap();
    cluster.settle();
    assert!(!exists(&cluster, "child"));
    assert!(cluster.get("", "ConfigMap", "kube-public", "owner").is_some());
}

#[tokio::test]
async fn a_cluster_scoped_dependent_of_a_namespaced_owner_stays() {
    let cluster = cluster();
    let owner = cluster.create(config_map("owner")).unwrap();
    let mut role = owned("role", &owner, false);
    role["apiVersion"] = json!("rbac.authorization.k8s.io/v1");
    role["kind"] = json!("ClusterRole");
    cluster.create(role).unwrap();
    cluster.remove("", "ConfigMap", "default", "owner").unwrap();
    cluster.settle();
    assert!(cluster.get("rbac.authorization.k8s.io", "ClusterRole", "", "role").is_some());
}

#[tokio::test]
async fn a_dependent_of_an_unknown_kind_stays() {
    let cluster = cluster();
    let ghost = json!({"apiVersion": "none.example.com/v1", "kind": "Ghost", "metadata": {"name": "x", "uid": "1-2"}});
    cluster.create(owned("child", &ghost, false)).unwrap();
    cluster.settle();
    assert!(exists(&cluster, "child"));
}

#[tokio::test]
async fn foreground_deletion_waits_for_blocking_dependents() {
    let cluster = cluster();
    let owner = cluster.create(config_map("owner")).unwrap();
    let held = json!({"metadata": {"finalizers": ["example.com/hold"]}});
    cluster.create(with(owned("blocking", &owner, true), held)).unwrap();
    cluster.create(owned("other", &owner, false)).unwrap();
    let answer = delete(&cluster, "owner", "Foreground").await;
    assert_eq!(answer["metadata"]["finalizers"], json!(["foregroundDeletion"]));
    cluster.settle();
    let blocking = cluster.get("", "ConfigMap", "default", "blocking").unwrap();
    assert!(blocking["metadata"]["deletionTimestamp"].is_string());
    assert!(exists(&cluster, "owner"));
    cluster
        .edit("", "ConfigMap", "default", "blocking", |map| map["metadata"]["finalizers"] = json!([]))
        .unwrap();
    cluster.settle();
    assert!(!exists(&cluster, "owner") && !exists(&cluster, "blocking") && !exists(&cluster, "other"));
}

#[tokio::test]
async fn orphans_lose_the_reference_and_stay() {
    let cluster = cluster();
    let (owner, other) =
        (cluster.create(config_map("owner")).unwrap(), cluster.create(config_map("other")).unwrap());
    let mut child = owned("child", &owner, true);
    let second = owned("x", &other, false)["metadata"]["ownerReferences"][0].clone();
    child["metadata"]["ownerReferences"].as_array_mut().unwrap().push(second);
    cluster.create(child).unwrap();
    cluster.settle();
    delete(&cluster, "owner", "Orphan").await;
    cluster.settle();
    assert!(!exists(&cluster, "owner"));
    assert_eq!(owners(&cluster, "child"), ["other"]);
}
