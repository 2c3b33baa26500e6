//! What the verbs answer, as responses.

use std::sync::Arc;

use http::{HeaderValue, Response, header};

use super::Incoming;
use crate::convert;
use crate::options::ListOptions;
use crate::represent::{Encoded, Form, View};
use crate::response::{Accept, ResponseBody, encode, respond};
use crate::state::{Call, State};
use crate::status::Answer;
use crate::storage::Stored;
use crate::verb::delete::{self, Deleted};
use crate::verb::{list, watch};

impl Incoming<'_> {
    pub(super) fn watch(
        &self,
        state: &mut State,
        call: Call,
        accept: Accept,
    ) -> Answer<Response<ResponseBody>> {
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

    pub(super) fn object(
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

    pub(super) fn stored(
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

    pub(super) fn list(
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

    pub(super) fn deleted(
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
}
