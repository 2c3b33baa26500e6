//! The bounded history of one resource: what watches replay and older revisions are rebuilt from.

use std::collections::VecDeque;
use std::sync::Arc;

use tokio::sync::Notify;

use super::{ObjectKey, Objects, ResourceId, Stored};

/// One write.
#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) resource: ResourceId,
    pub(crate) key: ObjectKey,
    /// The object after the write; for a removal its last state, with the revision of the removal.
    pub(crate) current: Arc<Stored>,
    /// The object before the write.
    pub(crate) previous: Option<Arc<Stored>>,
    /// Whether the write removed it.
    pub(crate) deleted: bool,
}

/// The history does not reach back to what was asked for.
#[derive(Debug, PartialEq)]
pub(crate) struct Gone;

/// Events in order of revision. Positions count events since the log began, so that a watcher that has seen
/// everything survives compaction.
#[derive(Debug, Default)]
pub(crate) struct EventLog {
    events: VecDeque<Arc<Event>>,
    /// Position of the first kept event.
    first: u64,
    /// Revision up to which events have been dropped.
    compacted: u64,
    /// How often the kind has gone, and the position where it went last.
    ended: (u64, u64),
    notify: Arc<Notify>,
}

impl EventLog {
    /// The same once more, without anybody who waits for changes.
    pub(crate) fn duplicate(&self) -> Self {
        Self { events: self.events.clone(), notify: Arc::default(), ..*self }
    }

    pub(crate) fn append(&mut self, event: Arc<Event>, history: usize) {
        self.events.push_back(event);
        while self.events.len() > history {
            self.drop_front();
        }
        self.notify.notify_waiters();
    }

    fn drop_front(&mut self) {
        if let Some(event) = self.events.pop_front() {
            self.first += 1;
            self.compacted = event.current.revision;
        }
    }

    pub(crate) fn compact(&mut self, revision: u64) {
        self.first += self.events.len() as u64;
        self.events.clear();
        self.compacted = revision;
        self.notify.notify_waiters();
    }

    pub(crate) fn end(&mut self) {
        self.ended = (self.ended.0 + 1, self.end_position());
        self.notify.notify_waiters();
    }

    pub(crate) fn notify(&self) -> Arc<Notify> {
        self.notify.clone()
    }

    /// How often the kind has gone, and the position where it went last: watches of an earlier incarnation
    /// end there.
    pub(crate) fn ended(&self) -> (u64, u64) {
        self.ended
    }

    /// The position after the last event.
    pub(crate) fn end_position(&self) -> u64 {
        self.first + self.events.len() as u64
    }

    /// The position of the first event after `revision`.
    pub(crate) fn position_after(&self, revision: u64) -> Result<u64, Gone> {
        if revision < self.compacted {
            return Err(Gone);
        }
        let before = self.events.partition_point(|event| event.current.revision <= revision);
        Ok(self.first + before as u64)
    }

    /// The events from `position` on, at most `limit`.
    pub(crate) fn read(
        &self,
        position: u64,
        limit: usize,
    ) -> Result<impl Iterator<Item = &Arc<Event>>, Gone> {
        let skip = position.checked_sub(self.first).ok_or(Gone)?;
        Ok(self.events.iter().skip(usize::try_from(skip).unwrap_or(usize::MAX)).take(limit))
    }

    /// `objects`, the current state, as it was at `revision`.
    pub(crate) fn undo(&self, mut objects: Objects, revision: u64) -> Result<Objects, Gone> {
        if revision < self.compacted {
            return Err(Gone);
        }
        for event in self.events.iter().rev().take_while(|event| event.current.revision > revision) {
            match &event.previous {
                Some(previous) => objects.insert(event.key.clone(), previous.clone()),
                None => objects.remove(&event.key),
            };
        }
        Ok(objects)
    }
}
