//! Raw requests against a cluster.
#![allow(dead_code, reason = "each test file uses its part")]
#![allow(unreachable_pub, missing_docs, clippy::unwrap_used, reason = "a module of test binaries")]

use fake_apiserver::{FakeApiServer, ResponseBody, User};
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use serde_json::Value;
use tower::ServiceExt;

/// An answer with its JSON body (null when it is not JSON).
pub struct Answer {
    pub code: u16,
    pub headers: http::HeaderMap,
    pub text: String,
    pub body: Value,
}

/// Sends a request as an administrator; the body is JSON.
pub async fn send(cluster: &FakeApiServer, method: &str, target: &str, body: Option<Value>) -> Answer {
    send_with(cluster, method, target, &[], body).await
}

pub async fn send_with(
    cluster: &FakeApiServer,
    method: &str,
    target: &str,
    headers: &[(&str, &str)],
    body: Option<Value>,
) -> Answer {
    let text = body.map(|body| body.to_string()).unwrap_or_default();
    let response = open(cluster, method, target, headers, text).await;
    let (parts, body) = response.into_parts();
    let bytes = body.collect().await.unwrap().to_bytes();
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    Answer {
        code: parts.status.as_u16(),
        headers: parts.headers,
        body: serde_json::from_str(&text).unwrap_or_default(),
        text,
    }
}

/// Sends a request and returns the response as it is, for watches.
pub async fn open(
    cluster: &FakeApiServer,
    method: &str,
    target: &str,
    headers: &[(&str, &str)],
    body: String,
) -> Response<ResponseBody> {
    let mut request = Request::builder().method(method).uri(target);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(Full::new(body.into_bytes().into())).unwrap() as Request<Full<bytes::Bytes>>;
    cluster.service_as(User::admin()).oneshot(request).await.unwrap()
}

/// A watch that is read event by event.
pub struct Events {
    body: ResponseBody,
    buffer: Vec<u8>,
}

impl Events {
    pub async fn open(cluster: &FakeApiServer, target: &str) -> Self {
        let response = open(cluster, "GET", target, &[], String::new()).await;
        assert_eq!(response.status(), 200, "{target}");
        Self { body: response.into_body(), buffer: Vec::new() }
    }

    /// The events of a watch that has ended.
    pub fn read(body: &[u8]) -> Vec<Value> {
        let lines = body.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        lines.map(|line| serde_json::from_slice(line).unwrap()).collect()
    }

    /// The next event; `None` when the watch has ended.
    pub async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.buffer.drain(..=end).collect();
                return Some(serde_json::from_slice(&line).unwrap());
            }
            let frame = self.body.frame().await?.unwrap();
            self.buffer.extend_from_slice(frame.data_ref().unwrap());
        }
    }

    /// The next event in short: its type and the name and data.v of its object.
    pub async fn brief(&mut self) -> Option<String> {
        let event = self.next().await?;
        let object = &event["object"];
        let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
        Some(format!(
            "{} {} {}",
            text(&event["type"]),
            text(&object["metadata"]["name"]),
            text(&object["data"]["v"])
        ))
    }
}

/// A cluster whose answers do not change from run to run.
pub fn cluster() -> FakeApiServer {
    FakeApiServer::builder().seed(1).epoch("2024-01-01T00:00:00Z".parse().unwrap()).build()
}

/// A cluster in which nothing happens by itself.
pub fn quiet() -> FakeApiServer {
    let epoch = "2024-01-01T00:00:00Z".parse().unwrap();
    FakeApiServer::builder().seed(1).epoch(epoch).controllers(fake_apiserver::Controllers::none()).build()
}

/// A ConfigMap in `default`.
pub fn config_map(name: &str) -> Value {
    serde_json::json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}})
}

/// `value`'s members over `base`'s, deeply.
pub fn with(mut base: Value, value: Value) -> Value {
    merge(&mut base, value);
    base
}

fn merge(base: &mut Value, value: Value) {
    match value {
        Value::Object(members) if base.is_object() => {
            members.into_iter().for_each(|(key, value)| merge(&mut base[key], value));
        }
        value => *base = value,
    }
}
