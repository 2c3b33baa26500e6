//! Tokens and deadlines around a transport.

use std::collections::BTreeMap;

use async_trait::async_trait;
use bytes::Bytes;
use http_body_util::StreamBody;
use jiff::Timestamp;
use parking_lot::Mutex;

use super::*;
use crate::clock::Clock;
use crate::target::credentials::{Credentials, ExecCredential, ExecRequest};

struct Still;

impl Clock for Still {
    fn now(&self) -> Timestamp {
        Timestamp::constant(1_900_000_000, 0)
    }
}

/// Issues `token-1`, `token-2`, …
struct Counter(Mutex<u32>);

#[async_trait]
impl Credentials for Counter {
    async fn issue(&self, _: &ExecRequest) -> Result<ExecCredential, CredentialError> {
        *self.0.lock() += 1;
        Ok(ExecCredential {
            token: Some(format!("token-{}", self.0.lock()).into()),
            identity: None,
            expires: None,
        })
    }
}

fn credentials() -> Arc<CredentialCache> {
    let text = String::new;
    let request = ExecRequest {
        provider: text(),
        profile: text(),
        api_version: text(),
        command: text(),
        args: Vec::new(),
        env: BTreeMap::new(),
        install_hint: text(),
        cluster: None,
    };
    let limit = Duration::from_secs(10);
    Arc::new(CredentialCache::new(Arc::new(Counter(Mutex::new(0))), request, Arc::new(Still), limit))
}

/// Tokens and bodies, in the order they came.
type Seen = Arc<Mutex<Vec<(String, Bytes)>>>;

/// A server that takes `good` only, and notes each request's token and body.
fn guarded(good: &'static str) -> (Transport, Seen) {
    let seen = Seen::default();
    let log = seen.clone();
    let transport = Transport::new(tower::service_fn(move |request: Request<Body>| {
        let log = log.clone();
        async move {
            let (parts, body) = request.into_parts();
            let token = parts.headers[header::AUTHORIZATION].to_str().unwrap().to_owned();
            let ok = token == format!("Bearer {good}");
            let body = body.collect().await?.to_bytes();
            log.lock().push((token, body));
            let status = if ok { StatusCode::OK } else { StatusCode::UNAUTHORIZED };
            let body = if ok { "{}" } else { r#"{"kind":"Status","code":401,"reason":"Unauthorized"}"# };
            let body = answer_body(Full::from(body));
            Ok::<_, BoxError>(Response::builder().status(status).body(body).unwrap())
        }
    }));
    (transport, seen)
}

fn post() -> Request<Vec<u8>> {
    Request::post("/x").body(b"body".to_vec()).unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_refused_token_is_renewed_once_and_the_request_repeated_whole() {
    let (transport, seen) = guarded("token-2");
    let client = client(transport, Some(credentials()), Duration::from_secs(10));
    client.request_text(post()).await.unwrap();
    let body = Bytes::from_static(b"body");
    let expected = [("Bearer token-1".to_owned(), body.clone()), ("Bearer token-2".to_owned(), body)];
    assert_eq!(*seen.lock(), expected);
}

#[tokio::test(start_paused = true)]
async fn a_token_that_is_refused_twice_is_reported_and_not_retried_further() {
    let (transport, seen) = guarded("none");
    let client = client(transport, Some(credentials()), Duration::from_secs(10));
    let error = client.request_text(post()).await.unwrap_err();
    assert!(matches!(error, kube::Error::Api(status) if status.code == 401));
    assert_eq!(seen.lock().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_token_that_was_refused_is_not_tried_again_by_the_next_request() {
    let (transport, seen) = guarded("none");
    let client = client(transport, Some(credentials()), Duration::from_secs(10));
    for _ in 0..2 {
        client.request_text(post()).await.unwrap_err();
    }
    let tokens: Vec<_> = seen.lock().iter().map(|(token, _)| token.clone()).collect();
    assert_eq!(tokens, ["Bearer token-1", "Bearer token-2", "Bearer token-3", "Bearer token-4"]);
}

/// A server whose headers come at once and whose body never ends.
fn stalling() -> Transport {
    Transport::new(tower::service_fn(|_: Request<Body>| async {
        let body = StreamBody::new(futures::stream::pending::<Result<http_body::Frame<Bytes>, BoxError>>());
        Ok::<_, BoxError>(Response::new(answer_body(body)))
    }))
}

#[tokio::test(start_paused = true)]
async fn a_server_that_stalls_after_the_headers_meets_the_deadline() {
    let client = client(stalling(), None, Duration::from_secs(10));
    let start = tokio::time::Instant::now();
    let error = client.request_text(Request::get("/x").body(Vec::new()).unwrap()).await.unwrap_err();
    assert!(matches!(error, kube::Error::Service(e) if e.is::<DeadlineExceeded>()));
    assert_eq!(start.elapsed(), Duration::from_secs(10));
}

#[tokio::test(start_paused = true)]
async fn a_watch_may_outlast_the_deadline() {
    let client = client(stalling(), None, Duration::from_secs(10));
    let watch = Request::get("/x?watch=true").body(Vec::new()).unwrap();
    assert!(client.request_stream(watch).await.is_ok());
}
