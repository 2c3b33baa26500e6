//! Patches and server-side apply, on the wire.
#![allow(clippy::unwrap_used, reason = "a test may stop at what it does not expect")]

mod common;

use common::{config_map, quiet as cluster, send_with, with};
use serde_json::{Value, json};

const MAP: &str = "/api/v1/namespaces/default/configmaps/a";

async fn apply(cluster: &fake_apiserver::FakeApiServer, query: &str, data: Value) -> common::Answer {
    let body = with(config_map("a"), json!({"data": data}));
    let headers = [("content-type", "application/apply-patch+yaml")];
    send_with(cluster, "PATCH", &format!("{MAP}?{query}"), &headers, Some(body)).await
}

#[tokio::test]
async fn an_apply_creates_and_then_updates() {
    let cluster = cluster();
    assert_eq!(apply(&cluster, "fieldManager=x", json!({"k": "1"})).await.code, 201);
    let again = apply(&cluster, "fieldManager=x", json!({"k": "2"})).await;
    assert_eq!((again.code, &again.body["data"]["k"]), (200, &json!("2")));
    assert_eq!(again.body["metadata"]["managedFields"][0]["manager"], "x");
}

#[tokio::test]
async fn an_apply_that_changes_nothing_writes_nothing() {
    let cluster = cluster();
    apply(&cluster, "fieldManager=x", json!({"k": "1"})).await;
    let revision = cluster.revision();
    apply(&cluster, "fieldManager=x", json!({"k": "1"})).await;
    assert_eq!(cluster.revision(), revision);
}

#[tokio::test]
async fn a_field_of_another_manager_is_a_conflict_unless_forced() {
    let cluster = cluster();
    apply(&cluster, "fieldManager=x", json!({"k": "1"})).await;
    let conflict = apply(&cluster, "fieldManager=y", json!({"k": "2"})).await;
    assert_eq!((conflict.code, &conflict.body["reason"]), (409, &json!("Conflict")));
    assert_eq!(conflict.body["message"], "Apply failed with 1 conflict: conflict with \"x\": .data.k");
    assert_eq!(conflict.body["details"]["causes"][0]["reason"], "FieldManagerConflict");
    assert_eq!(apply(&cluster, "fieldManager=y&force=true", json!({"k": "2"})).await.code, 200);
}

#[tokio::test]
async fn a_field_that_is_no_longer_applied_goes() {
    let cluster = cluster();
    apply(&cluster, "fieldManager=x", json!({"k": "1", "l": "1"})).await;
    let answer = apply(&cluster, "fieldManager=x", json!({"k": "1"})).await;
    assert_eq!(answer.body["data"], json!({"k": "1"}));
}

#[tokio::test]
async fn a_value_of_a_wrong_type_cannot_be_applied() {
    let cluster = cluster();
    for wrong in [json!({"k": 1}), json!({"k": {"l": "1"}})] {
        assert_eq!(apply(&cluster, "fieldManager=x", wrong).await.code, 500);
    }
    assert_eq!(send_with(&cluster, "GET", MAP, &[], None).await.code, 404);
}

#[tokio::test]
async fn unknown_fields_of_an_atomic_list_are_not_stored() {
    let account = json!({
        "apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "a"},
        "imagePullSecrets": [{"name": "p", "bogus": {}}],
    });
    let target = "/api/v1/namespaces/default/serviceaccounts/a?fieldManager=x";
    let headers = [("content-type", "application/apply-patch+yaml")];
    let answer = send_with(&cluster(), "PATCH", target, &headers, Some(account)).await;
    assert_eq!(answer.body["imagePullSecrets"], json!([{"name": "p"}]));
}

#[tokio::test]
async fn an_apply_needs_a_field_manager() {
    let answer = apply(&cluster(), "", json!({})).await;
    assert_eq!((answer.code, &answer.body["details"]["causes"][0]["field"]), (422, &json!("fieldManager")));
}

#[tokio::test]
async fn each_media_type_is_its_own_patch() {
    let cluster = cluster();
    cluster.create(with(config_map("a"), json!({"data": {"k": "1", "l": "1"}}))).unwrap();
    for (media, patch, expected) in [
        ("application/merge-patch+json", json!({"data": {"l": null}}), json!({"k": "1"})),
        (
            "application/json-patch+json",
            json!([{"op": "add", "path": "/data/m", "value": "2"}]),
            json!({"k": "1", "m": "2"}),
        ),
        (
            "application/strategic-merge-patch+json",
            json!({"data": {"$patch": "replace", "z": "9"}}),
            json!({"z": "9"}),
        ),
    ] {
        let answer = send_with(&cluster, "PATCH", MAP, &[("content-type", media)], Some(patch)).await;
        assert_eq!((answer.code, &answer.body["data"]), (200, &expected), "{media}");
    }
    let answer =
        send_with(&cluster, "PATCH", MAP, &[("content-type", "application/json")], Some(json!({}))).await;
    assert_eq!(answer.code, 415);
}

#[tokio::test]
async fn a_json_patch_whose_test_fails_changes_nothing() {
    let cluster = cluster();
    cluster.create(with(config_map("a"), json!({"data": {"k": "1"}}))).unwrap();
    let patch = json!([{"op": "add", "path": "/data/x", "value": "1"}, {"op": "test", "path": "/data/k", "value": "2"}]);
    let headers = [("content-type", "application/json-patch+json")];
    let answer = send_with(&cluster, "PATCH", MAP, &headers, Some(patch)).await;
    assert_eq!((answer.code, &answer.body["reason"]), (422, &json!("Invalid")));
    assert_eq!(cluster.get("", "ConfigMap", "default", "a").unwrap()["data"], json!({"k": "1"}));
}

#[tokio::test]
async fn applying_the_same_again_writes_nothing_whatever_was_defaulted() {
    let template = json!({
        "metadata": {"labels": {"app": "a"}},
        "spec": {"containers": [{
            "name": "c", "image": "i:1", "ports": [{"containerPort": 80}], "env": [{"name": "E", "value": "v"}],
            "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}}, "readinessProbe": {"httpGet": {"port": 80}},
        }]},
    });
    let selector = json!({"matchLabels": {"app": "a"}});
    let schema = json!({"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
    let hook = json!({
        "name": "a.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"],
        "clientConfig": {"service": {"name": "a", "namespace": "default"}},
        "rules": [{"apiGroups": ["x.io"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["things"]}],
    });
    let mut once = template.clone();
    once["spec"]["restartPolicy"] = json!("Never");
    for (path, api_version, kind, name, body) in [
        (
            "/apis/apps/v1/namespaces/default/deployments",
            "apps/v1",
            "Deployment",
            "a",
            json!({"spec": {"selector": selector, "template": template}}),
        ),
        (
            "/apis/batch/v1/namespaces/default/jobs",
            "batch/v1",
            "Job",
            "a",
            json!({"spec": {"template": once}}),
        ),
        (
            "/api/v1/namespaces/default/services",
            "v1",
            "Service",
            "a",
            json!({"spec": {"selector": {"app": "a"}, "ports": [{"name": "http", "port": 80, "targetPort": 8080}]}}),
        ),
        ("/api/v1/namespaces", "v1", "Namespace", "a", json!({"metadata": {"labels": {"x": "y"}}})),
        (
            "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers",
            "autoscaling/v2",
            "HorizontalPodAutoscaler",
            "a",
            json!({"spec": {"maxReplicas": 3, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"}}}),
        ),
        (
            "/apis/policy/v1/namespaces/default/poddisruptionbudgets",
            "policy/v1",
            "PodDisruptionBudget",
            "a",
            json!({"spec": {"minAvailable": "80%", "selector": selector}}),
        ),
        (
            "/apis/rbac.authorization.k8s.io/v1/clusterroles",
            "rbac.authorization.k8s.io/v1",
            "ClusterRole",
            "a",
            json!({"aggregationRule": {"clusterRoleSelectors": [selector]}}),
        ),
        (
            "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
            "rbac.authorization.k8s.io/v1",
            "ClusterRoleBinding",
            "a",
            json!({"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "a"},
                "subjects": [{"kind": "ServiceAccount", "name": "a", "namespace": "default"}]}),
        ),
        (
            "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
            "admissionregistration.k8s.io/v1",
            "ValidatingWebhookConfiguration",
            "a",
            json!({"webhooks": [hook]}),
        ),
        (
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
            "apiextensions.k8s.io/v1",
            "CustomResourceDefinition",
            "things.x.io",
            json!({"spec": {"group": "x.io", "scope": "Namespaced", "names": {"plural": "things", "kind": "Thing"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": schema, "subresources": {"status": {}}}]}}),
        ),
        (
            "/api/v1/namespaces/default/secrets",
            "v1",
            "Secret",
            "a",
            json!({"type": "Opaque", "data": {"k": "djE="}}),
        ),
        ("/api/v1/namespaces/default/configmaps", "v1", "ConfigMap", "b", json!({"data": {}})),
    ] {
        let cluster = cluster();
        let body = with(json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name}}), body);
        let headers = [("content-type", "application/apply-patch+yaml")];
        let target = format!("{path}/{name}?fieldManager=x&force=true");
        let first = send_with(&cluster, "PATCH", &target, &headers, Some(body.clone())).await;
        assert_eq!(first.code, 201, "{kind}: {}", first.text);
        let revision = cluster.revision();
        tokio::time::sleep(std::time::Duration::ZERO).await;
        let second = send_with(&cluster, "PATCH", &target, &headers, Some(body)).await;
        assert_eq!((second.code, cluster.revision()), (200, revision), "{kind}: {}", second.text);
    }
}
