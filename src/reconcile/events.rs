//! Events on the hub about custom resources.
//!
//! An Event is written when something changed that a person may want to know. The same text about the same object is
//! not repeated, so that a lasting failure costs one Event and not one per attempt.

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::json;

use crate::clock::{Clock, rfc3339_secs};
use crate::index::Key;
use crate::manifest::Object;
use crate::target::cluster::Cluster;

/// Longest text of an Event (`k8s.io/api/core/v1`, validation of Event).
const NOTE_MAX: usize = 1024;

/// How serious an Event is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// Information.
    Normal,
    /// Something a person should look at.
    Warning,
}

/// Writes Events.
pub struct Recorder {
    hub: Cluster,
    clock: Arc<dyn Clock>,
    /// Last text by object UID and reason.
    said: Mutex<BTreeMap<(String, String), String>>,
}

impl Recorder {
    /// A recorder that has said nothing yet.
    pub fn new(hub: Cluster, clock: Arc<dyn Clock>) -> Self {
        Self { hub, clock, said: Mutex::default() }
    }

    /// Writes an Event about `about`, unless it was the last one with this reason. A failure to write is logged and
    /// otherwise ignored: Events are a courtesy.
    pub async fn record(&self, key: &Key, about: &Object, severity: Severity, reason: &str, note: &str) {
        let topic = (about.uid().to_owned(), reason.to_owned());
        if self.said.lock().insert(topic, note.to_owned()).is_some_and(|last| last == note) {
            return;
        }
        let now = self.clock.now();
        let time = rfc3339_secs(now);
        let event = json!({
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": format!("{}.{:x}", key.name, now.as_nanosecond()), "namespace": key.namespace},
            "involvedObject": {
                "apiVersion": about.api_version(),
                "kind": key.kind.kind(),
                "name": key.name,
                "namespace": key.namespace,
                "uid": about.uid(),
            },
            "type": if severity == Severity::Normal { "Normal" } else { "Warning" },
            "reason": reason,
            "message": cut(note),
            "source": {"component": format!("{}-controller", key.kind.kind().to_lowercase())},
            "firstTimestamp": time,
            "lastTimestamp": time,
            "count": 1,
        });
        let event = Object::try_from(event).expect("a complete object");
        if let Err(error) = self.hub.create(&event).await {
            tracing::warn!(object = %key, error = &error as &dyn Error, "event not recorded");
        }
    }

    /// Writes a list that may be too long for one Event as several.
    pub async fn record_list(
        &self,
        key: &Key,
        about: &Object,
        reason: &str,
        (heading, items): (&str, &[String]),
    ) {
        for note in notes(heading, items) {
            self.record(key, about, Severity::Warning, reason, &note).await;
        }
    }

    /// Drops what was said about an object that is gone.
    pub fn forget(&self, uid: &str) {
        self.said.lock().retain(|(about, _), _| about != uid);
    }
}

/// The list in pieces that each fit into an Event and begin with the heading.
fn notes(heading: &str, items: &[String]) -> Vec<String> {
    let mut notes = vec![heading.to_owned()];
    for item in items {
        let last = notes.last_mut().expect("there is one from the start");
        if last.len() + item.len() + 2 <= NOTE_MAX {
            *last += if last.len() == heading.len() { ": " } else { ", " };
            *last += item;
        } else {
            notes.push(format!("{heading}: {item}"));
        }
    }
    notes
}

fn cut(note: &str) -> &str {
    let mut end = note.len().min(NOTE_MAX);
    while !note.is_char_boundary(end) {
        end -= 1;
    }
    &note[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_list_becomes_several_notes_that_lose_nothing() {
        let items: Vec<_> =
            (0..100).map(|i| format!("Deployment.apps knative-serving/number-{i:03}")).collect();
        let notes = notes("Orphaned 100 objects", &items);
        assert!(notes.len() > 1 && notes.iter().all(|note| note.len() <= NOTE_MAX));
        let mut told = notes.iter().flat_map(|note| note.split_once(": ").unwrap().1.split(", "));
        assert!(items.iter().all(|item| told.next() == Some(item)));
        assert_eq!(super::notes("Orphaned 0 objects", &[]), ["Orphaned 0 objects"]);
    }
}
