//! Webhooks that fail closed while nobody is behind them.
#![allow(clippy::unwrap_used, reason = "a test may stop at what it does not expect")]

mod common;

use std::time::Duration;

use common::{cluster, config_map, send, with};
use fake_apiserver::FakeApiServer;
use serde_json::{Value, json};

fn webhook(kind: &str, policy: &str, extra: Value) -> Value {
    let hook = json!({
        "name": "check.example.com", "failurePolicy": policy, "timeoutSeconds": 2, "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "clientConfig": {"service": {"name": "hook", "namespace": "kube-system", "path": "/check"}},
        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}],
    });
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": "check"},
        "webhooks": [with(hook, extra)],
    })
}

fn service() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "hook", "namespace": "kube-system"},
        "spec": {"selector": {"app": "hook"}, "ports": [{"port": 443}]},
    })
}

fn deployment() -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "hook", "namespace": "kube-system"},
        "spec": {
            "selector": {"matchLabels": {"app": "hook"}},
            "template": {"metadata": {"labels": {"app": "hook"}}, "spec": {"containers": [{"name": "a", "image": "b"}]}},
        },
    })
}

fn refusal(cluster: &FakeApiServer) -> Option<String> {
    cluster.create(config_map("a")).err().map(|status| status.message)
}

#[tokio::test]
async fn a_missing_service_refuses_the_write_with_the_servers_words() {
    let cluster = cluster();
    cluster.create(webhook("ValidatingWebhookConfiguration", "Fail", json!({}))).unwrap();
    let answer = send(&cluster, "POST", "/api/v1/namespaces/default/configmaps", Some(config_map("a"))).await;
    assert_eq!((answer.code, &answer.body["reason"]), (500, &json!("InternalError")));
    let expected = "Internal error occurred: failed calling webhook \"check.example.com\": failed to call webhook: Post \
                    \"https://hook.kube-system.svc:443/check?timeout=2s\": service \"hook\" not found";
    assert_eq!(answer.body["message"], expected);
}

#[tokio::test(start_paused = true)]
async fn writes_pass_once_the_deployment_behind_the_webhook_is_available() {
    for kind in ["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"] {
        let cluster = cluster();
        cluster.create(webhook(kind, "Fail", json!({}))).unwrap();
        cluster.create(service()).unwrap();
        cluster.create(deployment()).unwrap();
        assert!(refusal(&cluster).unwrap().ends_with("no endpoints available for service \"hook\""));
        tokio::time::sleep(Duration::from_secs(5)).await;
        assert_eq!(refusal(&cluster), None, "{kind}");
    }
}

#[tokio::test]
async fn only_matching_writes_are_refused() {
    for (extra, refused) in [
        (json!({}), true),
        (
            json!({"rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["UPDATE"], "resources": ["*"]}]}),
            false,
        ),
        (
            json!({"rules": [{"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*/*"]}]}),
            true,
        ),
        (json!({"objectSelector": {"matchLabels": {"a": "b"}}}), false),
        (json!({"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "default"}}}), true),
        (json!({"namespaceSelector": {"matchExpressions": [{"key": "none", "operator": "Exists"}]}}), false),
    ] {
        let cluster = cluster();
        cluster.create(webhook("ValidatingWebhookConfiguration", "Fail", extra.clone())).unwrap();
        assert_eq!(refusal(&cluster).is_some(), refused, "{extra}");
    }
}

#[tokio::test]
async fn a_webhook_that_fails_open_lets_writes_pass() {
    let cluster = cluster();
    cluster.create(webhook("ValidatingWebhookConfiguration", "Ignore", json!({}))).unwrap();
    assert_eq!(refusal(&cluster), None);
}

#[tokio::test]
async fn a_webhook_cannot_keep_its_own_configuration() {
    let cluster = cluster();
    let all = json!({"rules": [{"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"]}]});
    cluster.create(webhook("ValidatingWebhookConfiguration", "Fail", all)).unwrap();
    cluster.remove("admissionregistration.k8s.io", "ValidatingWebhookConfiguration", "", "check").unwrap();
    assert_eq!(refusal(&cluster), None);
}

#[tokio::test(start_paused = true)]
async fn a_namespace_whose_contents_a_webhook_keeps_goes_once_the_webhook_is_gone() {
    let cluster = cluster();
    cluster.create(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}})).unwrap();
    let mut object = config_map("kept");
    object["metadata"]["namespace"] = json!("a");
    cluster.create(object).unwrap();
    let deletes = json!([{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["DELETE"], "resources": ["configmaps"]}]);
    cluster.create(webhook("ValidatingWebhookConfiguration", "Fail", json!({"rules": deletes}))).unwrap();
    cluster.remove("", "Namespace", "", "a").unwrap();
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(cluster.get("", "ConfigMap", "a", "kept").is_some());
    cluster.remove("admissionregistration.k8s.io", "ValidatingWebhookConfiguration", "", "check").unwrap();
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert!(cluster.get("", "Namespace", "", "a").is_none());
}

#[tokio::test(start_paused = true)]
async fn a_definition_whose_objects_a_webhook_keeps_goes_once_the_webhook_is_gone() {
    let cluster = cluster();
    let schema = json!({"openAPIV3Schema": {"type": "object"}});
    cluster
        .create(json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "things.x.example.com"},
            "spec": {
                "group": "x.example.com", "scope": "Namespaced", "names": {"plural": "things", "kind": "Thing"},
                "versions": [{"name": "v1", "served": true, "storage": true, "schema": schema}],
            },
        }))
        .unwrap();
    let thing = json!({"apiVersion": "x.example.com/v1", "kind": "Thing", "metadata": {"name": "kept", "namespace": "default"}});
    cluster.create(thing).unwrap();
    let deletes = json!([{"apiGroups": ["x.example.com"], "apiVersions": ["v1"], "operations": ["DELETE"], "resources": ["*"]}]);
    cluster.create(webhook("ValidatingWebhookConfiguration", "Fail", json!({"rules": deletes}))).unwrap();
    cluster.remove("apiextensions.k8s.io", "CustomResourceDefinition", "", "things.x.example.com").unwrap();
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(cluster.get("x.example.com", "Thing", "default", "kept").is_some());
    cluster.remove("admissionregistration.k8s.io", "ValidatingWebhookConfiguration", "", "check").unwrap();
    tokio::time::sleep(Duration::from_secs(10)).await;
    let gone = cluster.get("apiextensions.k8s.io", "CustomResourceDefinition", "", "things.x.example.com");
    assert!(gone.is_none());
}
