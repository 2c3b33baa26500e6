//! The wires of a world: from the operator to its clusters, with latency, a fault link and the trace on each.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use fake_apiserver::FakeApiServer;
use fake_apiserver::fault::Link;
use http::{HeaderValue, Request, Response, header};
use http_body_util::BodyExt;
use knative_operator::target::endpoint::Endpoint;
use knative_operator::target::stack::{AnswerBody, ConnectError, Connector, Transport, answer_body};
use kube::client::Body;
use parking_lot::Mutex;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use tower::{BoxError, Layer, ServiceExt};

use crate::seed::Seed;
use crate::trace::{Trace, short_digest};

/// One cluster and the wire to it.
#[derive(Clone)]
pub struct Site {
    /// `hub` or the spoke's name.
    pub name: String,
    /// The cluster.
    pub server: FakeApiServer,
    /// Faults on the wire between the operator and this cluster.
    pub link: Link,
}

/// All wires of a world. A cheap handle.
#[derive(Clone)]
pub struct Network {
    sites: Arc<Mutex<BTreeMap<String, Site>>>,
    latency: Arc<Mutex<ChaCha8Rng>>,
    trace: Trace,
}

impl Network {
    /// No wires yet. `extra_draws` are taken from the generator of latencies and thrown away.
    pub fn new(seed: Seed, extra_draws: u32, trace: Trace) -> Self {
        let mut latency = seed.child("network");
        for _ in 0..extra_draws {
            let _: u64 = latency.random();
        }
        Self { sites: Arc::default(), latency: Arc::new(Mutex::new(latency)), trace }
    }

    /// Puts a cluster behind an address; another one that was there is gone.
    pub fn attach(&self, address: &str, site: Site) {
        self.sites.lock().insert(address.into(), site);
    }

    /// Takes the cluster behind an address away.
    pub fn detach(&self, address: &str) {
        self.sites.lock().remove(address);
    }

    /// The cluster behind an address.
    pub fn site(&self, address: &str) -> Option<Site> {
        self.sites.lock().get(address).cloned()
    }

    /// A transport to an address. Who is there is looked up with each request.
    pub fn transport(&self, address: &str) -> Transport {
        let (network, address) = (self.clone(), address.to_owned());
        Transport::new(tower::service_fn(move |request| {
            let (network, address) = (network.clone(), address.clone());
            async move { network.carry(&address, request).await }
        }))
    }

    /// A transport that adds a bearer token, as the hub's client does.
    pub fn transport_with_token(&self, address: &str, token: &str) -> Transport {
        let value = HeaderValue::try_from(format!("Bearer {token}")).expect("tokens are plain text");
        let transport = self.transport(address);
        Transport::new(tower::service_fn(move |mut request: Request<Body>| {
            let (transport, value) = (transport.clone(), value.clone());
            async move {
                request.headers_mut().insert(header::AUTHORIZATION, value);
                transport.oneshot(request).await
            }
        }))
    }

    async fn carry(&self, address: &str, request: Request<Body>) -> Result<Response<AnswerBody>, BoxError> {
        let (parts, body) = request.into_parts();
        let body = body.collect().await.map_err(BoxError::from)?.to_bytes();
        let (method, path) = (parts.method.to_string(), parts.uri.to_string());
        self.delay().await;
        let Some(site) = self.site(address) else {
            self.trace.exchange(address, &method, &path, 0, "nobody there");
            return Err(std::io::Error::from(std::io::ErrorKind::ConnectionRefused).into());
        };
        let what = format!("{path} {}", short_digest(&body));
        let request = Request::from_parts(parts, http_body_util::Full::new(body));
        match site.link.layer().layer(site.server.service()).oneshot(request).await {
            Ok(response) => self.deliver(&site.name, &method, &what, response).await,
            Err(error) => {
                self.trace.exchange(&site.name, &method, &what, 0, &error);
                Err(error)
            }
        }
    }

    /// Notes the answer. An answer of known length is read here; a stream is passed on and noted event by event.
    async fn deliver<B>(
        &self,
        site: &str,
        method: &str,
        what: &str,
        response: Response<B>,
    ) -> Result<Response<AnswerBody>, BoxError>
    where
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        self.delay().await;
        let code = response.status().as_u16();
        self.trace.exchange(site, method, what, code, code);
        let (site, trace) = (site.to_owned(), self.trace.clone());
        let stream = what.contains("watch=");
        let body = response.map(|body| {
            answer_body(body.map_frame(move |frame| {
                if let Some(data) = frame.data_ref() {
                    let kind = if stream { "event" } else { "body" };
                    trace.note(format_args!("{site} -> {kind} {}", short_digest(data)));
                }
                frame
            }))
        });
        Ok(body)
    }

    async fn delay(&self) {
        let micros = self.latency.lock().random_range(500..2_500);
        tokio::time::sleep(Duration::from_micros(micros)).await;
    }
}

impl Connector for Network {
    fn connect(&self, endpoint: &Endpoint) -> Result<Transport, ConnectError> {
        match endpoint.server.parse::<http::Uri>() {
            Ok(uri) if uri.scheme_str() == Some("https") => Ok(self.transport(&endpoint.server)),
            _ => Err(ConnectError { server: endpoint.server.clone(), reason: "not an https URL".into() }),
        }
    }
}
