//! The layer that carries requests and does to them what the rules say.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::future::Either;
use http::request::Parts;
use http::{Request, Response, header};
use http_body::{Body as _, Frame};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use parking_lot::Mutex;
use serde_json::json;
use tokio::sync::Notify;
use tower::{BoxError, Layer, Service, ServiceExt};

use super::length::measured;
use super::rule::{Action, Rule, RuleId};

/// The body of an answer that came over a link.
pub type Body = UnsyncBoxBody<Bytes, BoxError>;

/// One wire between a client and a server. Clones are handles on the same wire.
#[derive(Clone)]
pub struct Link {
    rules: Arc<Mutex<Rules>>,
    wire: Arc<Wire>,
}

#[derive(Default)]
struct Rules {
    newest: u64,
    rules: BTreeMap<RuleId, Counted>,
}

struct Counted {
    rule: Rule,
    seen: u64,
    hits: u64,
}

/// The state of the whole wire. Waiters are woken in the order in which they came (a `watch` channel would shuffle
/// them).
#[derive(Default)]
struct Wire {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Clone, Copy, Default)]
struct State {
    mode: Mode,
    /// How often open connections were broken.
    breaks: u64,
    /// How often open connections were forgotten on the way.
    strandings: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Mode {
    #[default]
    Up,
    /// New connections are refused.
    Cut,
    /// Nothing arrives and nobody is told.
    Silent,
}

impl Wire {
    fn set(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state.lock());
        self.changed.notify_waiters();
    }

    /// Waits while the wire is silent, and for ever if the connection was forgotten since it was in state `then`; fails
    /// once it was broken.
    async fn pass(&self, then: State) -> Result<(), BoxError> {
        loop {
            // Made before looking, so that no change falls between the look and the wait.
            let changed = self.changed.notified();
            let state = *self.state.lock();
            if state.breaks != then.breaks {
                return Err(broken());
            }
            if state.mode != Mode::Silent && state.strandings == then.strandings {
                return Ok(());
            }
            changed.await;
        }
    }
}

impl Default for Link {
    fn default() -> Self {
        Self::new()
    }
}

impl Link {
    /// A wire without faults.
    pub fn new() -> Self {
        Self { rules: Arc::default(), wire: Arc::default() }
    }

    /// The layer to put in front of the server.
    pub fn layer(&self) -> FaultLayer {
        FaultLayer { link: self.clone() }
    }

    /// Adds a rule. Of several that match, the oldest acts.
    pub fn add(&self, rule: Rule) -> RuleId {
        let mut rules = self.rules.lock();
        rules.newest += 1;
        let id = RuleId(rules.newest);
        rules.rules.insert(id, Counted { rule, seen: 0, hits: 0 });
        id
    }

    /// Removes a rule.
    pub fn remove(&self, id: RuleId) {
        self.rules.lock().rules.remove(&id);
    }

    /// Removes all rules.
    pub fn clear(&self) {
        self.rules.lock().rules.clear();
    }

    /// How often a rule has acted; 0 for one that was removed.
    pub fn hits(&self, id: RuleId) -> u64 {
        self.rules.lock().rules.get(&id).map_or(0, |counted| counted.hits)
    }

    /// Refuses new connections and breaks open ones, until [`Link::heal`].
    pub fn cut(&self) {
        self.wire.set(|state| *state = State { mode: Mode::Cut, breaks: state.breaks + 1, ..*state });
    }

    /// Holds everything back without telling anybody, until [`Link::heal`]; then it arrives late, as after a
    /// retransmission, if somebody still waits for it.
    pub fn black_hole(&self) {
        self.wire.set(|state| state.mode = Mode::Silent);
    }

    /// Ends [`Link::cut`] and [`Link::black_hole`].
    pub fn heal(&self) {
        self.wire.set(|state| state.mode = Mode::Up);
    }

    /// Breaks open connections once; the link stays as it is.
    pub fn drop_connections(&self) {
        self.wire.set(|state| state.breaks += 1);
    }

    /// Forgets open connections, as a router does that restarts: nothing comes through them any more, and neither end is
    /// told. New ones work.
    pub fn strand_connections(&self) {
        self.wire.set(|state| state.strandings += 1);
    }

    fn action_for(&self, request: &Parts) -> Option<Action> {
        let mut rules = self.rules.lock();
        for counted in rules.rules.values_mut() {
            if !counted.rule.when.fits(request) {
                continue;
            }
            counted.seen += 1;
            let spent = counted.rule.when.times.is_some_and(|times| counted.hits >= times);
            if counted.seen > counted.rule.when.after && !spent {
                counted.hits += 1;
                return Some(counted.rule.then.clone());
            }
        }
        None
    }
}

/// See [`Link::layer`].
#[derive(Clone)]
pub struct FaultLayer {
    link: Link,
}

impl<S> Layer<S> for FaultLayer {
    type Service = Faulty<S>;

    fn layer(&self, inner: S) -> Faulty<S> {
        Faulty { link: self.link.clone(), inner }
    }
}

/// A service behind a link.
#[derive(Clone)]
pub struct Faulty<S> {
    link: Link,
    inner: S,
}

impl<S, B, R> Service<Request<B>> for Faulty<S>
where
    S: Service<Request<B>, Response = Response<R>> + Clone + Send + 'static,
    S::Future: Send,
    S::Error: Into<BoxError> + Send,
    B: Send + 'static,
    R: http_body::Body<Data = Bytes> + Send + 'static,
    R::Error: Into<BoxError>,
{
    type Response = Response<Body>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        // The inner service is asked when the request really arrives there.
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let (link, inner) = (self.link.clone(), self.inner.clone());
        Box::pin(async move { link.carry(inner, request).await })
    }
}

impl Link {
    async fn carry<S, B, R>(&self, server: S, request: Request<B>) -> Result<Response<Body>, BoxError>
    where
        S: Service<Request<B>, Response = Response<R>>,
        S::Error: Into<BoxError>,
        R: http_body::Body<Data = Bytes> + Send + 'static,
        R::Error: Into<BoxError>,
    {
        let then = *self.wire.state.lock();
        if then.mode == Mode::Cut {
            return Err(refused());
        }
        self.wire.pass(then).await?;
        let (parts, body) = request.into_parts();
        let action = self.action_for(&parts);
        match &action {
            Some(Action::Refuse) => return Err(refused()),
            Some(Action::BlackHole) => std::future::pending().await,
            Some(Action::Delay(time)) => tokio::time::sleep(*time).await,
            Some(Action::Status { code, reason, message, retry_after }) => {
                return status(*code, reason, message, *retry_after);
            }
            Some(Action::StallBody | Action::CutBody { .. } | Action::LoseResponse) | None => {}
        }
        self.wire.pass(then).await?;
        let response = server.oneshot(Request::from_parts(parts, body)).await.map_err(Into::into)?;
        self.wire.pass(then).await?;
        let response = response.map(|body| body.map_err(Into::into).boxed_unsync());
        match action {
            Some(Action::LoseResponse) => Err(broken()),
            Some(Action::StallBody) => Ok(response.map(|_| stalled())),
            Some(Action::CutBody { after }) => Ok(response.map(|body| cut_off(body, after))),
            _ => Ok(response.map(|body| self.guarded(body, then))),
        }
    }

    /// The body as it comes over the wire: late when the wire is silent, broken when it breaks.
    fn guarded(&self, body: Body, then: State) -> Body {
        let (wire, length) = (self.wire.clone(), body.size_hint());
        let frames = futures::stream::unfold(Some(body), move |body| {
            let wire = wire.clone();
            async move {
                let mut body = body?;
                match next_frame(&wire, &mut body, then).await? {
                    Ok(frame) => Some((Ok(frame), Some(body))),
                    Err(error) => Some((Err(error), None)),
                }
            }
        });
        measured(BodyExt::boxed_unsync(StreamBody::new(frames)), &length)
    }
}

/// The next frame, or the end, or the break of the wire.
async fn next_frame(wire: &Wire, body: &mut Body, then: State) -> Option<Result<Frame<Bytes>, BoxError>> {
    loop {
        let changed = pin!(wire.changed.notified());
        if let Err(error) = wire.pass(then).await {
            return Some(Err(error));
        }
        match futures::future::select(changed, pin!(body.frame())).await {
            Either::Left(_) => {}
            Either::Right((frame, _)) => return frame,
        }
    }
}

fn refused() -> BoxError {
    std::io::Error::from(std::io::ErrorKind::ConnectionRefused).into()
}

fn broken() -> BoxError {
    std::io::Error::from(std::io::ErrorKind::ConnectionReset).into()
}

fn stalled() -> Body {
    BodyExt::boxed_unsync(StreamBody::new(futures::stream::pending::<Result<Frame<Bytes>, BoxError>>()))
}

/// The first bytes of the body as they come, then the break.
fn cut_off(body: Body, after: usize) -> Body {
    let frames = futures::stream::unfold(Some((body, after)), |state| async move {
        let (mut body, left) = state?;
        let frame = if left == 0 { None } else { body.frame().await };
        match frame.and_then(Result::ok).and_then(|frame| frame.into_data().ok()) {
            None => Some((Err(broken()), None)),
            Some(data) => {
                let head = data.slice(..left.min(data.len()));
                let left = left - head.len();
                Some((Ok(Frame::data(head)), Some((body, left))))
            }
        }
    });
    BodyExt::boxed_unsync(StreamBody::new(frames))
}

fn status(
    code: u16,
    reason: &str,
    message: &str,
    retry_after: Option<u32>,
) -> Result<Response<Body>, BoxError> {
    let mut document = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": message, "reason": reason, "code": code,
    });
    let mut response = Response::builder().status(code).header(header::CONTENT_TYPE, "application/json");
    if let Some(seconds) = retry_after {
        document["details"] = json!({"retryAfterSeconds": seconds});
        response = response.header(header::RETRY_AFTER, seconds);
    }
    let body = Full::from(document.to_string()).map_err(|never| match never {}).boxed_unsync();
    Ok(response.body(body)?)
}
