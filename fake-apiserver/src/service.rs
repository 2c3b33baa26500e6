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
<<<<<<< HEAD
=======

fn text_header(headers: &HeaderMap, name: header::HeaderName) -> &str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// One request on its way through.
struct Incoming<'a> {
    cluster: &'a FakeApiServer,
    parts: &'a Parts,
    body: &'a Bytes,
    info: &'a RequestInfo,
    user: User,
    warnings: Vec<String>,
}

impl Incoming<'_> {
    fn answer(&mut self, state: &mut State) -> Answer<Response<ResponseBody>> {
        rbac::authorize(state, &self.user, self.info)?;
        let accept = Accept::parse(text_header(&self.parts.headers, header::ACCEPT))?;
        if !self.info.is_resource {
            let found = discovery::answer(&state.registry, &self.parts.method, &self.info.path, accept);
            return found.ok_or_else(|| self.unknown_path());
        }
        let mut call = self.route(state)?;
        let result = self.dispatch(state, &mut call, accept);
        // Also refusals carry warnings.
        self.warnings.append(&mut call.warnings);
        result
    }

    /// Answers a request for a kind.
    fn dispatch(
        &mut self,
        state: &mut State,
        call: &mut Call,
        accept: Accept,
    ) -> Answer<Response<ResponseBody>> {
        let verb = self.info.verb.as_str();
        match (verb, call.subresource.as_str()) {
            ("", _) => Err(Status::method_not_allowed()),
            (_, part) if connect::is_connection(part) => {
                connect::refuse(state, call, self.info.query.get("container"))
            }
            ("get", "scale") => {
                let stored = get::get(state, call, "")?;
                Ok(respond(200, encode(&scale::view(call, &stored.value)?), accept))
            }
            ("update" | "patch", "scale") => self.change_scale(state, call, accept),
            ("get", "" | "status") => {
                let version = self.info.query.get("resourceVersion").unwrap_or_default();
                let stored = get::get(state, call, version)?;
                self.stored(200, state, call, &stored, accept)
            }
            ("list", "") => {
                let options = ListOptions::parse(&self.info.query, false)?;
                let found = list::list(state, call, &options)?;
                self.list(state, call, &found, accept)
            }
            ("watch", "") => self.watch(state, call.clone(), accept),
            ("create", _) => self.create(state, call, accept),
            ("update", _) => {
                call.options = WriteOptions::parse(&self.info.query, "UpdateOptions")?;
                let body = self.decode(call)?;
                let (stored, created) = update::put(state, call, body)?;
                self.stored(if created { 201 } else { 200 }, state, call, &stored, accept)
            }
            ("patch", _) => {
                let kind = self.patch_kind(call)?;
                call.options = WriteOptions::parse(&self.info.query, "PatchOptions")?;
                let body = self.decode_patch(call, kind)?;
                let (stored, created) = patch::patch(state, call, kind, &body)?;
                self.stored(if created { 201 } else { 200 }, state, call, &stored, accept)
            }
            ("delete", "") => {
                let options = DeleteOptions::parse(&self.info.query, &self.decode_options()?)?;
                let deleted = delete::delete(state, call, &options)?;
                self.deleted(state, call, &deleted, accept)
            }
            ("deletecollection", "") => {
                let options = DeleteOptions::parse(&self.info.query, &self.decode_options()?)?;
                let selection = ListOptions::parse(&self.info.query, false)?;
                let found = delete::delete_collection(state, call, &selection, &options)?;
                self.list(state, call, &found, accept)
            }
            _ => Err(Status::method_not_allowed()),
        }
    }

    /// Finds the kind a path names and checks that the path has the right shape.
    fn route(&self, state: &State) -> Answer<Call> {
        let info = self.info;
        let served = match state.registry.resolve(&info.group, &info.version, &info.resource) {
            Ok(served) => served,
            Err(Unknown::Resource) => return Err(Status::no_such_resource()),
            Err(Unknown::Group) => return Err(Status::page_not_found()),
        };
        let resource = &served.resource;
        let namespace = if resource.namespaced { info.namespace.clone() } else { String::new() };
        let misplaced = if resource.namespaced {
            namespace.is_empty() && !info.name.is_empty()
        } else {
            !info.namespace.is_empty() && !resource.is("namespaces")
        };
        let unknown_part = !info.subresource.is_empty() && !served.version().has(&info.subresource);
        if misplaced || unknown_part {
            // Paths of custom resources are nobody's unless they name one exactly.
            let custom = resource.traits.custom;
            return Err(if custom { Status::page_not_found() } else { Status::no_such_resource() });
        }
        check_verb(&served, info)?;
        let agent = text_header(&self.parts.headers, header::USER_AGENT);
        let agent = agent.split('/').next().filter(|agent| !agent.is_empty()).unwrap_or("unknown");
        let manager = info.query.get("fieldManager").filter(|manager| !manager.is_empty()).unwrap_or(agent);
        let mut warnings = Vec::new();
        warnings.extend(served.version().deprecation.clone());
        Ok(Call {
            namespace,
            name: info.name.clone(),
            subresource: info.subresource.clone(),
            now: self.cluster.now(),
            user: self.user.clone(),
            manager: manager.chars().take(128).collect(),
            options: WriteOptions::default(),
            warnings,
            objections: Vec::new(),
            served,
        })
    }

    /// Under a custom group nobody but the definitions knows the path; elsewhere the group does.
    fn unknown_path(&self) -> Box<Status> {
        let known = self.info.path.starts_with("/api/")
            || crate::registry::Registry::is_builtin_group(&self.info.group);
        if known && !self.info.version.is_empty() {
            Status::no_such_resource()
        } else {
            Status::page_not_found()
        }
    }

    fn create(
        &mut self,
        state: &mut State,
        call: &mut Call,
        accept: Accept,
    ) -> Answer<Response<ResponseBody>> {
        call.options = WriteOptions::parse(&self.info.query, "CreateOptions")?;
        let mut body = self.decode(call)?;
        if call.resource().traits.virtual_resource {
            verb::check_type(&state.registry, call, &mut body)?;
            let answer = reviews::answer(state, call, body)?;
            return self.object(201, call, Encoded::from(&answer), accept);
        }
        if !call.subresource.is_empty() {
            let answer = create_below::create_below(state, call, &body)?;
            return Ok(respond(201, encode(&answer), accept));
        }
        let stored = create::create(state, call, body, false)?;
        self.stored(201, state, call, &stored, accept)
    }

    fn change_scale(
        &mut self,
        state: &mut State,
        call: &mut Call,
        accept: Accept,
    ) -> Answer<Response<ResponseBody>> {
        let scale = if self.info.verb == "update" {
            call.options = WriteOptions::parse(&self.info.query, "UpdateOptions")?;
            let body = self.decode(call)?;
            scale::put(state, call, body)?
        } else {
            call.options = WriteOptions::parse(&self.info.query, "PatchOptions")?;
            let kind = self.patch_kind(call)?;
            let body = self.decode_patch(call, kind)?;
            scale::patch(state, call, kind, &body)?
        };
        Ok(respond(200, encode(&scale), accept))
    }

    fn watch(&self, state: &mut State, call: Call, accept: Accept) -> Answer<Response<ResponseBody>> {
        let options = ListOptions::parse(&self.info.query, true)?;
        let view = self.view(&call, Form::Watch, accept)?;
        let watch =
            watch::start(self.cluster.shared(), state, call, options, view, self.cluster.clock().clone())?;
        let mut response = Response::new(ResponseBody::stream(watch.frames()));
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        Ok(response)
    }

    fn view(&self, call: &Call, form: Form, accept: Accept) -> Answer<View> {
        View::choose(accept, form, call.resource(), &self.info.query, call.now)
    }

    fn object(
        &self,
        code: u16,
        call: &Call,
        object: Encoded<'_>,
        accept: Accept,
    ) -> Answer<Response<ResponseBody>> {
        let mut out = Vec::with_capacity(512);
        self.view(call, Form::Object, accept)?.write(&mut out, call.version(), object, true);
        Ok(respond(code, out, accept))
    }

    fn stored(
        &self,
        code: u16,
        state: &State,
        call: &Call,
        stored: &Arc<Stored>,
        accept: Accept,
    ) -> Answer<Response<ResponseBody>> {
        let seen = convert::seen_stored(state, call, stored)?;
        self.object(code, call, Encoded::from(&*seen), accept)
    }

    fn list(
        &self,
        state: &State,
        call: &Call,
        found: &list::Found,
        accept: Accept,
    ) -> Answer<Response<ResponseBody>> {
        let items = convert::seen_list(state, call, &found.items)?;
        let items = items.iter().map(|stored| &**stored);
        let view = self.view(call, Form::List, accept)?;
        Ok(respond(200, view.list(call.resource(), call.version(), &found.meta, items), accept))
    }

    fn deleted(
        &self,
        state: &State,
        call: &Call,
        deleted: &Deleted,
        accept: Accept,
    ) -> Answer<Response<ResponseBody>> {
        match deleted {
            Deleted::Gone(last) if !call.resource().traits.delete_answers_object => {
                Ok(respond(200, encode(&delete::success(call, last)), accept))
            }
            Deleted::Gone(stored) | Deleted::Waiting(stored) => self.stored(200, state, call, stored, accept),
        }
    }

    fn content_type(&self) -> &str {
        text_header(&self.parts.headers, header::CONTENT_TYPE).split(';').next().unwrap_or_default().trim()
    }

    fn patch_kind(&self, call: &Call) -> Answer<PatchKind> {
        PatchKind::of(self.content_type(), call.resource().traits.custom)
    }

    /// The body of a create or update.
    fn decode(&self, call: &mut Call) -> Answer<Value> {
        let kind = &call.served.resource.kind;
        let unrecognized = |why: &str| {
            let start: String = String::from_utf8_lossy(self.body).chars().take(30).collect();
            Status::bad_request(format!(
                "the object provided is unrecognized (must be of type {kind}): couldn't get version/kind; json parse \
                 error: {why} ({start} ...)",
            ))
        };
        let (parsed, repeated) = match self.content_type() {
            "" | "application/json" => (Document::from_json(self.body), None),
            "application/yaml" => (Document::from_yaml(self.body), repeated_in_yaml(self.body)),
            _ => return Err(unknown_format()),
        };
        match parsed {
            Ok(document @ Document::Object(_)) => {
                let repeated = repeated.map(|line| format!("yaml: unmarshal errors:\n  {line}"));
                body::read(call, document, repeated)
            }
            Ok(other) => Err(unrecognized(&format!(
                "json: cannot unmarshal {} into Go value of type struct {{ APIVersion string \
                 \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }}",
                other.kind()
            ))),
            Err(why) => Err(unrecognized(&why)),
        }
    }

    /// The body of a patch.
    fn decode_patch(&self, call: &mut Call, kind: PatchKind) -> Answer<Value> {
        if kind == PatchKind::Apply {
            let value = parse_yaml(self.body)
                .map_err(|why| Status::bad_request(format!("error decoding YAML: {why}")))?;
            call.objections.extend(repeated_in_yaml(self.body));
            body::judge(call, |line| {
                Status::bad_request(format!(
                    "error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:\n  {line}"
                ))
            })?;
            return Ok(value);
        }
        let document = Document::from_json(self.body)
            .map_err(|why| Status::bad_request(format!("error decoding patch: {why}")))?;
        call.objections.extend(document.repeated().iter().map(|path| format!("duplicate field \"{path}\"")));
        Ok(document.into())
    }

    /// The body of a delete, null when there is none.
    fn decode_options(&self) -> Answer<Value> {
        if self.body.is_empty() {
            return Ok(Value::Null);
        }
        let parsed = match self.content_type() {
            "" | "application/json" => parse_json(self.body),
            "application/yaml" => parse_yaml(self.body),
            _ => return Err(unknown_format()),
        };
        parsed.map_err(Status::bad_request)
    }
}

/// Refuses methods that a path does not have.
fn check_verb(served: &Served, info: &RequestInfo) -> Answer<()> {
    let resource = &served.resource;
    let across = resource.namespaced && info.namespace.is_empty();
    let named = !info.name.is_empty();
    let plain = info.subresource.is_empty();
    let creates_below = matches!(info.subresource.as_str(), "token" | "eviction" | "binding");
    let allowed = match info.verb.as_str() {
        "create" if resource.traits.read_only => false,
        "create" if plain && across && resource.traits.custom => return Err(Status::page_not_found()),
        "create" if plain => !named && !across,
        "create" if info.subresource == "log" => false,
        "create" => creates_below || connect::is_connection(&info.subresource),
        _ if resource.traits.virtual_resource => false,
        "update" | "patch" if connect::is_connection(&info.subresource) => false,
        verb if resource.traits.read_only => matches!(verb, "get" | "list"),
        "update" => named && !creates_below,
        "get" | "patch" => named && !creates_below && (info.subresource != "finalize"),
        "delete" => plain,
        "deletecollection" => plain && !across && !resource.traits.no_delete_collection,
        _ => true,
    };
    match allowed {
        true => Ok(()),
        false if resource.traits.custom => Err(Status::method_not_supported(&resource.name(), &info.verb)),
        false => Err(Status::method_not_allowed()),
    }
}

fn unknown_format() -> Box<Status> {
    Status::new(
        415,
        "UnsupportedMediaType",
        "the body of the request was in an unknown format - accepted media types include: application/json, \
         application/yaml, application/vnd.kubernetes.protobuf",
    )
}

fn parse_json(body: &[u8]) -> Result<Value, String> {
    serde_json::from_slice(body).map_err(|why| why.to_string())
}
>>>>>>> limits
