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
