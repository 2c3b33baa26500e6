//! Watching a collection: initial state, resume from a version, bookmarks, and what a selector makes of a change.
//!
//! A watch reads the event log at its own pace and holds nothing but a position in it (and, in the beginning, the objects
//! to start with), so a slow watcher never holds up a writer. It encodes one frame at a time, and the next only when that
//! has been taken. When the log no longer has what it needs, it ends with 410.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::{Stream, stream};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::time::Instant;

use super::get::parse_version;
use super::list::{check_fields, find, matches};
use crate::clock::Clock;
use crate::convert;
use crate::options::ListOptions;
use crate::represent::{Encoded, View};
use crate::response::{BoxError, encode, write_event};
use crate::state::{Call, State};
use crate::status::{Answer, Status};
use crate::storage::{Event, ResourceId, Stored};
use crate::webhooks;
use crate::webhooks::exchange::{Exchange, Question};

/// How long a watch lives that asks for no timeout.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(3600);

/// Longest that a watch lives, whatever it asks for: a clock has an end.
const LONGEST_TIMEOUT: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

/// How often a watch that wants bookmarks gets one.
const BOOKMARK_INTERVAL: Duration = Duration::from_secs(60);

/// Events read under one hold of the lock, and sent in one frame.
const BATCH: usize = 256;

/// Bytes from which on a frame takes no further event.
const FRAME_BYTES: usize = 1024 * 1024;

/// A watch in progress.
pub(crate) struct Watch {
    state: Arc<Mutex<State>>,
    call: Call,
    options: ListOptions,
    view: View,
    clock: Clock,
    /// Whether an event has told the columns of a Table.
    headed: bool,
    resource: ResourceId,
    notify: Arc<Notify>,
    /// Position in the event log of the next event to look at.
    position: u64,
    /// Which incarnation of the kind is watched.
    incarnation: u64,
    /// The objects to start with that have not been sent.
    initial: std::vec::IntoIter<Arc<Stored>>,
    /// The revision of the bookmark that ends them, if there is to be one.
    initial_end: Option<u64>,
    /// The frame to send before anything else.
    pending: Vec<u8>,
    deadline: Instant,
    next_bookmark: Instant,
    finished: bool,
}

/// What a look at the log brought.
enum Read {
    Something,
    Nothing,
    /// A webhook has to convert it first.
    Asks(Box<Question>),
}

/// Starts the watch a call asks for.
pub(crate) fn start(
    shared: &Arc<Mutex<State>>,
    state: &mut State,
    call: Call,
    options: ListOptions,
    view: View,
    clock: Clock,
) -> Answer<Watch> {
    let options = check_fields(&call, options)?;
    let resource = call.resource().storage.clone();
    let now = Instant::now();
    let timeout = options.timeout_seconds.map_or(DEFAULT_TIMEOUT, Duration::from_secs).min(LONGEST_TIMEOUT);
    let notify = state.storage.notify(&resource);
    let mut watch = Watch {
        state: shared.clone(),
        resource,
        notify,
        position: 0,
        incarnation: 0,
        initial: Vec::new().into_iter(),
        initial_end: None,
        pending: Vec::new(),
        deadline: now + timeout,
        next_bookmark: now + BOOKMARK_INTERVAL,
        finished: false,
        call,
        options,
        view,
        clock,
        headed: false,
    };
    watch.begin(state)?;
    // What comes later is asked about for itself.
    watch.call.exchange = None;
    Ok(watch)
}

impl Watch {
    /// Takes the initial state if asked for and finds the place to go on from.
    fn begin(&mut self, state: &mut State) -> Answer<()> {
        let version = match self.options.resource_version.as_str() {
            "" => 0,
            text => parse_version(text).map_err(Status::unexpected)?,
        };
        let wants_state = match self.options.send_initial_events {
            Some(wanted) => wanted,
            // Without a version a watch starts with what there is.
            None => version == 0,
        };
        let log = state.storage.log(&self.resource);
        self.position = log.end_position();
        self.incarnation = log.ended().0;
        if wants_state {
            let everything = ListOptions {
                labels: self.options.labels.clone(),
                fields: self.options.fields.clone(),
                ..ListOptions::default()
            };
            let found = find(state, &self.call, &everything)?;
            self.initial = convert::seen_list(state, &self.call, &found.items)?.into_owned().into_iter();
            let told = self.options.send_initial_events == Some(true) && self.options.bookmarks;
            self.initial_end = told.then_some(found.meta.revision);
        } else if version > 0 {
            match state.storage.log(&self.resource).position_after(version) {
                Ok(position) => self.position = position,
                Err(_) => self.send_expired(version, state.storage.revision()),
            }
        }
        Ok(())
    }

    /// The frames, as they come.
    pub(crate) fn frames(self) -> impl Stream<Item = Result<Bytes, BoxError>> + Send {
        stream::unfold(self, |mut watch| async move {
            let frames = watch.next().await?;
            Some((Ok(frames), watch))
        })
    }

    async fn next(&mut self) -> Option<Bytes> {
        loop {
            let notify = self.notify.clone();
            let mut changed = std::pin::pin!(notify.notified());
            // Registered before the log is read, so that no change is missed.
            changed.as_mut().enable();
            self.start();
            while !self.finished && self.pending.is_empty() {
                match self.read() {
                    Read::Something => {}
                    Read::Nothing => break,
                    Read::Asks(question) => {
                        let reply = webhooks::ask(&self.state, &question).await;
                        self.call.exchange.get_or_insert_default().note(*question, reply);
                    }
                }
            }
            if !self.pending.is_empty() {
                return Some(std::mem::take(&mut self.pending).into());
            }
            if self.finished {
                return None;
            }
            let wake =
                if self.options.bookmarks { self.deadline.min(self.next_bookmark) } else { self.deadline };
            tokio::select! {
                biased;
                // Changes first: what happened before the deadline is still sent.
                () = changed => {}
                () = tokio::time::sleep_until(wake) => self.on_time(),
            }
        }
    }

    /// Sends a frame of the initial state; nothing once all of it has been sent.
    fn start(&mut self) {
        while self.pending.len() < FRAME_BYTES
            && let Some(stored) = self.initial.next()
        {
            self.send("ADDED", &stored);
        }
        if self.initial.len() == 0
            && let Some(revision) = self.initial_end.take()
        {
            let annotation = json!({ "k8s.io/initial-events-end": "true" });
            self.send_bookmark(revision, Some(annotation));
        }
    }

    fn on_time(&mut self) {
        let now = Instant::now();
        self.finished = now >= self.deadline;
        if self.options.bookmarks {
            self.next_bookmark = now + BOOKMARK_INTERVAL;
            let mut state = self.state.lock();
            let revision = state.storage.revision();
            let up_to_date = state.storage.log(&self.resource).end_position() == self.position;
            drop(state);
            // A bookmark promises that everything before it has been sent.
            if up_to_date {
                self.send_bookmark(revision, None);
            }
        }
    }

    /// Takes what is new from the log.
    fn read(&mut self) -> Read {
        let state = self.state.clone();
        let mut state = state.lock();
        let revision = state.storage.revision();
        let log = state.storage.log(&self.resource);
        let (incarnation, end) = log.ended();
        let limit =
            if incarnation == self.incarnation { u64::MAX } else { end.saturating_sub(self.position) };
        if limit == 0 {
            self.finished = true;
            return Read::Nothing;
        }
        let limit = usize::try_from(limit).unwrap_or(BATCH).min(BATCH);
        let Ok(events) = log.read(self.position, limit) else {
            self.send_expired(0, revision);
            return Read::Nothing;
        };
        let mut before = 0;
        let fits = |event: &&Arc<Event>| {
            let fits = before < FRAME_BYTES;
            before += event.current.bytes.len();
            fits
        };
        let events: Vec<Arc<Event>> = events.take_while(fits).cloned().collect();
        let changes = events.iter().filter_map(|event| self.change(event));
        let (kinds, stored): (Vec<_>, Vec<_>) = changes.unzip();
        if self.call.resource().conversion.is_some() {
            self.call.exchange.get_or_insert_default().begin(&mut state.ids.clone());
        }
        let seen = convert::seen_list(&state, &self.call, &stored).map(Cow::into_owned);
        drop(state);
        if let Some(question) = self.call.exchange.as_ref().and_then(Exchange::open) {
            return Read::Asks(Box::new(question));
        }
        self.call.exchange = None;
        self.position += events.len() as u64;
        match seen {
            Ok(seen) => kinds.iter().zip(&seen).for_each(|(kind, stored)| self.send(kind, stored)),
            Err(why) => self.send_error(&why),
        }
        if events.is_empty() { Read::Nothing } else { Read::Something }
    }

    /// An event as the selectors see it.
    fn change(&self, event: &Event) -> Option<(&'static str, Arc<Stored>)> {
        if !self.call.namespace.is_empty() {
            let rest = event.key.strip_prefix(self.call.namespace.as_str())?;
            if !rest.starts_with('/') {
                return None;
            }
        }
        let was = event.previous.as_ref().filter(|previous| matches(&self.options, &previous.value));
        let is = !event.deleted && matches(&self.options, &event.current.value);
        match (was, is) {
            (None, true) => Some(("ADDED", event.current.clone())),
            (Some(_), true) => Some(("MODIFIED", event.current.clone())),
            (Some(_), false) if event.deleted => Some(("DELETED", event.current.clone())),
            (Some(previous), false) => {
                // It left the selection: its previous state, with the version of the change.
                let mut last = (*previous.value).clone();
                last["metadata"]["resourceVersion"] = json!(event.current.revision.to_string());
                Some(("DELETED", Arc::new(Stored::unwritten(last))))
            }
            (None, false) => None,
        }
    }

    fn send(&mut self, kind: &str, stored: &Stored) {
        self.send_object(kind, Encoded::from(stored));
    }

    fn send_object(&mut self, kind: &str, object: Encoded<'_>) {
        let version = self.call.served.version();
        let view = self.view.at(self.clock.now());
        let heading = !std::mem::replace(&mut self.headed, true);
        write_event(&mut self.pending, kind, |out| view.write(out, version, object, heading));
    }

    fn send_bookmark(&mut self, revision: u64, annotations: Option<Value>) {
        let mut object = json!({ "metadata": { "resourceVersion": revision.to_string() } });
        if let Some(annotations) = annotations {
            object["metadata"]["annotations"] = annotations;
        }
        self.send_object("BOOKMARK", Encoded::from(&object));
    }

    fn send_expired(&mut self, asked: u64, current: u64) {
        self.send_error(&Status::expired(format!("too old resource version: {asked} ({current})")));
    }

    fn send_error(&mut self, status: &Status) {
        write_event(&mut self.pending, "ERROR", |out| out.extend(encode(&status.to_value())));
        self.finished = true;
    }
}
