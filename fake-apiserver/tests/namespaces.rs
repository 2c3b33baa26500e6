//! Namespaces: what is in new ones, and how they go.
#![allow(clippy::unwrap_used, reason = "a test may stop at what it does not expect")]

mod common;

use common::{cluster, config_map, send, with};
use fake_apiserver::FakeApiServer;
use serde_json::{Value, json};

fn condition(namespace: &Value, kind: &str) -> String {
    let conditions = namespace["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let found = conditions.iter().find(|condition| condition["type"] == kind).cloned().unwrap_or_default();
    format!("{} {}", found["status"].as_str().unwrap_or("-"), found["message"].as_str().unwrap_or("-"))
}

fn namespace(cluster: &FakeApiServer, name: &str) -> Option<Value> {
    cluster.get("", "Namespace", "", name).map(|found| (*found).clone())
}

fn with_namespace(name: &str) -> FakeApiServer {
    let cluster = cluster();
    cluster.create(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})).unwrap();
    cluster.settle();
    cluster
}

#[tokio::test]
async fn a_new_namespace_gets_a_service_account_and_the_root_certificate() {
    let cluster = with_namespace("a");
    assert!(cluster.get("", "ServiceAccount", "a", "default").is_some());
    assert!(cluster.get("", "ConfigMap", "a", "kube-root-ca.crt").is_some());
    cluster.remove("", "ServiceAccount", "a", "default").unwrap();
    cluster.settle();
    assert!(cluster.get("", "ServiceAccount", "a", "default").is_some());
}

#[tokio::test]
async fn a_deleted_namespace_takes_its_contents_along() {
    let cluster = with_namespace("a");
    cluster.create(with(config_map("x"), json!({"metadata": {"namespace": "a"}}))).unwrap();
    let answer = send(&cluster, "DELETE", "/api/v1/namespaces/a", None).await;
    assert_eq!(answer.body["status"]["phase"], "Terminating");
    cluster.settle();
    assert_eq!(namespace(&cluster, "a"), None);
    assert!(cluster.snapshot().list("", "ConfigMap", "a").is_empty());
}

#[tokio::test]
async fn a_namespace_waits_for_what_has_finalizers_and_says_so() {
    let cluster = with_namespace("a");
    let held = json!({"metadata": {"namespace": "a", "finalizers": ["example.com/hold"]}});
    cluster.create(with(config_map("held"), held)).unwrap();
    send(&cluster, "DELETE", "/api/v1/namespaces/a", None).await;
    cluster.settle();
    let waiting = namespace(&cluster, "a").unwrap();
    let remaining = "True Some resources are remaining: configmaps. has 1 resource instances";
    assert_eq!(condition(&waiting, "NamespaceContentRemaining"), remaining);
    let finalizers = "True Some content in the namespace has finalizers remaining: example.com/hold in 1 resource instances";
    assert_eq!(condition(&waiting, "NamespaceFinalizersRemaining"), finalizers);
    cluster.edit("", "ConfigMap", "a", "held", |map| map["metadata"]["finalizers"] = json!([])).unwrap();
    cluster.settle();
    assert_eq!(namespace(&cluster, "a"), None);
}

#[tokio::test]
async fn nothing_new_goes_into_a_namespace_that_is_going() {
    let cluster = with_namespace("a");
    cluster
        .edit("", "Namespace", "", "a", |ns| ns["metadata"]["finalizers"] = json!(["example.com/hold"]))
        .unwrap();
    send(&cluster, "DELETE", "/api/v1/namespaces/a", None).await;
    cluster.settle();
    let map = with(config_map("late"), json!({"metadata": {"namespace": "a"}}));
    let answer = send(&cluster, "POST", "/api/v1/namespaces/a/configmaps", Some(map)).await;
    assert_eq!(answer.code, 403);
    assert_eq!(answer.body["details"]["causes"][0]["reason"], "NamespaceTerminating");
}

#[tokio::test]
async fn a_namespace_waits_for_finalizers_of_its_specification() {
    let cluster = cluster();
    let extra = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}, "spec": {"finalizers": ["example.com/x"]}});
    cluster.create(extra).unwrap();
    send(&cluster, "DELETE", "/api/v1/namespaces/a", None).await;
    cluster.settle();
    assert_eq!(namespace(&cluster, "a").unwrap()["spec"]["finalizers"], json!(["example.com/x"]));
    let done = json!({"metadata": {"name": "a"}, "spec": {"finalizers": []}});
    assert_eq!(send(&cluster, "PUT", "/api/v1/namespaces/a/finalize", Some(done)).await.code, 200);
    assert_eq!(namespace(&cluster, "a"), None);
}

#[tokio::test]
async fn the_standard_namespaces_may_not_be_deleted() {
    let answer = send(&cluster(), "DELETE", "/api/v1/namespaces/kube-system", None).await;
    assert_eq!((answer.code, &answer.body["reason"]), (403, &json!("Forbidden")));
}

#[tokio::test]
async fn an_unavailable_aggregated_api_holds_up_a_namespace() {
    let cluster = with_namespace("a");
    let service = json!({
        "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": {"name": "v1.x.example.com"},
        "spec": {"group": "x.example.com", "version": "v1", "service": {"name": "s", "namespace": "default"}},
    });
    cluster.create(service).unwrap();
    cluster.settle();
    send(&cluster, "DELETE", "/api/v1/namespaces/a", None).await;
    cluster.settle();
    let waiting = namespace(&cluster, "a").unwrap();
    assert!(condition(&waiting, "NamespaceDeletionDiscoveryFailure").starts_with("True Discovery failed"));
    cluster.remove("apiregistration.k8s.io", "APIService", "", "v1.x.example.com").unwrap();
    cluster.settle();
    assert_eq!(namespace(&cluster, "a"), None);
}
