//! From a request on a connection to the cluster and back: bounded bodies, and the faults of the link.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderValue, Request, Response, header};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use parking_lot::Mutex;
use tokio::sync::oneshot;
use tower::{Layer, Service, ServiceExt};

use super::ending::Ending;
use super::gzip::Gzip;
use super::limits::Limits;
use super::pace::paced;
use super::protobuf;
use crate::FakeApiServer;
use crate::fault::{Body, Faulty, Link};
use crate::response::{Accept, BoxError, refuse};
use crate::status::Status;

/// Bytes that are still read, though not kept, of a body that is too large: a client that hears the refusal only
/// after it has sent everything would otherwise see a broken connection.
const MAX_DISCARDED: usize = 256 * 1024 * 1024;

/// The service of every connection.
#[derive(Clone)]
pub(super) struct Wire {
    cluster: Faulty<Gzip>,
    limits: Arc<Limits>,
    ending: Ending,
    /// Told of the first request of a connection.
    asked: Arc<Mutex<Option<oneshot::Sender<()>>>>,
}

impl Wire {
    pub(super) fn new(cluster: &FakeApiServer, link: &Link, limits: &Limits, ending: Ending) -> Self {
        let cluster = link.layer().layer(Gzip(cluster.service()));
        Self { cluster, limits: Arc::new(limits.clone()), ending, asked: Arc::default() }
    }

    /// The same for one connection, whose first request is told of.
    pub(super) fn telling(self, asked: oneshot::Sender<()>) -> Self {
        Self { asked: Arc::new(Mutex::new(Some(asked))), ..self }
    }

    async fn answer(self, request: Request<Incoming>) -> Result<Response<Body>, BoxError> {
        let (mut parts, body) = request.into_parts();
        let body = match tokio::time::timeout(self.limits.body, read(body, self.limits.body_bytes)).await {
            Ok(body) => body?,
            Err(_) => Err(Status::new(408, "Timeout", "the body of the request took too long")),
        };
        let response = match body {
            Ok(body) => {
                let body = as_json(&mut parts, body);
                self.cluster.oneshot(Request::from_parts(parts, Full::<Bytes>::from(body))).await?
            }
            Err(status) => refuse(&status, Accept::default()).map(|body| body.boxed_unsync()),
        };
        let mut response = response.map(|body| paced(body, self.limits.stall, self.ending));
        let no_cache = HeaderValue::from_static("no-cache, private");
        response.headers_mut().entry(header::CACHE_CONTROL).or_insert(no_cache);
        Ok(response)
    }
}

impl Service<Request<Incoming>> for Wire {
    type Response = Response<Body>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Incoming>) -> Self::Future {
        if let Some(asked) = self.asked.lock().take() {
            let _ = asked.send(());
        }
        Box::pin(self.clone().answer(request))
    }
}

/// The body as the cluster understands it: protobuf becomes JSON where it can.
fn as_json(parts: &mut Parts, body: Bytes) -> Bytes {
    let is_protobuf = parts
        .headers
        .get(header::CONTENT_TYPE)
        .is_some_and(|value| value.as_bytes() == protobuf::MEDIA_TYPE.as_bytes());
    let Some(json) = is_protobuf.then(|| protobuf::to_json(&body)).flatten() else { return body };
    parts.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    json.into()
}

/// The whole body, or the refusal of one that is larger than `limit`.
async fn read(mut body: Incoming, limit: usize) -> Result<Result<Bytes, Box<Status>>, BoxError> {
    let (mut kept, mut seen) = (Vec::new(), 0_usize);
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame?.into_data() else { continue };
        seen = seen.saturating_add(data.len());
        if seen > limit.saturating_add(MAX_DISCARDED) {
            break;
        }
        if seen <= limit {
            kept.extend_from_slice(&data);
        } else {
            kept = Vec::new();
        }
    }
    Ok(if seen <= limit { Ok(kept.into()) } else { Err(too_large(limit)) })
}

fn too_large(limit: usize) -> Box<Status> {
    let message = format!("Request entity too large: limit is {limit}");
    Status::new(413, "RequestEntityTooLarge", message)
}
