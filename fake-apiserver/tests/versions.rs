//! Custom resources in several versions: each is stored in one and shown in the one asked for.
#![allow(clippy::unwrap_used, reason = "a test may stop at what it does not expect")]

mod common;

use std::time::Duration;

use common::{Events, cluster, send};
use fake_apiserver::FakeApiServer;
use serde_json::{Value, json};

const OLD: &str = "/apis/x.example.com/v1beta1/namespaces/default/things";
const NEW: &str = "/apis/x.example.com/v1/namespaces/default/things";

/// `v1beta1` knows `old` and `both`; `v1`, which is stored, `new` (with a default) and `both`.
fn definition(conversion: &Value) -> Value {
    let version = |name: &str, stored: bool, fields: Value| {
        json!({
            "name": name, "served": true, "storage": stored,
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object", "properties": fields}}}},
        })
    };
    let text = json!({"type": "string"});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.x.example.com"},
        "spec": {
            "group": "x.example.com", "scope": "Namespaced", "names": {"plural": "things", "kind": "Thing"},
            "conversion": conversion,
            "versions": [
                version("v1beta1", false, json!({"old": text, "both": text})),
                version("v1", true, json!({"new": {"type": "string", "default": "by default"}, "both": text})),
            ],
        },
    })
}

fn with_things(conversion: Value) -> FakeApiServer {
    let cluster = cluster();
    cluster.create(definition(&conversion)).unwrap();
    cluster
}

fn webhook() -> Value {
    json!({"strategy": "Webhook", "webhook": {
        "conversionReviewVersions": ["v1"],
        "clientConfig": {"service": {"name": "converter", "namespace": "default", "path": "/convert"}},
    }})
}

#[tokio::test]
async fn an_object_shows_what_the_version_asked_for_knows() {
    let cluster = with_things(json!({"strategy": "None"}));
    let thing = json!({"metadata": {"name": "a"}, "spec": {"old": "o", "both": "b"}});
    let created = send(&cluster, "POST", OLD, Some(thing)).await.body;
    assert_eq!(created["spec"], json!({"both": "b"}), "what is stored has no `old`");
    let stored = send(&cluster, "GET", &format!("{NEW}/a"), None).await.body;
    assert_eq!(stored["spec"], json!({"both": "b", "new": "by default"}));
    let listed = send(&cluster, "GET", OLD, None).await.body;
    assert_eq!(listed["items"][0]["spec"], json!({"both": "b"}));
    let event = Events::open(&cluster, &format!("{OLD}?watch=true")).await.next().await.unwrap();
    assert_eq!(event["object"]["apiVersion"], "x.example.com/v1beta1");
    assert_eq!(event["object"]["spec"], json!({"both": "b"}));
}

#[tokio::test]
async fn a_version_is_refused_while_its_converter_cannot_be_reached() {
    let cluster = with_things(webhook());
    assert_eq!(send(&cluster, "GET", OLD, None).await.code, 200, "nothing to convert");
    assert_eq!(send(&cluster, "POST", NEW, Some(json!({"metadata": {"name": "a"}}))).await.code, 201);
    let expected = "conversion webhook for x.example.com/v1, Kind=Thing failed: Post \
                    \"https://converter.default.svc:443/convert?timeout=30s\": service \"converter\" not found";
    for target in [format!("{OLD}/a"), OLD.to_owned(), format!("{OLD}?watch=true")] {
        let answer = send(&cluster, "GET", &target, None).await;
        assert_eq!((answer.code, &answer.body["message"]), (500, &json!(expected)), "{target}");
    }
    let refused = send(&cluster, "POST", OLD, Some(json!({"metadata": {"name": "b"}}))).await;
    assert_eq!(refused.code, 500);
    assert!(cluster.get("x.example.com", "Thing", "default", "b").is_none());
    assert_eq!(send(&cluster, "GET", &format!("{NEW}/a"), None).await.code, 200);
}

#[tokio::test(start_paused = true)]
async fn a_watch_ends_with_an_error_when_an_event_cannot_be_converted() {
    let cluster = with_things(webhook());
    let mut events = Events::open(&cluster, &format!("{OLD}?watch=true")).await;
    send(&cluster, "POST", NEW, Some(json!({"metadata": {"name": "a"}}))).await;
    let event = events.next().await.unwrap();
    assert_eq!((&event["type"], &event["object"]["code"]), (&json!("ERROR"), &json!(500)));
    assert_eq!(events.next().await, None);
}

#[tokio::test(start_paused = true)]
async fn a_converter_is_reached_through_an_available_deployment() {
    let cluster = with_things(webhook());
    send(&cluster, "POST", NEW, Some(json!({"metadata": {"name": "a"}}))).await;
    let labels = json!({"app": "converter"});
    cluster
        .create(json!({
            "apiVersion": "v1", "kind": "Service", "metadata": {"name": "converter", "namespace": "default"},
            "spec": {"selector": labels, "ports": [{"port": 443}]},
        }))
        .unwrap();
    cluster
        .create(json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "converter", "namespace": "default"},
            "spec": {
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "a", "image": "b"}]}},
            },
        }))
        .unwrap();
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(
        send(&cluster, "GET", &format!("{OLD}/a"), None).await.body["apiVersion"],
        "x.example.com/v1beta1"
    );
}

#[tokio::test]
async fn a_write_in_another_version_that_changes_nothing_stored_keeps_the_revision() {
    let cluster = with_things(json!({"strategy": "None"}));
    send(&cluster, "POST", NEW, Some(json!({"metadata": {"name": "a"}, "spec": {"both": "b"}}))).await;
    let seen = send(&cluster, "GET", &format!("{OLD}/a"), None).await.body;
    let again = send(&cluster, "PUT", &format!("{OLD}/a"), Some(seen.clone())).await.body;
    assert_eq!(again["metadata"]["resourceVersion"], seen["metadata"]["resourceVersion"]);
}
