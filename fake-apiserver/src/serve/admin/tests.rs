//! The control endpoint, route by route.

use axum::body::Body;
use http::{Method, Request};
use http_body_util::BodyExt;
use tower::ServiceExt;

use super::*;

struct Endpoint {
    cluster: FakeApiServer,
    link: Link,
    router: Router,
}

fn endpoint() -> Endpoint {
    let (cluster, link) = (FakeApiServer::builder().build(), Link::new());
    Endpoint { router: router(cluster.clone(), link.clone()), cluster, link }
}

impl Endpoint {
    async fn send(&self, method: Method, path: &str, body: &str) -> (u16, String) {
        let request = Request::builder().method(method).uri(path).body(Body::from(body.to_owned())).unwrap();
        let response = self.router.clone().oneshot(request).await.unwrap();
        let code = response.status().as_u16();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        (code, String::from_utf8(body.to_vec()).unwrap())
    }

    /// What a client of the cluster meets: a status code, or the words of a broken connection.
    async fn version(&self) -> Result<u16, String> {
        let request = Request::get("/version").body(http_body_util::Empty::<Bytes>::new()).unwrap();
        let response = self.cluster.service_with(&self.link).oneshot(request).await;
        response.map(|response| response.status().as_u16()).map_err(|error| error.to_string())
    }
}

#[tokio::test(start_paused = true)]
async fn a_rule_acts_counts_and_goes() {
    let endpoint = endpoint();
    let rule = r#"{"when": {"methods": ["GET"], "path": "/ver*", "times": 1},
                   "then": {"status": {"code": 503, "reason": "ServiceUnavailable", "retryAfter": 1}}}"#;
    assert_eq!(endpoint.send(Method::POST, "/faults", rule).await, (201, "{\"id\":1}\n".into()));
    assert_eq!((endpoint.version().await, endpoint.version().await), (Ok(503), Ok(200)));
    let (_, rules) = endpoint.send(Method::GET, "/faults", "").await;
    let rules: Value = serde_json::from_str(&rules).unwrap();
    assert_eq!((&rules[0]["id"], &rules[0]["hits"]), (&json!(1), &json!(1)));
    assert_eq!(endpoint.send(Method::DELETE, "/faults/1", "").await.0, 204);
    assert_eq!(endpoint.send(Method::DELETE, "/faults/1", "").await.0, 404);
}

#[tokio::test(start_paused = true)]
async fn every_action_has_a_word() {
    let endpoint = endpoint();
    let actions = [
        r#""refuse""#,
        r#""blackHole""#,
        r#"{"delay": "2s"}"#,
        r#""stallBody""#,
        r#"{"cutBody": 100}"#,
        r#""loseResponse""#,
    ];
    for action in actions {
        let (code, text) = endpoint.send(Method::POST, "/faults", &format!("{{\"then\": {action}}}")).await;
        assert_eq!(code, 201, "{action}: {text}");
    }
    assert_eq!(endpoint.version().await, Err("connection refused".into()));
    endpoint.send(Method::DELETE, "/faults", "").await;
    assert_eq!(endpoint.version().await, Ok(200));
}

#[tokio::test(start_paused = true)]
async fn what_is_not_understood_is_refused_and_does_nothing() {
    let endpoint = endpoint();
    let wrong = [
        "",
        "{",
        r#"{"then": "explode"}"#,
        r#"{"then": "refuse", "wehn": {}}"#,
        r#"{"then": {"status": {"code": 99, "reason": "x"}}}"#,
        r#"{"then": {"delay": 2}}"#,
        r#"{"when": {"methods": ["G T"]}, "then": "refuse"}"#,
    ];
    for body in wrong {
        assert_eq!(endpoint.send(Method::POST, "/faults", body).await.0, 400, "{body}");
    }
    assert_eq!(endpoint.version().await, Ok(200));
}

#[tokio::test(start_paused = true)]
async fn the_whole_wire_can_be_cut_and_healed() {
    let endpoint = endpoint();
    endpoint.send(Method::POST, "/cut", "").await;
    assert_eq!(endpoint.version().await, Err("connection refused".into()));
    endpoint.send(Method::POST, "/heal", "").await;
    assert_eq!(endpoint.version().await, Ok(200));
}

#[tokio::test(start_paused = true)]
async fn tokens_come_and_go() {
    let endpoint = endpoint();
    let (code, body) = endpoint.send(Method::POST, "/tokens", r#"{"user": "robot", "ttl": "10m"}"#).await;
    let token = serde_json::from_str::<Value>(&body).unwrap()["token"].as_str().unwrap().to_owned();
    assert_eq!(code, 201);
    let path = format!("/tokens/{token}");
    assert_eq!(endpoint.send(Method::DELETE, &path, "").await.0, 204);
    assert_eq!(endpoint.send(Method::DELETE, &path, "").await.0, 404);
}

#[tokio::test(start_paused = true)]
async fn workloads_get_ready_as_they_are_told() {
    let endpoint = endpoint();
    for readiness in [r#""never""#, r#"{"after": "1s"}"#, r#"{"flapping": "1s"}"#, r#"{"failsAfter": "1s"}"#]
    {
        let body = format!("{{\"name\": \"web*\", \"readiness\": {readiness}}}");
        assert_eq!(endpoint.send(Method::POST, "/workloads", &body).await.0, 204, "{readiness}");
    }
    assert_eq!(
        endpoint.send(Method::POST, "/workloads", r#"{"name": "a", "readiness": "soon"}"#).await.0,
        400
    );
}

#[tokio::test(start_paused = true)]
async fn requests_are_told_without_their_queries() {
    let endpoint = endpoint();
    endpoint.version().await.unwrap();
    let (_, body) = endpoint.send(Method::GET, "/requests", "").await;
    let requests: Value = serde_json::from_str(&body).unwrap();
    assert_eq!((&requests[0]["path"], &requests[0]["code"]), (&json!("/version"), &json!(200)));
    assert_eq!(endpoint.send(Method::POST, "/clock/advance", "").await.0, 501);
}
