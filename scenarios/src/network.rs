//! The wires of a world: from the operator to its clusters, with latency, a fault link and the trace on each.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use fake_apiserver::FakeApiServer;
use fake_apiserver::fault::Link;
use http::{HeaderValue, Request, Response, header};
use http_body_util::{BodyExt, Full};
use knative_operator::target::endpoint::Endpoint;
use knative_operator::target::stack::{AnswerBody, ConnectError, Connector, Transport, answer_body};
use kube::client::Body;
use parking_lot::Mutex;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};
use tower::{BoxError, Layer, ServiceExt};

use crate::seed::Seed;
use crate::strike::{Blow, OUTAGE, STALL, Strike};
use crate::trace::{Trace, short_digest};
use crate::wire::{Letter, Meddler, Seen, Tap};
use crate::world::HUB;

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
    /// Whose handle this is; see [`Letter::replica`].
    replica: u64,
    /// The one fault of a sweep.
    pub strike: Strike,
    extras: Arc<Mutex<Extras>>,
    /// Every client of a spoke holds one of these.
    clients: Arc<()>,
}

/// What only some worlds use.
#[derive(Default)]
struct Extras {
    tap: Option<Arc<dyn Tap>>,
    meddler: Option<Arc<dyn Meddler>>,
    /// Connections that were opened.
    opened: Vec<Endpoint>,
    /// Certificate authorities by address; a client that trusts another one is refused.
    authorities: BTreeMap<String, Vec<u8>>,
    /// The last answer to each read, when they are remembered.
    memory: Option<BTreeMap<(String, String), (http::response::Parts, Bytes)>>,
    /// Reads to come that get a stale answer, by address.
    stale: BTreeMap<String, u32>,
    /// The start of an operator that does not reach the hub.
    severed: Option<u64>,
}

impl Network {
    /// No wires yet. `extra_draws` are taken from the generator of latencies and thrown away.
    pub fn new(seed: Seed, extra_draws: u32, trace: Trace) -> Self {
        let mut latency = seed.child("network");
        for _ in 0..extra_draws {
            let _: u64 = latency.random();
        }
        let latency = Arc::new(Mutex::new(latency));
        let sites = Arc::default();
        Self {
            sites,
            latency,
            trace,
            replica: 0,
            strike: Strike::default(),
            extras: Arc::default(),
            clients: Arc::default(),
        }
    }

    /// The wires as one start of an operator uses them.
    pub fn of_replica(&self, replica: u64) -> Self {
        Self { replica, ..self.clone() }
    }

    /// Clients of spokes that operators hold at this moment.
    pub fn clients(&self) -> usize {
        Arc::weak_count(&self.clients)
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

    /// Every cluster with its address.
    pub fn sites(&self) -> BTreeMap<String, Site> {
        self.sites.lock().clone()
    }

    /// Looks at every cluster, by address.
    pub fn with_sites<T>(&self, look: impl FnOnce(&BTreeMap<String, Site>) -> T) -> T {
        look(&self.sites.lock())
    }

    /// Lets somebody listen on all wires.
    pub fn set_tap(&self, tap: Arc<dyn Tap>) {
        self.extras.lock().tap = Some(tap);
    }

    /// Sends listener and meddler home. A listener that knows the network would keep it, and itself, for ever.
    pub fn clear_company(&self) {
        let mut extras = self.extras.lock();
        extras.tap = None;
        extras.meddler = None;
    }

    /// Puts somebody between the operator and all wires.
    pub fn set_meddler(&self, meddler: Arc<dyn Meddler>) {
        self.extras.lock().meddler = Some(meddler);
    }

    /// The connections that were opened so far.
    pub fn opened(&self) -> Vec<Endpoint> {
        self.extras.lock().opened.clone()
    }

    /// From now on only clients that trust this authority reach the address.
    pub fn set_authority(&self, address: &str, authority: &[u8]) {
        self.extras.lock().authorities.insert(address.into(), authority.into());
    }

    /// Remembers the last answer to each read, for stale reads.
    pub fn remember_answers(&self) {
        self.extras.lock().memory.get_or_insert_default();
    }

    /// The next `reads` at this address get the answer that the same read got the last time.
    pub fn serve_stale(&self, address: &str, reads: u32) {
        self.extras.lock().stale.insert(address.into(), reads);
    }

    /// From now on this start of an operator (none: nobody) does not reach the hub.
    pub fn sever(&self, replica: Option<u64>) {
        self.extras.lock().severed = replica;
    }

    fn is_severed(&self, letter: &Letter) -> bool {
        letter.address == HUB && self.extras.lock().severed == Some(letter.replica)
    }

    /// A transport to an address, for a client that trusts an authority (none: any). Who is there is looked up with
    /// each request.
    fn transport_trusting(&self, address: &str, authority: Option<Vec<u8>>) -> Transport {
        let (network, address) = (self.clone(), address.to_owned());
        Transport::new(tower::service_fn(move |request| {
            let (network, address, authority) = (network.clone(), address.clone(), authority.clone());
            async move { network.carry(&address, authority.as_deref(), request).await }
        }))
    }

    /// A transport that adds a bearer token, as the hub's client does.
    pub fn transport_with_token(&self, address: &str, token: &str) -> Transport {
        let value = HeaderValue::try_from(format!("Bearer {token}")).expect("tokens are plain text");
        let transport = self.transport_trusting(address, None);
        Transport::new(tower::service_fn(move |mut request: Request<Body>| {
            let (transport, value) = (transport.clone(), value.clone());
            async move {
                request.headers_mut().insert(header::AUTHORIZATION, value);
                transport.oneshot(request).await
            }
        }))
    }

    async fn carry(
        &self,
        address: &str,
        authority: Option<&[u8]>,
        request: Request<Body>,
    ) -> Result<Response<AnswerBody>, BoxError> {
        let (parts, body) = request.into_parts();
        let body = body.collect().await.map_err(BoxError::from)?.to_bytes();
        let letter = Letter { replica: self.replica, address: address.into(), parts, body };
        let expected = self.extras.lock().authorities.get(address).cloned();
        if expected.is_some_and(|expected| authority != Some(expected.as_slice())) {
            self.delay().await;
            self.trace.exchange(
                address,
                letter.parts.method.as_str(),
                &letter.path(),
                0,
                "unknown authority",
            );
            return Err("certificate signed by unknown authority".into());
        }
        let meddler = self.extras.lock().meddler.clone();
        match meddler {
            None => self.post(letter).await,
            Some(meddler) => self.post_through(&*meddler, letter).await,
        }
    }

    async fn post_through(
        &self,
        meddler: &dyn Meddler,
        letter: Letter,
    ) -> Result<Response<AnswerBody>, BoxError> {
        let mut first = None;
        for outgoing in meddler.outgoing(letter.clone()) {
            let answer = self.post(outgoing).await;
            first.get_or_insert(answer);
        }
        let Some(answer) = first else {
            let success = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"});
            return Ok(Response::new(answer_body(Full::from(success.to_string()))));
        };
        let answer = answer?;
        if letter.is_watch() {
            return Ok(answer);
        }
        let (mut parts, body) = answer.into_parts();
        let mut bytes = body.collect().await?.to_bytes();
        if let Ok(mut value) = serde_json::from_slice::<Value>(&bytes) {
            meddler.incoming(&letter, &mut value);
            bytes = value.to_string().into();
            parts.headers.remove(header::CONTENT_LENGTH);
        }
        Ok(Response::from_parts(parts, answer_body(Full::new(bytes))))
    }

    /// Takes one request to its address and the answer back.
    async fn post(&self, letter: Letter) -> Result<Response<AnswerBody>, BoxError> {
        let tap = self.extras.lock().tap.clone();
        if let Some(tap) = &tap {
            tap.sent(&letter);
        }
        let (method, path) = (letter.parts.method.to_string(), letter.path());
        self.delay().await;
        let Some(site) = self.site(&letter.address) else {
            self.trace.exchange(&letter.address, &method, &path, 0, "nobody there");
            return Err(std::io::Error::from(std::io::ErrorKind::ConnectionRefused).into());
        };
        if self.is_severed(&letter) {
            self.trace.exchange(&site.name, &method, &path, 0, "cut off");
            return Err(std::io::Error::from(std::io::ErrorKind::ConnectionRefused).into());
        }
        let what = format!("{path} {}", short_digest(&letter.body));
        let blow = self.strike.next(&site.name, &letter);
        if let Some(blow) = blow {
            self.trace.note(format_args!("{} !! {} at {method} {path}", site.name, blow.name()));
            if let Some(answer) = self.strike_before(blow, &site, &letter).await {
                return answer;
            }
        }
        if let Some(stale) = self.stale_answer(&letter, blow) {
            self.trace.exchange(&site.name, &method, &what, 200, "stale");
            return Ok(stale);
        }
        let server = server(site.clone(), tap.clone(), letter.clone());
        let request = Request::from_parts(letter.parts.clone(), Full::new(letter.body.clone()));
        match site.link.layer().layer(server).oneshot(request).await {
            Ok(response) => {
                match blow {
                    Some(Blow::CrashAfter) => {
                        self.strike.crash(letter.replica);
                        std::future::pending().await
                    }
                    Some(Blow::ErrorAfter) => return Ok(refusal(504, "Timeout")),
                    _ => {}
                }
                let answer = self.deliver(&site.name, &method, &what, response).await?;
                if let Some(tap) = &tap {
                    tap.answered(&letter, answer.status().as_u16());
                }
                self.remember(&letter, answer).await
            }
            Err(error) => {
                self.trace.exchange(&site.name, &method, &what, 0, &error);
                Err(error)
            }
        }
    }
    /// What a blow does before the request arrives; `Some` when it is all that happens.
    async fn strike_before(
        &self,
        blow: Blow,
        site: &Site,
        letter: &Letter,
    ) -> Option<Result<Response<AnswerBody>, BoxError>> {
        match blow {
            Blow::ErrorBefore => Some(Ok(refusal(500, "InternalError"))),
            Blow::CrashBefore => {
                self.strike.crash(letter.replica);
                std::future::pending().await
            }
            Blow::Stall => {
                tokio::time::sleep(STALL).await;
                None
            }
            Blow::TokenDies => {
                site.server.tokens().revoke(letter.token());
                None
            }
            Blow::LinkCut => {
                site.link.cut();
                let link = site.link.clone();
                tokio::spawn(async move {
                    tokio::time::sleep(OUTAGE).await;
                    link.heal();
                });
                None
            }
            Blow::ErrorAfter | Blow::CrashAfter | Blow::StaleRead => None,
        }
    }

    /// What the same read got the last time, if this one is to be stale.
    fn stale_answer(&self, letter: &Letter, blow: Option<Blow>) -> Option<Response<AnswerBody>> {
        if letter.parts.method != http::Method::GET || letter.is_watch() {
            return None;
        }
        let mut extras = self.extras.lock();
        let due = extras.stale.get_mut(&letter.address).filter(|left| **left > 0);
        if blow != Some(Blow::StaleRead) {
            *due? -= 1;
        }
        let key = (letter.address.clone(), letter.path());
        let (parts, body) = extras.memory.as_ref()?.get(&key)?.clone();
        Some(Response::from_parts(parts, answer_body(Full::new(body))))
    }

    async fn remember(
        &self,
        letter: &Letter,
        answer: Response<AnswerBody>,
    ) -> Result<Response<AnswerBody>, BoxError> {
        let wanted = letter.parts.method == http::Method::GET && !letter.is_watch();
        if !wanted || self.extras.lock().memory.is_none() {
            return Ok(answer);
        }
        let (parts, body) = answer.into_parts();
        let bytes = body.collect().await?.to_bytes();
        if let Some(memory) = &mut self.extras.lock().memory {
            memory.insert((letter.address.clone(), letter.path()), (parts.clone(), bytes.clone()));
        }
        Ok(Response::from_parts(parts, answer_body(Full::new(bytes))))
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
        self.extras.lock().opened.push(endpoint.clone());
        match endpoint.server.parse::<http::Uri>() {
            Ok(uri) if uri.scheme_str() == Some("https") => {
                let transport =
                    self.transport_trusting(&endpoint.server, endpoint.certificate_authority.clone());
                let counted = Arc::downgrade(&self.clients);
                Ok(Transport::new(tower::service_fn(move |request| {
                    let (transport, _counted) = (transport.clone(), &counted);
                    transport.oneshot(request)
                })))
            }
            _ => Err(ConnectError { server: endpoint.server.clone(), reason: "not an https URL".into() }),
        }
    }
}

type Answer = Result<Response<fake_apiserver::ResponseBody>, BoxError>;

/// The cluster at the end of a wire, with a listener beside it.
fn server(
    site: Site,
    tap: Option<Arc<dyn Tap>>,
    letter: Letter,
) -> impl tower::Service<
    Request<Full<Bytes>>,
    Response = Response<fake_apiserver::ResponseBody>,
    Error = BoxError,
    Future = futures::future::BoxFuture<'static, Answer>,
> + Clone
+ Send
+ 'static {
    tower::service_fn(move |request: Request<Full<Bytes>>| {
        let (site, tap, letter) = (site.clone(), tap.clone(), letter.clone());
        let answer: futures::future::BoxFuture<'static, Answer> = Box::pin(async move {
            let Some(tap) = tap.filter(|_| !letter.is_watch()) else {
                return site.server.service().oneshot(request).await;
            };
            let before = site.server.snapshot();
            let response = site.server.service().oneshot(request).await?;
            let (after, code) = (site.server.snapshot(), response.status().as_u16());
            let info = letter.info();
            tap.seen(&Seen { site: &site.name, letter: &letter, info, code, before, after });
            Ok(response)
        });
        answer
    })
}

fn refusal(code: u16, reason: &str) -> Response<AnswerBody> {
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": format!("injected {reason}"), "reason": reason, "code": code,
    });
    let mut response = Response::new(answer_body(Full::from(status.to_string())));
    *response.status_mut() = http::StatusCode::from_u16(code).unwrap_or_default();
    response
}
