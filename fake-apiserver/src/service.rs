//! The tower service around a cluster: authenticates, answers under the lock, and calls webhooks between attempts.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Request, Response, header};
use http_body_util::BodyExt;
use serde_json::Value;

use crate::auth::User;
use crate::auth::impersonation::impersonate;
use crate::auth::token::AUDIENCE;
use crate::incoming::{Incoming, text_header};
use crate::request::RequestInfo;
use crate::response::{Accept, BoxError, ResponseBody, refuse};
use crate::server::FakeApiServer;
use crate::state::State;
use crate::status::{Answer, Status};
use crate::webhooks::exchange::{Exchange, Question};
use crate::{warnings, webhooks};

/// A cluster as a tower service for any body. Made by [`FakeApiServer::service`].
#[derive(Clone, Debug)]
pub struct FakeService {
    cluster: FakeApiServer,
    identity: Option<User>,
}

impl FakeService {
    pub(crate) fn new(cluster: FakeApiServer, identity: Option<User>) -> Self {
        Self { cluster, identity }
    }
}

impl<B> tower::Service<Request<B>> for FakeService
where
    B: http_body::Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<BoxError>,
{
    type Response = Response<ResponseBody>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let this = self.clone();
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            let body = body.collect().await.map_err(Into::into)?.to_bytes();
            let exchange = Exchange::default();
            loop {
                let attempt = attempt(&this.cluster, &parts, &body, this.identity.as_ref(), &exchange);
                match attempt {
                    Attempt::Answered(response) => return Ok(response),
                    Attempt::Asks(question) => {
                        let reply = webhooks::ask(this.cluster.shared(), &question).await;
                        exchange.note(*question, reply);
                    }
                }
            }
        })
    }
}

/// How an attempt to answer a request ends.
enum Attempt {
    Answered(Response<ResponseBody>),
    /// A webhook has to be called first; nothing has changed.
    Asks(Box<Question>),
}

/// Answers one request, if nothing has to be asked first.
fn attempt(
    cluster: &FakeApiServer,
    parts: &Parts,
    body: &Bytes,
    identity: Option<&User>,
    exchange: &Exchange,
) -> Attempt {
    cluster.ensure_controllers();
    let info = RequestInfo::parse(&parts.method, parts.uri.path(), parts.uri.query().unwrap_or_default());
    let accept = Accept::parse(text_header(&parts.headers, header::ACCEPT)).unwrap_or_default();
    let mut guard = cluster.lock();
    let state = &mut *guard;
    let user = authenticate(state, cluster, &parts.headers, &info, identity);
    let later = exchange.begin(&mut state.ids);
    let outcome = user.clone().map(|user| {
        let warnings = Vec::new();
        let mut request = Incoming { cluster, parts, body, info: &info, user, exchange, warnings };
        let mut response = request.answer(state).unwrap_or_else(|status| refuse(&status, accept));
        for text in warnings::bounded(&request.warnings) {
            let quoted = format!("299 - {}", Value::String(text));
            if let Ok(value) = HeaderValue::from_str(&quoted) {
                response.headers_mut().append(header::WARNING, value);
            }
        }
        response
    });
    if let Some(later) = later {
        state.ids = later;
    }
    if let Some(question) = exchange.open() {
        return Attempt::Asks(Box::new(question));
    }
    let revision = state.storage.revision();
    let changed = state.storage.has_feed();
    drop(guard);
    if changed {
        cluster.wake_controllers();
    }
    let response = outcome.unwrap_or_else(|status| refuse(&status, accept));
    cluster.record(&info, user.ok(), response.status().as_u16(), revision);
    Attempt::Answered(response)
}

fn authenticate(
    state: &State,
    cluster: &FakeApiServer,
    headers: &HeaderMap,
    info: &RequestInfo,
    identity: Option<&User>,
) -> Answer<User> {
    let user = match (identity, text_header(headers, header::AUTHORIZATION).split_once(' ')) {
        (Some(user), _) => user.clone(),
        (None, Some((scheme, token))) if scheme.eq_ignore_ascii_case("bearer") => {
            let grant = state.tokens.grant(token.trim(), &state.storage, cluster.now());
            let grant = grant.filter(|grant| !grant.meant_for(&[AUDIENCE.to_owned()]).is_empty());
            grant.ok_or_else(Status::unauthorized)?.user.clone()
        }
        _ => User::anonymous(),
    };
    impersonate(state, user, headers, info)
}
