//! Storage filled with objects that were stored before, under their old versions.

use std::sync::Arc;

use serde_json::Value;

use super::{Event, ObjectKey, ResourceId, Storage, Stored};

impl Storage {
    /// Replaces everything by `objects`, each under the version it says it has, and goes on after `revision`. The
    /// history starts anew; controllers take every object for a new one.
    #[cfg(feature = "server")]
    pub(crate) fn restore(
        &mut self,
        objects: impl Iterator<Item = (ResourceId, ObjectKey, Value)>,
        revision: u64,
    ) {
        self.tables = imbl::OrdMap::new();
        self.logs.clear();
        self.revision = revision;
        for (resource, key, value) in objects {
            self.put_as_it_was(resource, key, value);
        }
        self.forget_history();
    }

    /// Puts an object under the version that it says it has; without one, under the present one. Watches do not notice,
    /// and must not go on over it: see [`Storage::forget_history`].
    pub(crate) fn put_as_it_was(&mut self, resource: ResourceId, key: ObjectKey, value: Value) {
        let version = value["metadata"]["resourceVersion"].as_str().and_then(|text| text.parse().ok());
        let version: u64 = version.unwrap_or(self.revision);
        self.revision = self.revision.max(version);
        let stored = Arc::new(Stored::new(value, version));
        self.tables.entry(resource.clone()).or_default().insert(key.clone(), stored.clone());
        if let Some(feed) = &mut self.feed {
            let event = Event { resource, key, current: stored, previous: None, deleted: false };
            feed.push(Arc::new(event));
        }
    }

    /// Lets nobody watch from before now.
    pub(crate) fn forget_history(&mut self) {
        for resource in self.tables.keys().cloned().collect::<Vec<_>>() {
            let revision = self.revision;
            self.log(&resource).compact(revision);
        }
    }
}
