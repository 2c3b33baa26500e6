//! Webhooks that are called, in process.
#![allow(clippy::unwrap_used, reason = "a test may stop at what it does not expect")]

mod common;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine;
use bytes::Bytes;
use common::{Answer, Events, cluster, config_map, send, with};
use fake_apiserver::FakeApiServer;
use http::{Request, Response};
use serde_json::{Value, json};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// A Service with a Deployment behind it that is available, and a webhook there.
async fn reachable(kind: &str, extra: Value) -> FakeApiServer {
    let cluster = cluster();
    backend(&cluster).await;
    register(&cluster, kind, "check", extra);
    cluster
}

async fn backend(cluster: &FakeApiServer) {
    let metadata = json!({"name": "hook", "namespace": "kube-system"});
    cluster
        .create(json!({
            "apiVersion": "v1", "kind": "Service", "metadata": metadata,
            "spec": {"selector": {"app": "hook"}, "ports": [{"port": 443}]},
        }))
        .unwrap();
    let template = json!({"metadata": {"labels": {"app": "hook"}}, "spec": {"containers": [{"name": "a", "image": "b"}]}});
    cluster
        .create(json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata,
            "spec": {"selector": {"matchLabels": {"app": "hook"}}, "template": template},
        }))
        .unwrap();
    tokio::time::sleep(Duration::from_secs(10)).await;
}

fn register(cluster: &FakeApiServer, kind: &str, name: &str, extra: Value) {
    let hook = json!({
        "name": format!("{name}.example.com"), "timeoutSeconds": 2, "sideEffects": "None", "admissionReviewVersions": ["v1"],
        "clientConfig": {"service": {"name": "hook", "namespace": "kube-system", "path": format!("/{name}")}},
        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["configmaps"]}],
    });
    let configuration = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": name},
        "webhooks": [with(hook, extra)],
    });
    cluster.create(configuration).unwrap();
}

/// Puts something behind the webhook's Service.
type Serve<'a> = &'a dyn Fn(&FakeApiServer);

const VALIDATING: &str = "ValidatingWebhookConfiguration";
const MUTATING: &str = "MutatingWebhookConfiguration";

fn patch(operations: &Value) -> Value {
    let patch = base64::engine::general_purpose::STANDARD.encode(operations.to_string());
    json!({"allowed": true, "patchType": "JSONPatch", "patch": patch})
}

async fn create(cluster: &FakeApiServer) -> Answer {
    send(cluster, "POST", MAPS, Some(config_map("a"))).await
}

#[tokio::test(start_paused = true)]
async fn a_denial_is_told_in_the_words_of_the_webhook() {
    for (response, code, message, reason) in [
        (json!({"allowed": false}), 400, "the request without explanation", Value::Null),
        (
            json!({"allowed": false, "status": {"message": "no", "code": 403, "reason": "Forbidden"}}),
            403,
            "the request: no",
            json!("Forbidden"),
        ),
        (
            json!({"allowed": false, "status": {"message": "no", "code": 200}}),
            400,
            "the request: no",
            Value::Null,
        ),
    ] {
        let cluster = reachable(VALIDATING, json!({})).await;
        cluster.webhooks().answer_with("kube-system", "hook", move |_| response.clone());
        let answer = create(&cluster).await;
        assert_eq!((answer.code, &answer.body["reason"]), (code, &reason));
        assert_eq!(
            answer.body["message"],
            format!("admission webhook \"check.example.com\" denied {message}")
        );
        assert_eq!(send(&cluster, "GET", &format!("{MAPS}/a"), None).await.code, 404);
    }
}

#[tokio::test(start_paused = true)]
async fn a_webhook_sees_the_whole_write_and_warns() {
    let cluster = reachable(VALIDATING, json!({})).await;
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = seen.clone();
    cluster.webhooks().answer_with("kube-system", "hook", move |request| {
        log.lock().unwrap().push(request.clone());
        json!({"allowed": true, "warnings": ["mind the gap"]})
    });
    let answer = create(&cluster).await;
    assert_eq!(answer.headers["warning"], "299 - \"mind the gap\"");
    let target = format!("{MAPS}/a?dryRun=All&fieldManager=me");
    let changed = with(answer.body.clone(), json!({"data": {"k": "v"}}));
    assert_eq!(send(&cluster, "PUT", &target, Some(changed)).await.code, 200);
    assert_eq!(send(&cluster, "DELETE", &format!("{MAPS}/a"), None).await.code, 200);
    let seen = seen.lock().unwrap();
    let operations: Vec<_> = seen.iter().map(|request| request["operation"].as_str().unwrap()).collect();
    assert_eq!(operations, ["CREATE", "UPDATE", "DELETE"]);
    assert_eq!(seen[0]["object"]["metadata"]["uid"], answer.body["metadata"]["uid"]);
    assert_eq!((&seen[0]["name"], &seen[0]["namespace"]), (&json!("a"), &json!("default")));
    assert_eq!((&seen[1]["object"]["data"]["k"], &seen[1]["oldObject"]["data"]), (&json!("v"), &Value::Null));
    assert_eq!(
        (&seen[1]["dryRun"], &seen[1]["options"]),
        (
            &json!(true),
            &json!({"apiVersion": "meta.k8s.io/v1", "kind": "UpdateOptions", "dryRun": ["All"], "fieldManager": "me"})
        )
    );
    assert_eq!((&seen[2]["object"], &seen[2]["oldObject"]["metadata"]["name"]), (&Value::Null, &json!("a")));
    let mut names: Vec<_> = seen.iter().map(|request| request["uid"].as_str().unwrap()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_mutating_webhook_changes_what_is_stored_before_the_object_has_an_identity() {
    let cluster = reachable(MUTATING, json!({})).await;
    cluster.webhooks().answer_with("kube-system", "hook", |request| {
        assert!(request["object"]["metadata"]["uid"].is_null());
        patch(&json!([{"op": "add", "path": "/data", "value": {"added": "yes"}}]))
    });
    let before = cluster.revision();
    let body = json!({"metadata": {"generateName": "a-"}});
    let made = send(&cluster, "POST", MAPS, Some(body)).await;
    assert_eq!((made.code, &made.body["data"]), (201, &json!({"added": "yes"})));
    assert_eq!(cluster.revision(), before + 1);
    assert!(made.body["metadata"]["name"].as_str().unwrap().starts_with("a-"));
}

#[tokio::test(start_paused = true)]
async fn a_webhook_that_asks_for_it_sees_what_others_changed_after_it() {
    for (policy, expected) in [("Never", "1"), ("IfNeeded", "2")] {
        let cluster = reachable(MUTATING, json!({"reinvocationPolicy": policy})).await;
        register(&cluster, MUTATING, "later", json!({}));
        cluster.webhooks().serve_service(
            "kube-system",
            "hook",
            tower::service_fn(|request: Request<Bytes>| async move {
                let review: Value = serde_json::from_slice(request.body())?;
                let data = &review["request"]["object"]["data"];
                let operation = if request.uri().path() == "/later" {
                    json!({"op": "add", "path": "/data/later", "value": "x"})
                } else {
                    let count: u32 = data["count"].as_str().unwrap_or("0").parse().unwrap();
                    json!({"op": "add", "path": "/data/count", "value": (count + 1).to_string()})
                };
                let response = with(patch(&json!([operation])), json!({"uid": review["request"]["uid"]}));
                let answer = with(review, json!({"response": response}));
                Ok::<_, serde_json::Error>(Response::new(Bytes::from(answer.to_string())))
            }),
        );
        let made =
            send(&cluster, "POST", MAPS, Some(with(config_map("a"), json!({"data": {"x": "y"}})))).await;
        assert_eq!(made.body["data"]["count"], expected, "{}", made.text);
    }
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_called_or_understood_fails_closed_or_open() {
    let silent = |cluster: &FakeApiServer| {
        cluster.webhooks().serve_service(
            "kube-system",
            "hook",
            tower::service_fn(|_: Request<Bytes>| {
                std::future::pending::<Result<Response<Bytes>, std::io::Error>>()
            }),
        );
    };
    let answering = |body: &'static str, code: u16| {
        move |cluster: &FakeApiServer| {
            cluster.webhooks().serve_service(
                "kube-system",
                "hook",
                tower::service_fn(move |_: Request<Bytes>| async move {
                    let mut response = Response::new(Bytes::from(body));
                    *response.status_mut() = code.try_into().unwrap();
                    Ok::<_, std::io::Error>(response)
                }),
            );
        }
    };
    let post = "failed to call webhook: Post \"https://hook.kube-system.svc:443/check?timeout=2s\":";
    let cases: [(Serve<'_>, String); 4] = [
        (&silent, format!("{post} context deadline exceeded")),
        (
            &answering("", 404),
            "failed to call webhook: the server could not find the requested resource".into(),
        ),
        (
            &answering("{}", 200),
            "received invalid webhook response: expected webhook response of admission.k8s.io/v1, \
             Kind=AdmissionReview, got /, Kind="
                .into(),
        ),
        (
            &answering("{\"apiVersion\": \"admission.k8s.io/v1\", \"kind\": \"AdmissionReview\"}", 200),
            "received invalid webhook response: webhook response was absent".into(),
        ),
    ];
    for (serve, why) in cases {
        for policy in ["Fail", "Ignore"] {
            let cluster = reachable(VALIDATING, json!({"failurePolicy": policy})).await;
            serve(&cluster);
            let answer = create(&cluster).await;
            if policy == "Ignore" {
                assert_eq!(answer.code, 201, "{}", answer.text);
                continue;
            }
            let start = "Internal error occurred: failed calling webhook \"check.example.com\":";
            assert_eq!(answer.body["message"], format!("{start} {why}"));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_webhook_may_use_the_cluster_it_is_asked_by() {
    let cluster = reachable(VALIDATING, json!({})).await;
    let inner = cluster.clone();
    cluster.webhooks().serve_service(
        "kube-system",
        "hook",
        tower::service_fn(move |request: Request<Bytes>| {
            let cluster = inner.clone();
            async move {
                let review: Value = serde_json::from_slice(request.body()).unwrap();
                let allowed = send(&cluster, "GET", "/api/v1/namespaces/default", None).await.code == 200;
                let response = json!({"uid": review["request"]["uid"], "allowed": allowed});
                Ok::<_, std::io::Error>(Response::new(
                    with(review, json!({"response": response})).to_string().into(),
                ))
            }
        }),
    );
    assert_eq!(create(&cluster).await.code, 201);
}

#[tokio::test(start_paused = true)]
async fn a_collection_is_deleted_whole_or_not_at_all_by_the_first_denial() {
    let cluster = reachable(VALIDATING, json!({})).await;
    for name in ["a", "b", "c"] {
        cluster.create(config_map(name)).unwrap();
    }
    cluster.webhooks().answer_with(
        "kube-system",
        "hook",
        |request| json!({"allowed": request["name"] != "c" && request["name"] != "kube-root-ca.crt"}),
    );
    let answer =
        send(&cluster, "DELETE", &format!("{MAPS}?fieldSelector=metadata.name!=kube-root-ca.crt"), None)
            .await;
    assert_eq!(answer.code, 400);
    assert_eq!(send(&cluster, "GET", &format!("{MAPS}/a"), None).await.code, 200);
    let selector = "fieldSelector=metadata.name!=kube-root-ca.crt,metadata.name!=c";
    let answer = send(&cluster, "DELETE", &format!("{MAPS}?{selector}"), None).await;
    assert_eq!((answer.code, answer.body["items"].as_array().unwrap().len()), (200, 2));
    assert_eq!(send(&cluster, "GET", &format!("{MAPS}/a"), None).await.code, 404);
}

fn definition() -> Value {
    let version = |name: &str, field: &str, storage: bool| {
        let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {field: {"type": "string"}}}}});
        json!({"name": name, "served": true, "storage": storage, "schema": {"openAPIV3Schema": schema}})
    };
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"},
            "versions": [version("v1", "old", true), version("v2", "new", false)],
            "conversion": {"strategy": "Webhook", "webhook": {
                "conversionReviewVersions": ["v1"],
                "clientConfig": {"service": {"name": "hook", "namespace": "kube-system", "path": "/convert"}},
            }},
        },
    })
}

/// Moves `spec.old` of v1 to `spec.new` of v2, and back.
fn convert(request: &Value) -> Value {
    let wanted = request["desiredAPIVersion"].as_str().unwrap();
    let objects = request["objects"].as_array().unwrap().iter().cloned().map(|mut object| {
        let (from, to) = if wanted.ends_with("v2") { ("old", "new") } else { ("new", "old") };
        object["spec"] = json!({to: object["spec"][from]});
        object["apiVersion"] = json!(wanted);
        object
    });
    json!({"result": {"status": "Success"}, "convertedObjects": objects.collect::<Vec<_>>()})
}

#[tokio::test(start_paused = true)]
async fn versions_are_converted_by_their_webhook_wherever_they_are_seen() {
    let cluster = cluster();
    backend(&cluster).await;
    let calls = Arc::new(Mutex::new(0));
    let count = calls.clone();
    cluster.webhooks().answer_with("kube-system", "hook", move |request| {
        *count.lock().unwrap() += 1;
        convert(request)
    });
    cluster.create(definition()).unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let (v1, v2) =
        ("/apis/example.com/v1/namespaces/default/things", "/apis/example.com/v2/namespaces/default/things");
    for name in ["a", "b"] {
        let thing = json!({"apiVersion": "example.com/v2", "kind": "Thing", "metadata": {"name": name}, "spec": {"new": name}});
        let made = send(&cluster, "POST", v2, Some(thing)).await;
        assert_eq!((made.code, &made.body["spec"]), (201, &json!({"new": name})), "{}", made.text);
    }
    let stored = send(&cluster, "GET", &format!("{v1}/a"), None).await.body;
    assert_eq!(stored["spec"], json!({"old": "a"}));
    let before = *calls.lock().unwrap();
    let list = send(&cluster, "GET", v2, None).await.body;
    assert_eq!(
        (&list["items"][0]["spec"], &list["items"][1]["spec"]),
        (&json!({"new": "a"}), &json!({"new": "b"}))
    );
    assert_eq!(*calls.lock().unwrap(), before + 1, "a list is converted in one call");
    let mut events = Events::open(&cluster, &format!("{v2}?watch=1")).await;
    for expected in ["a", "b"] {
        assert_eq!(events.next().await.unwrap()["object"]["spec"], json!({"new": expected}));
    }
    let merge = [("content-type", "application/merge-patch+json")];
    let patch = json!({"spec": {"old": "c"}});
    assert_eq!(common::send_with(&cluster, "PATCH", &format!("{v1}/a"), &merge, Some(patch)).await.code, 200);
    let event = events.next().await.unwrap();
    assert_eq!((&event["type"], &event["object"]["spec"]), (&json!("MODIFIED"), &json!({"new": "c"})));
}

#[tokio::test(start_paused = true)]
async fn a_conversion_that_goes_wrong_is_told() {
    for (response, why) in [
        (json!({"result": {"status": "Failed", "message": "I cannot"}}), "failed: I cannot"),
        (json!({"result": {"status": "Success"}, "convertedObjects": []}), "returned 0 objects, expected 1"),
    ] {
        let cluster = cluster();
        backend(&cluster).await;
        cluster.webhooks().answer_with("kube-system", "hook", move |_| response.clone());
        cluster.create(definition()).unwrap();
        tokio::time::sleep(Duration::from_secs(1)).await;
        let thing = json!({"metadata": {"name": "a"}, "spec": {"new": "a"}});
        let answer =
            send(&cluster, "POST", "/apis/example.com/v2/namespaces/default/things", Some(thing)).await;
        assert_eq!(answer.code, 500);
        assert_eq!(
            answer.body["message"],
            format!("conversion webhook for example.com/v2, Kind=Thing {why}")
        );
    }
}
