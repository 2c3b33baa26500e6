//! What people see of objects.

use serde_json::json;

use super::*;

fn now() -> Timestamp {
    "2024-01-02T00:00:00Z".parse().unwrap()
}

/// The cells that are always shown, and those on demand.
fn row(columns: &[Column], object: &Value) -> (Vec<Value>, Vec<Value>) {
    let cells = |on_demand: bool| {
        let shown = columns.iter().filter(move |column| (column.priority > 0) == on_demand);
        shown.map(|column| column.cell(object, now())).collect()
    };
    (cells(false), cells(true))
}

#[track_caller]
fn check(resource: &str, object: Value, narrow: Value, wide: Value) {
    let (shown, more) = row(&columns_of(resource), &object);
    assert_eq!((json!(shown), json!(more)), (narrow, wide));
}

fn named(name: &str) -> Value {
    json!({ "name": name, "creationTimestamp": "2024-01-01T00:00:00Z" })
}

#[test]
fn a_deployment_shows_its_progress() {
    let containers = json!([{ "name": "a", "image": "one" }, { "name": "b", "image": "two" }]);
    let deployment = json!({
        "metadata": named("web"),
        "spec": {
            "replicas": 3,
            "selector": {
                "matchLabels": { "app": "web" },
                "matchExpressions": [
                    { "key": "tier", "operator": "In", "values": ["x", "y"] },
                    { "key": "aa", "operator": "DoesNotExist" },
                ],
            },
            "template": { "spec": { "containers": containers } },
        },
        "status": { "readyReplicas": 1, "updatedReplicas": 2 },
    });
    check(
        "deployments.apps",
        deployment,
        json!(["web", "1/3", 2, 0, "24h"]),
        json!(["a,b", "one,two", "!aa,app=web,tier in (x,y)"]),
    );
}

#[test]
fn a_service_shows_where_it_is_reached() {
    let service =
        |spec: Value, status: Value| json!({ "metadata": named("s"), "spec": spec, "status": status });
    check(
        "services",
        service(json!({ "type": "ExternalName", "externalName": "a.example" }), json!({})),
        json!(["s", "ExternalName", "<none>", "a.example", "<none>", "24h"]),
        json!(["<none>"]),
    );
    let ports = json!([{ "port": 80, "nodePort": 30080, "protocol": "TCP" }]);
    let balanced = json!({ "type": "LoadBalancer", "clusterIPs": ["10.0.0.1"], "ports": ports, "selector": { "a": "b" } });
    check(
        "services",
        service(balanced.clone(), json!({})),
        json!(["s", "LoadBalancer", "10.0.0.1", "<pending>", "80:30080/TCP", "24h"]),
        json!(["a=b"]),
    );
    check(
        "services",
        service(balanced, json!({ "loadBalancer": { "ingress": [{ "hostname": "lb.example" }] } })),
        json!(["s", "LoadBalancer", "10.0.0.1", "lb.example", "80:30080/TCP", "24h"]),
        json!(["a=b"]),
    );
}

#[test]
fn a_pod_shows_what_its_containers_are_at() {
    let pod = |state: Value, ready: bool| {
        json!({
            "metadata": named("p"),
            "spec": { "nodeName": "n", "containers": [{ "name": "a" }] },
            "status": { "phase": "Running", "podIP": "10.1.0.1", "containerStatuses": [{
                "ready": ready, "restartCount": 2, "state": state,
                "lastState": { "terminated": { "finishedAt": "2024-01-01T23:59:00Z" } },
            }] },
        })
    };
    let wide = json!(["10.1.0.1", "n", "<none>", "<none>"]);
    for (pod, expected) in [
        (pod(json!({ "running": {} }), true), json!(["p", "1/1", "Running", "2 (60s ago)", "24h"])),
        (
            pod(json!({ "waiting": { "reason": "CrashLoopBackOff" } }), false),
            json!(["p", "0/1", "CrashLoopBackOff", "2 (60s ago)", "24h"]),
        ),
        (
            pod(json!({ "terminated": { "exitCode": 3 } }), false),
            json!(["p", "0/1", "ExitCode:3", "2 (60s ago)", "24h"]),
        ),
    ] {
        check("pods", pod, expected, wide.clone());
    }
    let waiting = json!({
        "metadata": named("p"),
        "spec": { "initContainers": [{}, {}], "containers": [{}] },
        "status": { "phase": "Pending", "initContainerStatuses": [
            { "state": { "terminated": { "exitCode": 0 } } },
            { "state": { "waiting": { "reason": "PodInitializing" } } },
        ] },
    });
    let none = json!(["<none>", "<none>", "<none>", "<none>"]);
    check("pods", waiting, json!(["p", "0/1", "Init:1/2", "0", "24h"]), none);
}

#[test]
fn an_event_shows_what_it_is_about_in_its_old_and_its_new_form() {
    let old = json!({
        "metadata": named("e"), "type": "Normal", "reason": "Why", "message": " text\n", "count": 4,
        "involvedObject": { "kind": "Pod", "name": "p" }, "source": { "component": "c", "host": "h" },
        "firstTimestamp": "2024-01-01T23:00:00Z", "lastTimestamp": "2024-01-01T23:59:30Z",
    });
    check(
        "events",
        old,
        json!(["30s", "Normal", "Why", "pod/p", "text"]),
        json!(["", "c, h", "60m", 4, "e"]),
    );
    let new = json!({
        "metadata": named("e"), "type": "Normal", "reason": "Why", "note": "text",
        "regarding": { "kind": "Pod", "name": "p" }, "reportingController": "c",
        "eventTime": "2024-01-01T23:59:30.000000Z",
    });
    check(
        "events.events.k8s.io",
        new,
        json!(["30s", "Normal", "Why", "pod/p", "text"]),
        json!(["", "c", "30s", 1, "e"]),
    );
}

#[test]
fn a_kind_without_columns_of_its_own_shows_when_it_was_created() {
    check(
        "roles.rbac.authorization.k8s.io",
        json!({ "metadata": named("r") }),
        json!(["r", "2024-01-01T00:00:00Z"]),
        json!([]),
    );
}

#[test]
fn columns_of_custom_resources_have_the_type_they_declare() {
    let column = |name: &str, kind: &str, path: &str| json!({ "name": name, "type": kind, "jsonPath": path });
    let declared = json!([
        column("whole", "integer", ".spec.n"),
        column("mistaken", "boolean", ".spec.n"),
        column("list", "string", ".spec.tags"),
        column("since", "date", ".spec.when"),
        column("bad date", "date", ".spec.tags[0]"),
        column("missing", "string", ".spec.none"),
    ]);
    let object = json!({
        "metadata": named("x"),
        "spec": { "n": 1.75, "tags": ["a", "b"], "when": "2024-01-01T23:59:30Z" },
    });
    let (cells, _) = row(&custom_columns_of(&declared), &object);
    assert_eq!(json!(cells), json!(["x", 1, null, "[\"a\",\"b\"]", "30s", "<invalid>", null]));
}

#[test]
fn unreadable_columns_of_custom_resources_give_way_to_the_age() {
    for declared in [json!(null), json!([{ "name": "a", "type": "string", "jsonPath": ".spec[" }])] {
        let names: Vec<_> = custom_columns_of(&declared).into_iter().map(|column| column.name).collect();
        assert_eq!(names, ["Name", "Age"]);
    }
}
