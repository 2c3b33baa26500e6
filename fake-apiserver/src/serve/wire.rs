//! From a request on a connection to the cluster and back: bounded bodies, the faults of the link, and the end of
//! watches when the server ends.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderValue, Request, Response, header};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use tower::{Layer, Service, ServiceExt};

use super::ending::Ending;
use super::protobuf;
use crate::fault::{Body, Faulty, Link};
use crate::response::{Accept, BoxError, refuse};
use crate::status::Status;
use crate::{FakeApiServer, FakeService};

/// Bytes that the body of a request may have, as for a real server (etcd takes no more).
const MAX_BODY: usize = 3 * 1024 * 1024;

/// Bytes that are still read, though not kept, of a body that is too large: a client that hears the refusal only
/// after it has sent everything would otherwise see a broken connection.
const MAX_DISCARDED: usize = 256 * 1024 * 1024;

/// How long a client may take to send the body of a request.
const BODY_TIME: Duration = Duration::from_secs(60);

/// The service of every connection.
#[derive(Clone)]
pub(super) struct Wire {
    cluster: Faulty<FakeService>,
    ending: Ending,
}

impl Wire {
    pub(super) fn new(cluster: &FakeApiServer, link: &Link, ending: Ending) -> Self {
        Self { cluster: link.layer().layer(cluster.service()), ending }
    }

    async fn answer(self, request: Request<Incoming>) -> Result<Response<Body>, BoxError> {
        let (mut parts, body) = request.into_parts();
        let body = match tokio::time::timeout(BODY_TIME, read(body)).await {
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
        let mut response = response.map(|body| until_the_end(body, self.ending));
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

/// The whole body, or the refusal of one that is too large.
async fn read(mut body: Incoming) -> Result<Result<Bytes, Box<Status>>, BoxError> {
    let (mut kept, mut seen) = (Vec::new(), 0_usize);
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame?.into_data() else { continue };
        seen = seen.saturating_add(data.len());
        if seen > MAX_DISCARDED {
            break;
        }
        if seen <= MAX_BODY {
            kept.extend_from_slice(&data);
        } else {
            kept = Vec::new();
        }
    }
    Ok(if seen <= MAX_BODY { Ok(kept.into()) } else { Err(too_large()) })
}

fn too_large() -> Box<Status> {
    let message = format!("Request entity too large: limit is {MAX_BODY}");
    Status::new(413, "RequestEntityTooLarge", message)
}

/// The body, cut short without an error when the server ends: so clients see a watch that is over.
fn until_the_end(body: Body, ending: Ending) -> Body {
    use http_body::Body as _;
    if body.size_hint().exact().is_some() {
        return body;
    }
    let frames = futures::stream::unfold((body, ending), |(mut body, mut ending)| async move {
        let frame = tokio::select! {
            biased;
            frame = body.frame() => frame?,
            () = ending.came() => return None,
        };
        Some((frame, (body, ending)))
    });
    http_body_util::StreamBody::new(frames).boxed_unsync()
}
