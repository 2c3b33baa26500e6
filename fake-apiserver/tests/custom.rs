//! Custom resources: they come with their definition, follow its schema, and go with it.
#![allow(clippy::unwrap_used, reason = "a test may stop at what it does not expect")]

mod common;

use common::{Events, cluster, send, send_with};
use fake_apiserver::FakeApiServer;
use serde_json::{Value, json};

const THINGS: &str = "/apis/x.example.com/v1/namespaces/default/things";
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

fn definition(plural: &str, kind: &str) -> Value {
    let spec = json!({"type": "object", "properties": {
        "a": {"type": "string"}, "b": {"type": "integer", "default": 7}, "replicas": {"type": "integer"},
    }});
    let status = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let schema =
        json!({"openAPIV3Schema": {"type": "object", "properties": {"spec": spec, "status": status}}});
    let scale = json!({"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.x.example.com")},
        "spec": {
            "group": "x.example.com", "scope": "Namespaced", "names": {"plural": plural, "kind": kind},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": schema, "subresources": {"status": {}, "scale": scale}}],
        },
    })
}

fn with_things() -> FakeApiServer {
    let cluster = cluster();
    cluster.create(definition("things", "Thing")).unwrap();
    cluster
}

fn conditions(cluster: &FakeApiServer, name: &str) -> Vec<String> {
    let definition = cluster.get("apiextensions.k8s.io", "CustomResourceDefinition", "", name).unwrap();
    let conditions = definition["status"]["conditions"].as_array().cloned().unwrap_or_default();
    conditions
        .iter()
        .map(|c| format!("{}={}", c["type"].as_str().unwrap(), c["status"].as_str().unwrap()))
        .collect()
}

#[tokio::test]
async fn a_definition_is_established_and_its_kind_is_served() {
    let cluster = cluster();
    assert_eq!(send(&cluster, "GET", THINGS, None).await.text, "404 page not found\n");
    let answer = send(&cluster, "POST", DEFINITIONS, Some(definition("things", "Thing"))).await;
    assert_eq!(answer.body["status"]["conditions"], Value::Null, "the answer is from before");
    assert_eq!(conditions(&cluster, "things.x.example.com"), ["NamesAccepted=True", "Established=True"]);
    let list = send(&cluster, "GET", THINGS, None).await.body;
    assert_eq!((&list["kind"], &list["metadata"]["continue"]), (&json!("ThingList"), &json!("")));
    let resources = send(&cluster, "GET", "/apis/x.example.com/v1", None).await.body;
    assert_eq!(resources["resources"][0]["singularName"], "thing");
}

#[tokio::test]
async fn unknown_fields_are_pruned_with_a_warning_and_defaults_filled_in() {
    let cluster = with_things();
    let thing = json!({"metadata": {"name": "t"}, "spec": {"a": "x", "bogus": 1}});
    let answer = send(&cluster, "POST", THINGS, Some(thing)).await;
    assert_eq!(answer.body["spec"], json!({"a": "x", "b": 7}));
    assert_eq!(answer.headers["warning"], "299 - \"unknown field \\\"spec.bogus\\\"\"");
}

#[tokio::test]
async fn strict_validation_refuses_unknown_fields() {
    let thing = json!({"metadata": {"name": "t"}, "spec": {"bogus": 1}});
    let answer = send(&with_things(), "POST", &format!("{THINGS}?fieldValidation=Strict"), Some(thing)).await;
    assert_eq!(answer.code, 400);
    assert!(
        answer.body["message"]
            .as_str()
            .unwrap()
            .ends_with("strict decoding error: unknown field \"spec.bogus\"")
    );
}

#[tokio::test]
async fn values_of_the_wrong_type_are_refused() {
    let answer =
        send(&with_things(), "POST", THINGS, Some(json!({"metadata": {"name": "t"}, "spec": {"a": 1}})))
            .await;
    assert_eq!((answer.code, &answer.body["details"]["causes"][0]["field"]), (422, &json!("spec.a")));
}

#[tokio::test]
async fn status_is_a_subresource_and_generation_counts_the_rest() {
    let cluster = with_things();
    let thing = json!({"metadata": {"name": "t"}, "spec": {"a": "x"}, "status": {"s": 1}});
    let created = send(&cluster, "POST", THINGS, Some(thing)).await.body;
    assert!(created.get("status").is_none());
    let merge = [("content-type", "application/merge-patch+json")];
    let patch = Some(json!({"spec": {"a": "y"}, "status": {"s": 2}, "metadata": {"labels": {"l": "1"}}}));
    let status =
        send_with(&cluster, "PATCH", &format!("{THINGS}/t/status"), &merge, patch.clone()).await.body;
    assert_eq!(
        (&status["spec"]["a"], &status["status"]["s"], &status["metadata"]["generation"]),
        (&json!("x"), &json!(2), &json!(1))
    );
    assert!(status["metadata"].get("labels").is_none());
    let main = send_with(&cluster, "PATCH", &format!("{THINGS}/t"), &merge, patch).await.body;
    assert_eq!((&main["spec"]["a"], &main["metadata"]["generation"]), (&json!("y"), &json!(2)));
}

#[tokio::test]
async fn scale_is_a_view_of_replicas() {
    let cluster = with_things();
    send(&cluster, "POST", THINGS, Some(json!({"metadata": {"name": "t"}, "spec": {"replicas": 2}}))).await;
    let target = format!("{THINGS}/t/scale");
    assert_eq!(send(&cluster, "GET", &target, None).await.body["spec"], json!({"replicas": 2}));
    let merge = [("content-type", "application/merge-patch+json")];
    send_with(&cluster, "PATCH", &target, &merge, Some(json!({"spec": {"replicas": 5}}))).await;
    assert_eq!(cluster.get("x.example.com", "Thing", "default", "t").unwrap()["spec"]["replicas"], 5);
}

#[tokio::test]
async fn names_that_are_taken_are_not_accepted_until_they_are_free() {
    let cluster = with_things();
    cluster.create(definition("others", "Thing")).unwrap();
    assert_eq!(conditions(&cluster, "others.x.example.com"), ["NamesAccepted=False", "Established=False"]);
    let others = "/apis/x.example.com/v1/others";
    assert_eq!(send(&cluster, "GET", others, None).await.code, 404);
    cluster.remove("apiextensions.k8s.io", "CustomResourceDefinition", "", "things.x.example.com").unwrap();
    assert_eq!(send(&cluster, "GET", others, None).await.code, 200);
}

#[tokio::test]
async fn a_definition_waits_for_its_objects_and_takes_the_kind_along() {
    let cluster = with_things();
    let held = json!({"metadata": {"name": "t", "finalizers": ["example.com/hold"]}});
    send(&cluster, "POST", THINGS, Some(held)).await;
    send(&cluster, "POST", THINGS, Some(json!({"metadata": {"name": "free"}}))).await;
    let mut events =
        Events::open(&cluster, &format!("{THINGS}?watch=true&resourceVersion={}", cluster.revision())).await;
    send(&cluster, "DELETE", &format!("{DEFINITIONS}/things.x.example.com"), None).await;
    assert_eq!(conditions(&cluster, "things.x.example.com").last().unwrap(), "Terminating=True");
    let late = send(&cluster, "POST", THINGS, Some(json!({"metadata": {"name": "late"}}))).await;
    assert_eq!(late.code, 403);
    cluster
        .edit("x.example.com", "Thing", "default", "t", |thing| thing["metadata"]["finalizers"] = json!([]))
        .unwrap();
    assert!(
        cluster.get("apiextensions.k8s.io", "CustomResourceDefinition", "", "things.x.example.com").is_none()
    );
    assert_eq!(send(&cluster, "GET", THINGS, None).await.code, 404);
    let mut seen = Vec::new();
    while let Some(event) = events.brief().await {
        seen.push(event);
    }
    assert_eq!(seen, ["DELETED free -", "MODIFIED t -", "DELETED t -"], "and then the watch ends");
}
