//! Multi-version storage: one revision counter, persistent maps per resource, a bounded event log per resource.
//!
//! Objects are stored once, with their encoded bytes. A [`Snapshot`] costs two pointers. An older revision is
//! rebuilt by undoing logged events, so that lists at an exact revision and paged lists need no copies.
//! It knows nothing of kinds, admission or HTTP: callers decide what may be written.

mod log;
mod restore;
mod snapshot;

use std::sync::Arc;

use bytes::Bytes;
use imbl::OrdMap;
use serde_json::Value;
use tokio::sync::Notify;

pub(crate) use self::log::{Event, EventLog, Gone};
pub use self::snapshot::{ObjectRef, Snapshot};

/// Plural resource name with its group, as in `deployments.apps`.
pub type ResourceId = Arc<str>;

/// `namespace/name`, or `name` for cluster-scoped objects. Sorts as etcd keys do.
pub type ObjectKey = Arc<str>;

/// The objects of one resource.
pub(crate) type Objects = OrdMap<ObjectKey, Arc<Stored>>;

/// The key of an object; `namespace` is empty for cluster-scoped ones.
pub fn object_key(namespace: &str, name: &str) -> ObjectKey {
    if namespace.is_empty() { name.into() } else { format!("{namespace}/{name}").into() }
}

/// One version of one object.
#[derive(Debug)]
pub struct Stored {
    /// The object, with `apiVersion` and `kind` of the stored version.
    pub value: Arc<Value>,
    /// Its JSON without `apiVersion` and `kind`: those are spliced in for the version that is asked for.
    pub bytes: Bytes,
    /// Revision of the write that made this version.
    pub revision: u64,
}

impl Stored {
    pub(crate) fn new(value: Value, revision: u64) -> Self {
        let bytes = encode_body(&value);
        Self { value: Arc::new(value), bytes, revision }
    }

    /// An object that is answered but not written: a dry run, or the state in which an object leaves.
    pub(crate) fn unwritten(value: Value) -> Self {
        Self::new(value, 0)
    }

    /// `metadata`, or null.
    pub fn metadata(&self) -> &Value {
        &self.value["metadata"]
    }

    /// `metadata.uid`, or empty.
    pub fn uid(&self) -> &str {
        self.metadata()["uid"].as_str().unwrap_or_default()
    }
}

/// The members of an object but `apiVersion` and `kind`, as one JSON object.
pub(crate) fn encode_body(value: &Value) -> Bytes {
    let mut out = Vec::with_capacity(512);
    out.push(b'{');
    for (key, member) in value.as_object().into_iter().flatten() {
        if key == "apiVersion" || key == "kind" {
            continue;
        }
        if out.len() > 1 {
            out.push(b',');
        }
        write_json(&mut out, key);
        out.push(b':');
        write_json(&mut out, member);
    }
    out.push(b'}');
    out.into()
}

/// Appends `value` as JSON.
pub(crate) fn write_json<T: serde::Serialize + ?Sized>(out: &mut Vec<u8>, value: &T) {
    serde_json::to_writer(out, value).expect("a JSON value with string keys encodes into memory");
}

/// Everything a cluster stores.
#[derive(Debug)]
pub(crate) struct Storage {
    revision: u64,
    tables: OrdMap<ResourceId, Objects>,
    logs: std::collections::BTreeMap<ResourceId, EventLog>,
    history: usize,
    /// Events that no controller has seen yet; `None` when nobody will.
    feed: Option<Vec<Arc<Event>>>,
}

impl Storage {
    /// Empty storage whose logs keep `history` events for each resource.
    pub(crate) fn new(history: usize) -> Self {
        Self { revision: 0, tables: OrdMap::new(), logs: Default::default(), history, feed: None }
    }

    /// The same once more, without anybody who waits for changes.
    pub(crate) fn duplicate(&self) -> Self {
        let logs = self.logs.iter().map(|(resource, log)| (resource.clone(), log.duplicate())).collect();
        Self { tables: self.tables.clone(), logs, feed: self.feed.clone(), ..*self }
    }

    /// The revision of the latest write.
    pub(crate) fn revision(&self) -> u64 {
        self.revision
    }

    /// The current state.
    pub(crate) fn snapshot(&self) -> Snapshot {
        Snapshot::new(self.tables.clone(), self.revision)
    }

    /// The objects of one resource now.
    pub(crate) fn objects(&self, resource: &str) -> Objects {
        self.tables.get(resource).cloned().unwrap_or_default()
    }

    /// The objects of one resource as they were at `revision`.
    ///
    /// # Errors
    /// [`Gone`] when the log does not reach back that far.
    pub(crate) fn objects_at(&self, resource: &str, revision: u64) -> Result<Objects, Gone> {
        let objects = self.objects(resource);
        match self.logs.get(resource) {
            Some(log) => log.undo(objects, revision),
            None => Ok(objects),
        }
    }

    /// One object.
    pub(crate) fn get(&self, resource: &str, key: &str) -> Option<&Arc<Stored>> {
        self.tables.get(resource)?.get(key)
    }

    /// Writes `value`, which gets the new revision as its resourceVersion.
    pub(crate) fn put(&mut self, resource: &ResourceId, key: &ObjectKey, value: Value) -> Arc<Stored> {
        let stored = self.stamp(value);
        let previous = self.tables.entry(resource.clone()).or_default().insert(key.clone(), stored.clone());
        let event = Event {
            resource: resource.clone(),
            key: key.clone(),
            current: stored.clone(),
            previous,
            deleted: false,
        };
        self.append(event);
        stored
    }

    /// Removes an object; the answer is its last state with the revision of the removal.
    pub(crate) fn remove(&mut self, resource: &ResourceId, key: &ObjectKey) -> Option<Arc<Stored>> {
        let previous = self.tables.get_mut(resource)?.remove(key)?;
        let last = self.stamp((*previous.value).clone());
        let event = Event {
            resource: resource.clone(),
            key: key.clone(),
            current: last.clone(),
            previous: Some(previous),
            deleted: true,
        };
        self.append(event);
        Some(last)
    }

    fn stamp(&mut self, mut value: Value) -> Arc<Stored> {
        self.revision += 1;
        value["metadata"]["resourceVersion"] = Value::String(self.revision.to_string());
        Arc::new(Stored::new(value, self.revision))
    }

    fn append(&mut self, event: Event) {
        let event = Arc::new(event);
        if let Some(feed) = &mut self.feed {
            feed.push(event.clone());
        }
        let history = self.history;
        self.log(&event.resource.clone()).append(event, history);
    }

    /// The event log of a resource.
    pub(crate) fn log(&mut self, resource: &ResourceId) -> &mut EventLog {
        self.logs.entry(resource.clone()).or_default()
    }

    /// What wakes watchers of a resource.
    pub(crate) fn notify(&mut self, resource: &ResourceId) -> Arc<Notify> {
        self.log(resource).notify()
    }

    /// Forgets all history: older versions can no longer be listed or watched from.
    pub(crate) fn compact(&mut self) {
        let revision = self.revision;
        self.logs.values_mut().for_each(|log| log.compact(revision));
    }

    /// Changes an object without a new revision, as a change of its schema changes how it is read.
    pub(crate) fn reinterpret(&mut self, resource: &str, key: &ObjectKey, value: Value) {
        if let Some(stored) = self.tables.get_mut(resource).and_then(|objects| objects.get_mut(key)) {
            *stored = Arc::new(Stored::new(value, stored.revision));
        }
    }

    /// Begins the history of a resource that is served from now on: nothing can be watched from before.
    pub(crate) fn begin_history(&mut self, resource: &ResourceId) {
        let revision = self.revision;
        self.log(resource).compact(revision);
    }

    /// Ends all watches of a resource, whose kind has gone.
    pub(crate) fn end_watches(&mut self, resource: &ResourceId) {
        self.log(resource).end();
    }

    /// Starts to collect events for [`Storage::take_feed`]; what is stored already counts as new.
    pub(crate) fn open_feed(&mut self) {
        let existing = self.tables.iter().flat_map(|(resource, objects)| {
            objects.iter().map(move |(key, stored)| {
                Arc::new(Event {
                    resource: resource.clone(),
                    key: key.clone(),
                    current: stored.clone(),
                    previous: None,
                    deleted: false,
                })
            })
        });
        self.feed = Some(existing.collect());
    }

    /// Whether there are events that no controller has seen.
    pub(crate) fn has_feed(&self) -> bool {
        self.feed.as_ref().is_some_and(|feed| !feed.is_empty())
    }

    /// The events since the last call.
    pub(crate) fn take_feed(&mut self) -> Vec<Arc<Event>> {
        self.feed.as_mut().map(std::mem::take).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
