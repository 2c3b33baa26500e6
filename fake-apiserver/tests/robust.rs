//! No input makes the server panic, and what it stores stays readable.

#![allow(clippy::unwrap_used, reason = "a test may stop at what it does not expect")]

mod common;

use common::{cluster, quiet, send, send_with};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use serde_json::{Value, json};

/// The members that code of the server reaches into.
const MEMBERS: &[&str] = &[
    "spec",
    "status",
    "data",
    "stringData",
    "metadata",
    "template",
    "selector",
    "matchLabels",
    "containers",
    "ports",
    "port",
    "name",
    "labels",
    "finalizers",
    "ownerReferences",
    "replicas",
    "conditions",
    "type",
    "webhooks",
    "rules",
    "clientConfig",
    "service",
    "subjects",
    "roleRef",
    "versions",
    "names",
    "plural",
    "kind",
    "schema",
    "volumes",
    "env",
    "livenessProbe",
    "httpGet",
    "metrics",
    "behavior",
    "jobTemplate",
    "aggregationRule",
    "clusterRoleSelectors",
    "uid",
    "clusterIP",
    "nodePort",
    "strategy",
    "subresources",
    "scale",
    "openAPIV3Schema",
    "group",
    "scope",
    "annotations",
];

const COLLECTIONS: &[&str] = &[
    "/api/v1/namespaces/default/configmaps",
    "/api/v1/namespaces/default/secrets",
    "/api/v1/namespaces/default/services",
    "/api/v1/namespaces/default/pods",
    "/api/v1/namespaces/default/events",
    "/api/v1/namespaces",
    "/apis/apps/v1/namespaces/default/deployments",
    "/apis/apps/v1/namespaces/default/statefulsets",
    "/apis/apps/v1/namespaces/default/daemonsets",
    "/apis/batch/v1/namespaces/default/jobs",
    "/apis/batch/v1/namespaces/default/cronjobs",
    "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers",
    "/apis/policy/v1/namespaces/default/poddisruptionbudgets",
    "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "/apis/apiregistration.k8s.io/v1/apiservices",
    "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
    "/apis/authentication.k8s.io/v1/tokenreviews",
];

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3_i64..70_000).prop_map(Value::from),
        "[a-z./ ]{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Value::from),
            btree_map(proptest::sample::select(MEMBERS), inner, 0..5).prop_map(|members| members
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value))
                .collect()),
        ]
    })
}

/// An object whose parts are anything.
fn any_object() -> impl Strategy<Value = Value> {
    let part = |name: &'static str, weight: f64| {
        proptest::option::weighted(weight, any_json())
            .prop_map(move |value| value.map(|value| (name.to_owned(), value)))
    };
    let rest = btree_map(proptest::sample::select(MEMBERS), any_json(), 0..3);
    (part("spec", 0.8), part("status", 0.3), part("data", 0.3), part("metadata", 0.1), rest).prop_map(
        |(spec, status, data, metadata, rest)| {
            let rest = rest
                .into_iter()
                .filter(|(key, _)| *key != "metadata")
                .map(|(key, value)| (key.to_owned(), value));
            rest.chain([spec, status, data, metadata].into_iter().flatten()).collect()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

    #[test]
    fn any_object_is_answered(
        target in proptest::sample::select(COLLECTIONS), mut object in any_object(), patch in any_object(), named in proptest::bool::weighted(0.9),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let cluster = cluster();
            if named && object.is_object() && (object["metadata"].is_object() || object["metadata"].is_null()) {
                object["metadata"]["name"] = json!("a");
            }
            send(&cluster, "POST", target, Some(object.clone())).await;
            cluster.settle();
            send(&cluster, "PUT", &format!("{target}/a"), Some(object)).await;
            for media in ["application/merge-patch+json", "application/apply-patch+yaml", "application/strategic-merge-patch+json"] {
                for part in ["", "/status", "/scale"] {
                    let target = format!("{target}/a{part}?fieldManager=x");
                    send_with(&cluster, "PATCH", &target, &[("content-type", media)], Some(patch.clone())).await;
                }
            }
            tokio::time::sleep(std::time::Duration::from_secs(10)).await;
            send(&cluster, "DELETE", &format!("{target}/a"), Some(patch)).await;
            cluster.settle();
            assert!(send(&cluster, "GET", "/api/v1/namespaces", None).await.body["items"].is_array());
        });
    }

    #[test]
    fn any_request_line_is_answered(
        method in "(GET|PUT|POST|PATCH|DELETE|FROB)", path in "(/[a-z0-9.%]{0,12}){0,8}", query in "[a-zA-Z=&%,!()0-9.]{0,40}",
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            for target in [format!("/{path}?{query}"), format!("/api/v1{path}?{query}"), format!("/apis/apps/v1{path}?{query}&timeoutSeconds=1")] {
                if target.parse::<http::Uri>().is_ok() {
                    send(&cluster(), &method, &target, None).await;
                }
            }
        });
    }
}

#[tokio::test]
async fn an_answer_warns_only_so_much() {
    let cluster = quiet();
    let repeated: String =
        (0..40_000).map(|index| format!("\"k{index}\":\"1\",\"k{index}\":\"2\",")).collect();
    let body = format!("{{\"metadata\":{{\"name\":\"a\"}},\"data\":{{{}\"z\":\"\"}}}}", repeated);
    let headers = [("content-type", "application/json")];
    let answer = common::open(&cluster, "POST", COLLECTIONS[0], &headers, body).await;
    assert_eq!(answer.status(), 201);
    let warned: usize = answer.headers().get_all("warning").iter().map(|value| value.len()).sum();
    assert!((1..16 * 1024).contains(&warned), "{warned}");
}

#[tokio::test]
async fn a_patch_of_a_scale_that_is_no_object_is_refused() {
    let cluster = quiet();
    let template =
        json!({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    let spec = json!({"selector": {"matchLabels": {"a": "b"}}, "template": template});
    let deployments = "/apis/apps/v1/namespaces/default/deployments";
    let body = json!({"metadata": {"name": "a"}, "spec": spec});
    assert_eq!(send(&cluster, "POST", deployments, Some(body)).await.code, 201);
    for (media, patch) in [
        ("application/merge-patch+json", json!([1])),
        ("application/strategic-merge-patch+json", json!(1)),
        ("application/json-patch+json", json!([{"op": "replace", "path": "", "value": "x"}])),
    ] {
        let target = format!("{deployments}/a/scale");
        let answer = send_with(&cluster, "PATCH", &target, &[("content-type", media)], Some(patch)).await;
        assert_eq!(answer.code, 400, "{media}");
    }
}
