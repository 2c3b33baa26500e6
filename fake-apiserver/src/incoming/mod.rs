//! One request: route -> decode -> verb -> encode.
//!
//! - here: which verb answers what;
//! - `route`: which kind a path names, and which methods it has;
//! - `decode`: bodies;
//! - `answer`: what the verbs answer, as responses.

mod answer;
mod decode;
mod route;

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, Response, header};

use crate::auth::User;
use crate::auth::rbac;
use crate::options::{DeleteOptions, ListOptions, WriteOptions};
use crate::represent::Encoded;
use crate::request::RequestInfo;
use crate::response::{Accept, ResponseBody, encode, respond};
use crate::server::FakeApiServer;
use crate::state::{Call, State};
use crate::status::{Answer, Status};
use crate::verb::{self, connect, create, create_below, delete, get, list, patch, scale, update};
use crate::webhooks::exchange::Exchange;
use crate::{discovery, reviews};

/// One request on its way through.
pub(crate) struct Incoming<'a> {
    pub(crate) cluster: &'a FakeApiServer,
    pub(crate) parts: &'a Parts,
    pub(crate) body: &'a Bytes,
    pub(crate) info: &'a RequestInfo,
    pub(crate) user: User,
    pub(crate) exchange: &'a Exchange,
    /// Texts for `Warning` headers.
    pub(crate) warnings: Vec<String>,
}

impl Incoming<'_> {
    /// Answers it.
    pub(crate) fn answer(&mut self, state: &mut State) -> Answer<Response<ResponseBody>> {
        rbac::authorize(state, &self.user, self.info)?;
        let accept = Accept::parse(text_header(&self.parts.headers, header::ACCEPT))?;
        if !self.info.is_resource {
            let (registry, kubernetes) = (&state.registry, state.kubernetes.as_str());
            let found = discovery::answer(registry, kubernetes, &self.parts.method, &self.info.path, accept);
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
}

pub(crate) fn text_header(headers: &HeaderMap, name: header::HeaderName) -> &str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}
