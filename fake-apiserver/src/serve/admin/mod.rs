//! The control endpoint: faults and other events on demand, over plain HTTP, for tests in any language.
//!
//! Whoever reaches it controls the cluster; it is off unless asked for and belongs on a loopback address. Bodies are
//! JSON, whatever the content type says. Durations are written `500ms`, `2s`, `1m30s`.
//!
//! | request | effect |
//! |---|---|
//! | `GET /healthz` | `ok` |
//! | `POST /faults` | adds a rule ([`shapes::Rule`]); `{"id": 1}` |
//! | `GET /faults` | the rules, each with `id` and how often it acted (`hits`) |
//! | `DELETE /faults`, `DELETE /faults/{id}` | removes all rules, or one |
//! | `POST /cut`, `/black-hole`, `/heal` | breaks all connections and refuses requests; holds everything back; ends both |
//! | `POST /drop-connections` | breaks what is open, once |
//! | `POST /compact` | forgets all history: old versions answer 410 |
//! | `POST /gc/pause`, `/gc/resume` | the garbage collector |
//! | `POST /workloads` | how workloads get ready ([`shapes::Script`]) |
//! | `POST /tokens` | makes or accepts a token ([`shapes::TokenRequest`]); `{"token": "…"}` |
//! | `DELETE /tokens/{token}` | refuses a token from now on |
//! | `GET /requests` | the latest requests, oldest first; `DELETE` forgets them |
//! | `POST /clock/advance` | 501: a server on real sockets lives in real time |

mod shapes;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, delete, get, post};
use parking_lot::Mutex;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::FakeApiServer;
use crate::fault::{Link, RuleId};

/// What is controlled.
#[derive(Clone)]
struct Control {
    cluster: FakeApiServer,
    link: Link,
    faults: Arc<Mutex<Faults>>,
}

/// The rules that came this way, as they came.
#[derive(Default)]
struct Faults {
    newest: u64,
    rules: BTreeMap<u64, (RuleId, Value)>,
}

/// Serves the control endpoint of a cluster behind a link for as long as it is polled.
pub async fn serve(listener: TcpListener, cluster: FakeApiServer, link: Link) {
    // Errors of single connections end there; the listener itself cannot fail.
    let _ = axum::serve(listener, router(cluster, link)).await;
}

fn router(cluster: FakeApiServer, link: Link) -> Router {
    let control = Control { cluster, link, faults: Arc::default() };
    Router::new()
        .route("/healthz", get(async || "ok"))
        .route("/faults", get(faults).post(add_fault).delete(clear_faults))
        .route("/faults/{id}", delete(remove_fault))
        .route("/cut", event(|control| control.link.cut()))
        .route("/black-hole", event(|control| control.link.black_hole()))
        .route("/heal", event(|control| control.link.heal()))
        .route("/drop-connections", event(|control| control.link.drop_connections()))
        .route("/compact", event(|control| control.cluster.compact()))
        .route("/gc/pause", event(|control| control.cluster.pause_gc()))
        .route("/gc/resume", event(|control| control.cluster.resume_gc()))
        .route("/workloads", post(script))
        .route("/tokens", post(issue))
        .route("/tokens/{token}", delete(revoke))
        .route("/requests", get(requests).delete(forget_requests))
        .route("/clock/advance", post(advance))
        .with_state(control)
}

/// A POST that makes something happen and says nothing.
fn event(happen: fn(&Control)) -> MethodRouter<Control> {
    post(async move |State(control): State<Control>| {
        happen(&control);
        StatusCode::NO_CONTENT
    })
}

async fn faults(State(control): State<Control>) -> Response {
    let faults = control.faults.lock();
    let rules = faults.rules.iter().map(|(id, (rule, text))| {
        let mut entry = text.clone();
        entry["id"] = json!(id);
        entry["hits"] = json!(control.link.hits(*rule));
        entry
    });
    answer(StatusCode::OK, &Value::Array(rules.collect()))
}

async fn add_fault(State(control): State<Control>, body: Bytes) -> Result<Response, Refusal> {
    let text: Value = read(&body)?;
    let rule: shapes::Rule = read(&body)?;
    let rule = control.link.add(rule.try_into().map_err(Refusal)?);
    let mut faults = control.faults.lock();
    faults.newest += 1;
    let id = faults.newest;
    faults.rules.insert(id, (rule, text));
    Ok(answer(StatusCode::CREATED, &json!({ "id": id })))
}

async fn remove_fault(State(control): State<Control>, Path(id): Path<u64>) -> StatusCode {
    let Some((rule, _)) = control.faults.lock().rules.remove(&id) else { return StatusCode::NOT_FOUND };
    control.link.remove(rule);
    StatusCode::NO_CONTENT
}

async fn clear_faults(State(control): State<Control>) -> StatusCode {
    let removed = std::mem::take(&mut control.faults.lock().rules);
    removed.into_values().for_each(|(rule, _)| control.link.remove(rule));
    StatusCode::NO_CONTENT
}

async fn script(State(control): State<Control>, body: Bytes) -> Result<StatusCode, Refusal> {
    let script: shapes::Script = read(&body)?;
    control.cluster.workloads().script(&script.name, script.readiness.into());
    Ok(StatusCode::NO_CONTENT)
}

async fn issue(State(control): State<Control>, body: Bytes) -> Result<Response, Refusal> {
    let shapes::TokenRequest { user, groups, token, ttl } = read(&body)?;
    let (tokens, ttl) = (control.cluster.tokens(), ttl.map(Into::into));
    let token = match token {
        Some(token) => {
            tokens.accept(&token, &user, groups, ttl);
            token
        }
        None => tokens.issue(&user, groups, ttl),
    };
    Ok(answer(StatusCode::CREATED, &json!({ "token": token })))
}

async fn revoke(State(control): State<Control>, Path(token): Path<String>) -> StatusCode {
    if control.cluster.tokens().revoke(&token) { StatusCode::NO_CONTENT } else { StatusCode::NOT_FOUND }
}

async fn requests(State(control): State<Control>) -> Response {
    let records = control.cluster.requests();
    let entries = records.iter().map(|record| {
        json!({
            "at": record.at.to_string(),
            "user": record.user,
            "verb": record.info.verb,
            "path": record.info.path,
            "code": record.code,
            "revision": record.revision,
        })
    });
    answer(StatusCode::OK, &Value::Array(entries.collect()))
}

async fn forget_requests(State(control): State<Control>) -> StatusCode {
    control.cluster.clear_requests();
    StatusCode::NO_CONTENT
}

async fn advance() -> (StatusCode, &'static str) {
    (StatusCode::NOT_IMPLEMENTED, "time can be advanced in process only, where it is simulated\n")
}

fn answer(code: StatusCode, body: &Value) -> Response {
    (code, [(header::CONTENT_TYPE, "application/json")], format!("{body}\n")).into_response()
}

/// What was wrong with a body.
struct Refusal(String);

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        (StatusCode::BAD_REQUEST, format!("{}\n", self.0)).into_response()
    }
}

fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, Refusal> {
    serde_json::from_slice(body).map_err(|why| Refusal(why.to_string()))
}
