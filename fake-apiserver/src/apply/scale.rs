//! Owners of a number of replicas, seen through the subresource `scale`.
//!
//! A Scale has no owners of its own: those of its `spec.replicas` are those of the workload's field, and what a write
//! of the Scale does to them is carried back. Entries that come this way have no time.

use serde_json::Value;

use super::element;
use super::field_set::FieldSet;
use super::managers::{self, Entry, Operation};

/// The `apiVersion` under which owners of a Scale are recorded.
const SCALE_VERSION: &str = "autoscaling/v1";
/// Where a Scale has its number of replicas.
const SCALE_REPLICAS: &str = "/spec/replicas";

/// Gives `scale` the owners that the field at the JSON pointer `replicas` has in `parent`.
pub fn owners_to_scale(parent: &Value, replicas: &str, scale: &mut Value) {
    let path = field_at(replicas);
    let owners =
        managers::decode(managers::raw(parent)).into_iter().filter(|entry| entry.fields.contains(&path));
    let owners = owners.map(|entry| Entry {
        api_version: SCALE_VERSION.to_owned(),
        fields: field_at(SCALE_REPLICAS),
        ..entry
    });
    managers::store(scale, owners.collect());
}

/// Carries the owners in `scale` back to the field at `replicas` of `parent`, whose entries are of `api_version`.
pub fn owners_from_scale(parent: &mut Value, replicas: &str, scale: &Value, api_version: &str) {
    let path = field_at(replicas);
    let mut entries = managers::decode(managers::take(parent).as_ref());
    for entry in &mut entries {
        entry.fields.subtract(&path);
    }
    let owners = managers::decode(managers::raw(scale)).into_iter();
    for owner in owners.filter(|owner| owner.fields.contains(&field_at(SCALE_REPLICAS))) {
        let same = |entry: &&mut Entry| {
            entry.manager == owner.manager
                && entry.operation == owner.operation
                && entry.subresource == owner.subresource
                && (owner.operation == Operation::Apply || entry.api_version == api_version)
        };
        match entries.iter_mut().find(same) {
            Some(entry) => entry.fields.unite(path.clone()),
            None => {
                let api_version = api_version.to_owned();
                entries.push(Entry { api_version, time: None, fields: path.clone(), ..owner });
            }
        }
    }
    managers::store(parent, entries);
}

/// The set of the one field at a JSON pointer of object members.
fn field_at(pointer: &str) -> FieldSet {
    pointer.rsplit('/').filter(|name| !name.is_empty()).fold(FieldSet::leaf(), |below, name| {
        let mut set = FieldSet::default();
        set.insert(element::field(name), below);
        set
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entry(manager: &str, operation: &str, subresource: Option<&str>, fields: Value) -> Value {
        let mut entry = json!({
            "apiVersion": "apps/v1", "fieldsType": "FieldsV1", "fieldsV1": fields, "manager": manager,
            "operation": operation,
        });
        match subresource {
            Some(name) => entry["subresource"] = json!(name),
            None => entry["time"] = json!("2024-01-01T00:00:00Z"),
        }
        entry
    }

    #[test]
    fn owners_go_to_the_scale_and_come_back_unchanged() {
        let both = json!({"f:spec": {"f:replicas": {}, "f:paused": {}}});
        let parent = json!({"metadata": {"managedFields": [
            entry("a", "Apply", None, both),
            entry("b", "Update", Some("scale"), json!({"f:spec": {"f:replicas": {}}})),
            entry("c", "Update", None, json!({"f:spec": {"f:paused": {}}})),
        ]}});
        let mut scale = json!({"metadata": {}});
        owners_to_scale(&parent, "/spec/replicas", &mut scale);
        assert_eq!(scale["metadata"]["managedFields"].as_array().map(Vec::len), Some(2));
        let mut back = parent.clone();
        owners_from_scale(&mut back, "/spec/replicas", &scale, "apps/v1");
        assert!(managers::equal_but_for_times(
            &back["metadata"]["managedFields"],
            &parent["metadata"]["managedFields"]
        ));
    }

    #[test]
    fn who_lost_the_replicas_in_the_scale_loses_them_in_the_workload() {
        let mut parent = json!({"metadata": {"managedFields": [
            entry("a", "Apply", None, json!({"f:spec": {"f:replicas": {}, "f:paused": {}}})),
        ]}});
        let scaler = json!({
            "apiVersion": "autoscaling/v1", "fieldsType": "FieldsV1", "manager": "s", "operation": "Update",
            "subresource": "scale", "time": "2024-01-01T00:00:00Z", "fieldsV1": {"f:spec": {"f:replicas": {}}},
        });
        let scale = json!({"metadata": {"managedFields": [scaler]}});
        owners_from_scale(&mut parent, "/spec/replicas", &scale, "apps/v1");
        let expected = json!([
            entry("a", "Apply", None, json!({"f:spec": {"f:paused": {}}})),
            entry("s", "Update", Some("scale"), json!({"f:spec": {"f:replicas": {}}})),
        ]);
        assert_eq!(parent["metadata"]["managedFields"], expected);
    }
}
