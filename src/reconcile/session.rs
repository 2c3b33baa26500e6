//! One custom resource during one reconcile: as it was read, and the status that is being worked out for it.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::record::Record;
use crate::api::{ClusterProfileRef, Conditions, Status};
use crate::index::Key;
use crate::manifest::Object;
use crate::rollout::Labels;
use crate::target::cluster::{Cluster, ClusterError};
use crate::target::mapping::Resource;

/// See the module.
pub(super) struct Session<'a> {
    hub: &'a Cluster,
    resource: Resource,
    /// Which custom resource.
    pub(super) key: Key,
    /// As last read or written.
    pub(super) object: Object,
    /// The status to be; [`Session::save`] writes it.
    pub(super) status: Status,
    /// The record to be; written with the status.
    pub(super) record: Record,
    /// What waves of a rollout select it by.
    pub(super) labels: Labels,
}

impl<'a> Session<'a> {
    /// A session with what was read.
    pub(super) fn new(
        hub: &'a Cluster,
        resource: Resource,
        key: Key,
        object: Object,
        record: Record,
    ) -> Self {
        let status = Status::from_value(&object.value()["status"]);
        Self { hub, resource, key, object, status, record, labels: Labels::default() }
    }

    /// `metadata.annotations[key]`.
    pub(super) fn annotation(&self, key: &str) -> Option<&str> {
        self.object.annotation(key)
    }

    /// The profile that it is bound to, or else the one that it asks for; none: the local cluster.
    pub(super) fn profile(&self) -> Option<ClusterProfileRef> {
        match &self.record.target {
            Some(bound) => bound.profile.clone(),
            None => serde_json::from_value(self.object.value()["spec"]["clusterProfileRef"].clone()).ok(),
        }
    }

    /// Whether the custom resource is being deleted.
    pub(super) fn is_deleting(&self) -> bool {
        self.object.value()["metadata"]["deletionTimestamp"].is_string()
    }

    /// Since when it is being deleted.
    pub(super) fn deleted_at(&self) -> Option<Timestamp> {
        self.object.value()["metadata"]["deletionTimestamp"].as_str()?.parse().ok()
    }

    /// `metadata.generation`.
    pub(super) fn generation(&self) -> i64 {
        self.object.value()["metadata"]["generation"].as_i64().unwrap_or_default()
    }

    /// The conditions to be.
    pub(super) fn conditions(&mut self) -> &mut Conditions {
        &mut self.status.conditions
    }

    /// Whether the status to be says Ready and the stored one does not.
    pub(super) fn becomes_ready(&self) -> bool {
        let stored = Status::from_value(&self.object.value()["status"]);
        self.status.conditions.is_ready() && !stored.conditions.is_ready()
    }

    /// Writes what differs from the stored status, if anything does. The write fails with a conflict if somebody
    /// wrote meanwhile, and then the reconcile must start over (W49).
    ///
    /// # Errors
    /// Any failure.
    pub(super) async fn save(&mut self) -> Result<(), ClusterError> {
        self.note_record();
        self.save_keeping_record().await
    }

    /// Writes the record alone, ahead of the work that it speaks of. Conditions wait for the end of the pass: what they
    /// will say of the new specification is not known yet.
    ///
    /// # Errors
    /// Any failure.
    pub(super) async fn save_record(&mut self) -> Result<(), ClusterError> {
        self.note_record();
        let stored = self.object.value()["status"]["annotations"].clone();
        let annotations = serde_json::to_value(&self.status.annotations).expect("texts serialise");
        match difference(&stored, &annotations) {
            None => Ok(()),
            Some(changes) => self.patch_status(&json!({"annotations": changes})).await,
        }
    }

    /// [`Session::save`] that leaves the stored record as it is, whatever it is.
    ///
    /// # Errors
    /// Any failure.
    pub(super) async fn save_keeping_record(&mut self) -> Result<(), ClusterError> {
        let stored = Status::from_value(&self.object.value()["status"]);
        self.status.conditions.settle(&stored.conditions);
        let wanted = serde_json::to_value(&self.status).expect("strings and lists serialise");
        match difference(&self.object.value()["status"], &wanted) {
            None => Ok(()),
            Some(changes) => self.patch_status(&changes).await,
        }
    }

    async fn patch_status(&mut self, changes: &Value) -> Result<(), ClusterError> {
        let patch = json!({
            "metadata": {"resourceVersion": self.object.value()["metadata"]["resourceVersion"]},
            "status": changes,
        });
        let name = (self.key.namespace.as_str(), self.key.name.as_str());
        self.object = self.hub.merge_patch(&self.resource, name, "status", &patch).await?;
        Ok(())
    }

    fn note_record(&mut self) {
        for (key, value) in self.record.annotations() {
            match value {
                Some(value) => drop(self.status.annotations.insert(key.into(), value)),
                None => drop(self.status.annotations.remove(key)),
            }
        }
    }

    /// Merges labels and annotations into the metadata, if any of them differs.
    ///
    /// # Errors
    /// Any failure.
    pub(super) async fn merge_metadata(&mut self, wanted: &Value) -> Result<(), ClusterError> {
        let metadata = &self.object.value()["metadata"];
        let differs = |field: &str| {
            let fields = wanted[field].as_object();
            fields.is_some_and(|fields| fields.iter().any(|(key, value)| metadata[field][key] != *value))
        };
        if !differs("labels") && !differs("annotations") {
            return Ok(());
        }
        let mut patch = wanted.clone();
        patch["resourceVersion"] = metadata["resourceVersion"].clone();
        let name = (self.key.namespace.as_str(), self.key.name.as_str());
        self.object = self.hub.merge_patch(&self.resource, name, "", &json!({"metadata": patch})).await?;
        Ok(())
    }

    /// Sets the finalizers, guarded by the version that was read.
    ///
    /// # Errors
    /// Any failure.
    pub(super) async fn set_finalizers(&mut self, finalizers: &[String]) -> Result<(), ClusterError> {
        let patch = json!({"metadata": {
            "resourceVersion": self.object.value()["metadata"]["resourceVersion"],
            "finalizers": finalizers,
        }});
        let name = (self.key.namespace.as_str(), self.key.name.as_str());
        self.object = self.hub.merge_patch(&self.resource, name, "", &patch).await?;
        Ok(())
    }

    /// The finalizers as last read.
    pub(super) fn finalizers(&self) -> Vec<String> {
        let list = self.object.value()["metadata"]["finalizers"].as_array();
        list.into_iter().flatten().filter_map(|f| f.as_str()).map(str::to_owned).collect()
    }
}

/// The merge patch from `stored` to `wanted`; `None` when there is nothing to change. Lists are replaced.
fn difference(stored: &Value, wanted: &Value) -> Option<Value> {
    if stored == wanted {
        return None;
    }
    let (Some(from), Some(to)) = (stored.as_object(), wanted.as_object()) else {
        return Some(wanted.clone());
    };
    let mut patch = Map::new();
    for (key, value) in to {
        match from.get(key) {
            None => drop(patch.insert(key.clone(), value.clone())),
            Some(before) => {
                if let Some(change) = difference(before, value) {
                    patch.insert(key.clone(), change);
                }
            }
        }
    }
    for key in from.keys().filter(|key| !to.contains_key(*key)) {
        patch.insert(key.clone(), Value::Null);
    }
    (!patch.is_empty()).then_some(Value::Object(patch))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_holds_only_what_differs() {
        let stored = json!({"a": 1, "b": {"x": 1, "y": 2}, "gone": true});
        let wanted = json!({"a": 1, "b": {"x": 1, "y": 3}, "new": []});
        assert_eq!(difference(&stored, &wanted), Some(json!({"b": {"y": 3}, "new": [], "gone": null})));
        assert_eq!(difference(&stored, &stored), None);
        assert_eq!(difference(&Value::Null, &json!({"a": 1})), Some(json!({"a": 1})));
    }
}
