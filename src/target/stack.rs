//! The one client stack, with the transport as a parameter.
//!
//! `kube::Client` → deadline → bearer token → transport. Production and tests differ in the transport only.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Request, Response, StatusCode, header};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use kube::client::Body;
use secrecy::{ExposeSecret, SecretString};
use tower::util::BoxCloneSyncService;
use tower::{BoxError, ServiceExt};

use super::credentials::{ClientIdentity, CredentialCache, CredentialError};
use super::endpoint::Endpoint;
use super::wires::{Wires, refuses_certificate};

/// Carries one HTTP request to a cluster and the answer back. It adds no credentials and no deadline.
pub type Transport = BoxCloneSyncService<Request<Body>, Response<AnswerBody>, BoxError>;

/// The body of an answer: whole, or a stream that may last.
pub type AnswerBody = UnsyncBoxBody<Bytes, BoxError>;

/// Opens transports.
pub trait Connector: Send + Sync + 'static {
    /// A transport to the endpoint. Nothing needs to be sent yet.
    ///
    /// # Errors
    /// [`ConnectError`] when the connection data cannot be used.
    fn connect(&self, endpoint: &Endpoint) -> Result<Transport, ConnectError>;

    /// A transport to the endpoint that shows a client certificate. Nothing needs to be sent yet.
    ///
    /// # Errors
    /// [`ConnectError`] when the certificate cannot be used, or transports of this kind have none.
    fn connect_as(&self, endpoint: &Endpoint, _identity: &ClientIdentity) -> Result<Transport, ConnectError> {
        let reason = "client certificates are for TLS only".into();
        Err(ConnectError { server: endpoint.server.clone(), reason })
    }
}

/// Why connection data cannot be used (a bad URL, certificates that do not parse, an unknown proxy scheme).
#[derive(Clone, Debug, thiserror::Error)]
#[error("cannot connect to {server}: {reason}")]
pub struct ConnectError {
    /// The endpoint's server.
    pub server: String,
    /// What is wrong.
    pub reason: String,
}

/// No complete answer came in time.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("no complete answer within {0:?}")]
pub struct DeadlineExceeded(pub Duration);

/// How long a watch may say nothing. Servers send bookmarks every minute and end a watch of ours after less than five
/// (`kube-runtime`, `watcher::Config`); one that is silent for longer has lost its connection and will never know.
pub const WATCH_SILENCE: Duration = Duration::from_secs(300);

/// [`spoke_client`] over one `transport`, where there are no client certificates.
pub fn client(
    transport: Transport,
    credentials: Option<Arc<CredentialCache>>,
    deadline: Duration,
) -> kube::Client {
    spoke_client(Arc::new(Wires::fixed(transport)), credentials, deadline)
}

/// A client over `wires`. Every request must be answered in full within `deadline`; a watch must begin in that
/// time and may last, but not be silent for longer than [`WATCH_SILENCE`]. With `credentials`, each request carries the
/// current token and goes over a connection with the current certificate; refused ones (401, or by TLS) are renewed and
/// the request sent once more, which is safe because a refused request had no effect.
pub fn spoke_client(
    wires: Arc<Wires>,
    credentials: Option<Arc<CredentialCache>>,
    deadline: Duration,
) -> kube::Client {
    let service = tower::service_fn(move |request: Request<Body>| {
        let (wires, credentials) = (wires.clone(), credentials.clone());
        async move {
            let watch = is_watch(request.uri());
            let exchange = async {
                let response = match credentials {
                    Some(credentials) => send_with_credential(&wires, &credentials, request).await?,
                    None => wires.plain().oneshot(request).await?,
                };
                if watch { Ok(response.map(never_silent)) } else { read_whole(response).await }
            };
            match tokio::time::timeout(deadline, exchange).await {
                Ok(answer) => answer,
                Err(_) => Err(BoxError::from(DeadlineExceeded(deadline))),
            }
        }
    });
    kube::Client::new(service, "default")
}

fn is_watch(uri: &http::Uri) -> bool {
    uri.query().unwrap_or_default().split('&').any(|pair| matches!(pair, "watch=true" | "watch=1"))
}

/// Reads the body, so that a server that stalls after the headers meets the deadline too.
async fn read_whole(response: Response<AnswerBody>) -> Result<Response<AnswerBody>, BoxError> {
    let (parts, body) = response.into_parts();
    let bytes = body.collect().await?.to_bytes();
    Ok(Response::from_parts(parts, answer_body(Full::new(bytes))))
}

/// The body, which fails when nothing comes for too long.
fn never_silent(body: AnswerBody) -> AnswerBody {
    let frames = futures::stream::unfold(Some(body), |body| async move {
        let mut body = body?;
        match tokio::time::timeout(WATCH_SILENCE, body.frame()).await {
            Ok(None) => None,
            Ok(Some(frame)) => Some((frame, Some(body))),
            Err(_) => Some((Err(BoxError::from(DeadlineExceeded(WATCH_SILENCE))), None)),
        }
    });
    answer_body(StreamBody::new(frames))
}

/// Any body as an [`AnswerBody`].
pub fn answer_body<B>(body: B) -> AnswerBody
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    body.map_err(Into::into).boxed_unsync()
}

async fn send_with_credential(
    wires: &Wires,
    credentials: &CredentialCache,
    request: Request<Body>,
) -> Result<Response<AnswerBody>, BoxError> {
    let (parts, body) = request.into_parts();
    let body = body.collect().await.map_err(BoxError::from)?.to_bytes();
    let mut lease = credentials.lease().await?;
    for last in [false, true] {
        let mut attempt = Request::from_parts(parts.clone(), Body::from(body.clone()));
        if let Some(token) = &lease.token {
            attempt.headers_mut().insert(header::AUTHORIZATION, bearer(token, credentials)?);
        }
        let transport = wires.transport_of(&lease).map_err(|error| credentials.failed(error.reason))?;
        let answer = transport.oneshot(attempt).await;
        let refused = match &answer {
            Ok(response) => response.status() == StatusCode::UNAUTHORIZED,
            Err(error) => lease.identity.is_some() && refuses_certificate(&**error),
        };
        if !refused {
            return answer;
        }
        if last {
            credentials.forget(lease.serial).await;
            return answer;
        }
        lease = credentials.renew(lease.serial).await?;
    }
    unreachable!("the second attempt returns")
}

fn bearer(token: &SecretString, credentials: &CredentialCache) -> Result<HeaderValue, CredentialError> {
    let mut value = HeaderValue::try_from(format!("Bearer {}", token.expose_secret()))
        .map_err(|_| credentials.failed("the token holds characters that no header may hold"))?;
    value.set_sensitive(true);
    Ok(value)
}

#[cfg(test)]
mod tests;
