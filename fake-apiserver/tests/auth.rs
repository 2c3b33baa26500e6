//! Tokens on the simulated clock, RBAC, impersonation, reviews.
#![allow(clippy::unwrap_used, reason = "a test may stop at what it does not expect")]

mod common;

use std::time::Duration;

use common::{config_map, send, send_with};
use fake_apiserver::{FakeApiServer, User};
use http::Request;
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use tower::ServiceExt;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const RBAC: &str = "rbac.authorization.k8s.io/v1";

async fn with_token(cluster: &FakeApiServer, token: &str) -> (u16, Value) {
    let request = Request::get(MAPS).header("authorization", format!("Bearer {token}"));
    let request = request.body(Full::<bytes::Bytes>::default()).unwrap();
    let response = cluster.service().oneshot(request).await.unwrap();
    let code = response.status().as_u16();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    (code, serde_json::from_slice(&bytes).unwrap())
}

fn guarded() -> FakeApiServer {
    FakeApiServer::builder().seed(1).rbac(true).build()
}

fn grant(cluster: &FakeApiServer, user: &str, rules: &Value) {
    let role = json!({"apiVersion": RBAC, "kind": "Role", "metadata": {"name": user, "namespace": "default"}, "rules": rules});
    cluster.create(role).unwrap();
    let binding = json!({
        "apiVersion": RBAC, "kind": "RoleBinding", "metadata": {"name": user, "namespace": "default"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": user},
        "subjects": [{"kind": "User", "name": user}],
    });
    cluster.create(binding).unwrap();
}

async fn as_user(
    cluster: &FakeApiServer,
    user: &str,
    method: &str,
    target: &str,
    body: Option<Value>,
) -> (u16, String) {
    let answer = send_with(cluster, method, target, &[("impersonate-user", user)], body).await;
    (answer.code, answer.body["message"].as_str().unwrap_or_default().to_owned())
}

#[tokio::test(start_paused = true)]
async fn a_token_dies_when_its_time_has_come() {
    let cluster = FakeApiServer::builder().build();
    let token = cluster.tokens().issue("robot", ["team"], Some(Duration::from_secs(60)));
    assert_eq!(with_token(&cluster, &token).await.0, 200);
    tokio::time::sleep(Duration::from_secs(59)).await;
    assert_eq!(with_token(&cluster, &token).await.0, 200);
    tokio::time::sleep(Duration::from_secs(1)).await;
    let (code, body) = with_token(&cluster, &token).await;
    assert_eq!(
        (code, &body["reason"], &body["message"]),
        (401, &json!("Unauthorized"), &json!("Unauthorized"))
    );
}

#[tokio::test]
async fn a_revoked_token_is_refused() {
    let cluster = FakeApiServer::builder().build();
    let token = cluster.tokens().issue("robot", ["team"], None);
    assert!(cluster.tokens().revoke(&token));
    assert_eq!(with_token(&cluster, &token).await.0, 401);
    assert!(!cluster.tokens().revoke(&token));
}

#[tokio::test]
async fn a_request_without_credentials_is_anonymous_and_forbidden() {
    let cluster = FakeApiServer::builder().build();
    let request = Request::get("/api/v1/namespaces").body(Full::<bytes::Bytes>::default()).unwrap();
    assert_eq!(cluster.service().oneshot(request).await.unwrap().status(), 403);
    let record = cluster.requests().pop().unwrap();
    assert_eq!((record.user.as_str(), record.code), ("system:anonymous", 403));
}

#[tokio::test]
async fn rbac_allows_what_a_role_lists_and_says_what_it_refuses() {
    let cluster = guarded();
    grant(&cluster, "ann", &json!([{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"]}]));
    assert_eq!(as_user(&cluster, "ann", "GET", MAPS, None).await.0, 200);
    let (code, message) = as_user(&cluster, "ann", "POST", MAPS, Some(config_map("a"))).await;
    assert_eq!(code, 403);
    let expected = "configmaps is forbidden: User \"ann\" cannot create resource \"configmaps\" in API group \"\" in \
                    the namespace \"default\"";
    assert_eq!(message, expected);
    assert_eq!(as_user(&cluster, "ann", "GET", "/api/v1/configmaps", None).await.0, 403);
    assert_eq!(
        send(&cluster, "GET", "/api/v1/configmaps", None).await.code,
        200,
        "masters may do everything"
    );
}

#[tokio::test]
async fn an_apply_that_creates_needs_the_verb_create() {
    let cluster = guarded();
    grant(&cluster, "ann", &json!([{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["patch"]}]));
    let headers = [("impersonate-user", "ann"), ("content-type", "application/apply-patch+yaml")];
    let target = format!("{MAPS}/a?fieldManager=x");
    let answer = send_with(&cluster, "PATCH", &target, &headers, Some(config_map("a"))).await;
    assert_eq!(answer.code, 403);
    cluster.create(config_map("a")).unwrap();
    assert_eq!(send_with(&cluster, "PATCH", &target, &headers, Some(config_map("a"))).await.code, 200);
}

#[tokio::test]
async fn nobody_grants_what_they_do_not_hold() {
    let cluster = guarded();
    let roles =
        json!({"apiGroups": ["rbac.authorization.k8s.io"], "resources": ["roles"], "verbs": ["create"]});
    let maps = json!({"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]});
    grant(&cluster, "ann", &json!([roles, maps]));
    let target = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles";
    let role = |verb: &str| {
        let rules = json!([{"apiGroups": [""], "resources": ["configmaps"], "verbs": [verb]}]);
        Some(json!({"metadata": {"name": verb}, "rules": rules}))
    };
    assert_eq!(as_user(&cluster, "ann", "POST", target, role("get")).await.0, 201);
    let (code, message) = as_user(&cluster, "ann", "POST", target, role("delete")).await;
    assert_eq!(code, 403);
    assert!(
        message.ends_with("{APIGroups:[\"\"], Resources:[\"configmaps\"], Verbs:[\"delete\"]}"),
        "{message}"
    );
}

#[tokio::test]
async fn impersonation_needs_permission() {
    let cluster = guarded();
    let service = cluster.service_as(User::new("ann", ["team"]));
    let request =
        Request::get(MAPS).header("impersonate-user", "bob").body(Full::<bytes::Bytes>::default()).unwrap();
    assert_eq!(service.oneshot(request).await.unwrap().status(), 403);
}

#[tokio::test]
async fn access_reviews_answer_with_the_reason() {
    let cluster = guarded();
    grant(&cluster, "ann", &json!([{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"]}]));
    let attributes = json!({"verb": "list", "resource": "configmaps", "namespace": "default"});
    let review = json!({"spec": {"user": "ann", "resourceAttributes": attributes}});
    let target = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
    let status = send(&cluster, "POST", target, Some(review)).await.body["status"].clone();
    let reason = "RBAC: allowed by RoleBinding \"ann/default\" of Role \"ann\" to User \"ann\"";
    assert_eq!(status, json!({"allowed": true, "reason": reason}));
}

#[tokio::test(start_paused = true)]
async fn a_service_account_token_stands_for_the_account_until_it_expires() {
    let cluster = FakeApiServer::builder().build();
    let target = "/api/v1/namespaces/default/serviceaccounts/default/token";
    let answer = send(&cluster, "POST", target, Some(json!({"spec": {"expirationSeconds": 600}}))).await;
    assert_eq!(answer.code, 201);
    let token = answer.body["status"]["token"].as_str().unwrap().to_owned();
    assert_eq!(with_token(&cluster, &token).await.0, 200);
    assert_eq!(cluster.requests().pop().unwrap().user, "system:serviceaccount:default:default");
    tokio::time::sleep(Duration::from_secs(601)).await;
    assert_eq!(with_token(&cluster, &token).await.0, 401);
}

#[tokio::test]
async fn aggregated_roles_collect_the_rules_of_labelled_ones() {
    let cluster = guarded();
    let rule = json!({"apiGroups": ["x.io"], "resources": ["things"], "verbs": ["get"]});
    let label = json!({"rbac.authorization.k8s.io/aggregate-to-view": "true"});
    let role = json!({"apiVersion": RBAC, "kind": "ClusterRole", "metadata": {"name": "things", "labels": label}, "rules": [rule]});
    cluster.create(role).unwrap();
    cluster.settle();
    let rules =
        || cluster.get("rbac.authorization.k8s.io", "ClusterRole", "", "view").unwrap()["rules"].clone();
    assert_eq!(rules(), json!([rule]));
    cluster.remove("rbac.authorization.k8s.io", "ClusterRole", "", "things").unwrap();
    cluster.settle();
    assert_eq!(rules(), Value::Null);
}
