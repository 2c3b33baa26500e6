//! Calling webhooks: who answers for which Service or URL, and the calls themselves.
//!
//! A request is answered under the cluster's lock, and nothing is called under a lock: see [`exchange`]. What is sent
//! and what the answers mean is the business of `admission::webhook` and `convert::webhook`.

pub(crate) mod exchange;

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response, header};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tower::util::BoxCloneSyncService;
use tower::{Service, ServiceExt};

use crate::response::BoxError;
use crate::server::FakeApiServer;
use crate::state::State;
use exchange::{Question, Reply, Target};

/// What answers for a webhook.
pub(crate) type Backend = BoxCloneSyncService<Request<Bytes>, Response<Bytes>, BoxError>;

/// The PEM certificates by which a webhook is trusted (`caBundle`); an extension of the requests sent to it.
#[derive(Clone, Debug, Default)]
pub struct CaBundle(pub Bytes);

/// Who answers.
#[derive(Clone, Default)]
pub(crate) struct Backends {
    /// By `NAMESPACE/NAME`.
    services: BTreeMap<String, Backend>,
    /// By URL, without a query.
    urls: BTreeMap<String, Backend>,
    /// For all other URLs.
    network: Option<Backend>,
}

/// Whether somebody answers, apart from the cluster's own Services and Deployments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Answered {
    /// Calls are made.
    Yes,
    /// Nobody: a Service's webhooks admit everything, a URL refuses connections.
    No,
}

impl Backends {
    fn find(&self, target: &Target) -> Option<&Backend> {
        match target {
            Target::Service(key) => self.services.get(key),
            Target::Url(url) => self.urls.get(url).or(self.network.as_ref()),
        }
    }

    pub(crate) fn answers(&self, target: &Target) -> Answered {
        if self.find(target).is_some() { Answered::Yes } else { Answered::No }
    }
}

impl std::fmt::Debug for Backends {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let services: Vec<_> = self.services.keys().collect();
        f.debug_struct("Backends").field("services", &services).finish_non_exhaustive()
    }
}

/// The webhooks of a cluster.
///
/// Without more, a webhook is not called: it admits everything once its Service exists and a Deployment behind that is
/// available, and cannot be reached before. What is registered here is called instead, under the same conditions.
#[derive(Clone, Copy, Debug)]
pub struct Webhooks<'a> {
    cluster: &'a FakeApiServer,
}

impl<'a> Webhooks<'a> {
    pub(crate) fn of(cluster: &'a FakeApiServer) -> Self {
        Self { cluster }
    }

    /// Sends what is meant for a Service to `service`: POST requests with an `AdmissionReview` or a
    /// `ConversionReview`, answered by another.
    pub fn serve_service<S>(&self, namespace: &str, name: &str, service: S)
    where
        S: Service<Request<Bytes>, Response = Response<Bytes>> + Clone + Send + Sync + 'static,
        S::Error: Into<BoxError>,
        S::Future: Send + 'static,
    {
        let backend = BoxCloneSyncService::new(service.map_err(Into::into));
        self.cluster.lock().webhooks.services.insert(format!("{namespace}/{name}"), backend);
    }

    /// Sends what is meant for a URL to `service`.
    pub fn serve_url<S>(&self, url: &str, service: S)
    where
        S: Service<Request<Bytes>, Response = Response<Bytes>> + Clone + Send + Sync + 'static,
        S::Error: Into<BoxError>,
        S::Future: Send + 'static,
    {
        let backend = BoxCloneSyncService::new(service.map_err(Into::into));
        let url = url.split('?').next().unwrap_or_default().to_owned();
        self.cluster.lock().webhooks.urls.insert(url, backend);
    }

    /// Answers what is meant for a Service by a function from the review's `request` to its `response`; the review
    /// around them and the `uid` are taken care of.
    pub fn answer_with(
        &self,
        namespace: &str,
        name: &str,
        answer: impl Fn(&Value) -> Value + Send + Sync + 'static,
    ) {
        let answer = Arc::new(answer);
        let service = tower::service_fn(move |request: Request<Bytes>| {
            let answer = answer.clone();
            async move { reviewed(&request, &*answer) }
        });
        self.serve_service(namespace, name, service);
    }

    /// Sends what is meant for URLs that nobody here answers for over the network.
    #[cfg(feature = "server")]
    pub(crate) fn serve_network<S>(&self, service: S)
    where
        S: Service<Request<Bytes>, Response = Response<Bytes>, Error = BoxError>
            + Clone
            + Send
            + Sync
            + 'static,
        S::Future: Send + 'static,
    {
        self.cluster.lock().webhooks.network = Some(BoxCloneSyncService::new(service));
    }
}

fn reviewed(request: &Request<Bytes>, answer: &dyn Fn(&Value) -> Value) -> Result<Response<Bytes>, BoxError> {
    let review: Value = serde_json::from_slice(request.body())?;
    let mut response = answer(&review["request"]);
    response["uid"] = review["request"]["uid"].clone();
    let body = json!({ "apiVersion": review["apiVersion"], "kind": review["kind"], "response": response });
    Ok(Response::new(body.to_string().into()))
}

/// Asks what a request needs to know; the answer is the body of a 200, or why there is none.
pub(crate) async fn ask(state: &Mutex<State>, question: &Question) -> Reply {
    let url = &question.url;
    let failed = |why: String| format!("failed to call webhook: Post \"{url}\": {why}");
    let backend = state.lock().webhooks.find(&question.target).cloned();
    let Some(backend) = backend else { return Err(failed("connect: connection refused".into())) };
    let request = Request::post(url)
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::ACCEPT, "application/json")
        .extension(CaBundle(question.ca.clone()))
        .body(question.body.clone())
        .map_err(|why| failed(why.to_string()))?;
    let response = match tokio::time::timeout(question.timeout, backend.oneshot(request)).await {
        Err(_) => return Err(failed("context deadline exceeded".into())),
        Ok(Err(why)) => return Err(failed(why.to_string())),
        Ok(Ok(response)) => response,
    };
    match response.status().as_u16() {
        200..=299 => Ok(response.into_body()),
        404 => Err("failed to call webhook: the server could not find the requested resource".into()),
        500 => {
            let text = String::from_utf8_lossy(response.body()).trim().to_owned();
            let prefix = "failed to call webhook: an error on the server";
            Err(format!("{prefix} ({text:?}) has prevented the request from succeeding"))
        }
        _ => Err("failed to call webhook: the server rejected our request for an unknown reason".into()),
    }
}
