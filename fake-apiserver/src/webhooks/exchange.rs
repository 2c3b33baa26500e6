//! What one request asks of webhooks.
//!
//! A request that needs an answer it does not have ends where it is, before it has changed anything; the webhook is
//! called without the lock; then the request starts anew, with the answer at hand. Identities that it draws are the
//! same in every attempt. An answer about something that has changed since counts no more, nor do those after it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use parking_lot::Mutex;

use crate::ids::Ids;
use crate::status::Status;

/// Most calls of webhooks for one request; what changes faster than it can be asked about is refused.
const MOST_CALLS: usize = 100;

/// Where a question is sent.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Target {
    /// `NAMESPACE/NAME`.
    Service(String),
    /// Without a query.
    Url(String),
}

/// One call of a webhook.
pub(crate) struct Question {
    /// What is asked, by whom and about which version: the same key, the same answer.
    pub(crate) key: String,
    pub(crate) target: Target,
    /// The full URL.
    pub(crate) url: String,
    /// PEM.
    pub(crate) ca: Bytes,
    pub(crate) timeout: Duration,
    pub(crate) body: Bytes,
    /// Whether the reply is good for as long as the request lives.
    pub(crate) lasting: bool,
}

/// What a webhook said: a body, or why there is none.
pub(crate) type Reply = Result<Bytes, String>;

/// The questions and answers of one request over its attempts. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct Exchange(Arc<Mutex<Inner>>);

impl std::fmt::Debug for Exchange {
    /// Objects that are asked about may be secret.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Exchange").finish_non_exhaustive()
    }
}

#[derive(Default)]
struct Inner {
    replies: Vec<(String, Reply)>,
    /// Replies that depend on nothing but the question.
    facts: BTreeMap<String, Reply>,
    /// How many of the replies this attempt has used.
    used: usize,
    open: Option<Question>,
    calls: usize,
    /// The source of identities as it was at the first attempt.
    ids: Option<Ids>,
}

impl Exchange {
    /// Starts an attempt: identities are drawn from where the first one drew them.
    pub(crate) fn begin(&self, ids: &mut Ids) -> Option<Ids> {
        let mut inner = self.0.lock();
        inner.used = 0;
        match &inner.ids {
            Some(first) => Some(std::mem::replace(ids, first.clone())),
            None => {
                inner.ids = Some(ids.clone());
                None
            }
        }
    }

    /// A text that is another for every request.
    pub(crate) fn salt(&self) -> String {
        self.0.lock().ids.clone().map(|mut ids| ids.uid()).unwrap_or_default()
    }

    /// The reply to a question; without one yet the attempt is over.
    ///
    /// # Errors
    /// A refusal that nobody sees, unless there were too many calls.
    pub(crate) fn ask(&self, question: impl FnOnce() -> Question, key: &str) -> Result<Reply, Box<Status>> {
        let mut inner = self.0.lock();
        let used = inner.used;
        inner.used += 1;
        if let Some((_, reply)) = inner.replies.get(used).filter(|(known, _)| known == key) {
            return Ok(reply.clone());
        }
        inner.replies.truncate(used);
        Err(inner.suspend(question()))
    }

    /// The reply to a question whose answer does not depend on when it is asked.
    ///
    /// # Errors
    /// As for [`Exchange::ask`].
    pub(crate) fn ask_once(
        &self,
        question: impl FnOnce() -> Question,
        key: &str,
    ) -> Result<Reply, Box<Status>> {
        let mut inner = self.0.lock();
        match inner.facts.get(key) {
            Some(reply) => Ok(reply.clone()),
            None => Err(inner.suspend(Question { lasting: true, ..question() })),
        }
    }

    /// What has to be asked before the next attempt, if the last one did not come to an end.
    pub(crate) fn open(&self) -> Option<Question> {
        self.0.lock().open.take()
    }

    /// Notes a reply for the next attempt.
    pub(crate) fn note(&self, question: Question, reply: Reply) {
        let mut inner = self.0.lock();
        if question.lasting {
            inner.facts.insert(question.key, reply);
        } else {
            inner.replies.push((question.key, reply));
        }
    }
}

impl Inner {
    /// Ends the attempt with a question.
    fn suspend(&mut self, question: Question) -> Box<Status> {
        self.calls += 1;
        if self.calls > MOST_CALLS {
            return Status::internal_plain("the object changes faster than its webhooks can be asked");
        }
        self.open = Some(question);
        Status::internal_plain("a webhook has to be asked first")
    }
}
