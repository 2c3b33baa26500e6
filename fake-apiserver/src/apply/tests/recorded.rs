//! Ownership in the objects of real clusters.

use serde_json::Value;

use crate::apply::{FieldSet, Writer, track_update};
use crate::schema::{builtin_merge_type, cases};

/// Fields that the server sets after it has determined who owns what.
const ALLOCATED: &[&str] = &[
    ".spec.clusterIP",
    ".spec.ipFamil",
    ".spec.ports[",
    ".spec.finalizers",
    ".spec.selector",
    ".spec.template.metadata.labels.",
    ".status.phase",
    ".status.storedVersions",
];

#[test]
fn the_fields_of_real_objects_are_found_as_a_real_server_found_them() {
    for object in cases::objects() {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let (api_version, kind) = (text("/apiVersion"), text("/kind"));
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        if group.contains("knative") || group.contains("x-k8s.io") {
            continue;
        }
        let mut owned = FieldSet::default();
        for entry in object["metadata"]["managedFields"].as_array().into_iter().flatten() {
            owned.unite(FieldSet::decode(&entry["fieldsV1"]));
        }
        let mut created = object.clone();
        created["metadata"].as_object_mut().unwrap().remove("managedFields");
        let writer = Writer {
            manager: "alpha".into(),
            api_version: api_version.into(),
            subresource: None,
            time: "now".into(),
        };
        track_update(None, &mut created, &builtin_merge_type(group, kind), &writer);
        let ours = FieldSet::decode(&created["metadata"]["managedFields"][0]["fieldsV1"]);
        let mut missing = owned.clone();
        missing.subtract(&ours);
        let mut surplus = ours;
        surplus.subtract(&owned);
        let at = format!("{kind} {}", text("/metadata/name"));
        assert_eq!(missing.paths(), [""; 0], "{at}");
        let explained = |path: &String| ALLOCATED.iter().any(|allocated| path.starts_with(allocated));
        assert!(surplus.paths().iter().all(explained), "{at}: {:?}", surplus.paths());
    }
}
