//! Replays the recorded server-side apply cases through the pure functions.
//!
//! What the server adds between the request and the answer (defaults, system fields) is taken from the recording.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::apply::{ApplyError, FieldSet, Writer, apply, conflict_message, track_update};
use crate::patch;
use crate::schema::{MergeType, StructuralSchema, builtin_merge_type, cases};

/// A server that knows merging and ownership only.
#[derive(Default)]
struct Replay {
    objects: BTreeMap<String, Value>,
    custom: BTreeMap<String, Arc<MergeType>>,
    compared: usize,
}

fn replay(case: &str) {
    let mut server = Replay::default();
    for step in cases::steps(case).unwrap_or_default() {
        server.step(case, &step);
    }
    println!("{case}: {} steps compared", server.compared);
}

impl Replay {
    fn step(&mut self, case: &str, step: &Value) {
        let at = format!("{case} {}", step["id"]);
        let request = &step["request"];
        let (body, expect) = (&request["body"], &step["expect"]);
        let status = expect["status"].as_u64().unwrap();
        let path = request["path"].as_str().unwrap();
        let method = request["method"].as_str().unwrap();
        // What others than the case wrote is not ours to know.
        let shown =
            expect["body"].get("/metadata/managedFields").is_some() && !path.contains("customresource");
        if method == "GET" && step["managedFields"] == true && shown {
            let live = self.objects[path].clone();
            self.compare(&at, step, status, path.to_owned(), Ok(live));
        }
        if method == "GET" || body.is_null() {
            return;
        }
        if body["kind"] == "CustomResourceDefinition" && method == "POST" {
            let schema = &body["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
            let schema = StructuralSchema::from_openapi(schema, "").unwrap();
            let kind = body["spec"]["names"]["kind"].as_str().unwrap();
            self.custom.insert(kind.to_owned(), schema.merge_type());
        }
        let subresource = ["status", "scale"].into_iter().find(|name| path.ends_with(&format!("/{name}")));
        let path = subresource.and_then(|name| path.strip_suffix(&format!("/{name}"))).unwrap_or(path);
        let key = match method {
            "POST" => format!("{path}/{}", body["metadata"]["name"].as_str().unwrap_or_default()),
            _ => path.to_owned(),
        };
        let live = self.objects.get(&key);
        // A Scale is a view of the object it scales.
        let subject =
            if body["kind"].is_string() && body["kind"] != "Scale" { body } else { live.unwrap_or(body) };
        let kind = subject["kind"].as_str().unwrap_or_default();
        let api_version = subject["apiVersion"].as_str().unwrap_or_default();
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        let types = self.custom.get(kind).cloned().unwrap_or_else(|| builtin_merge_type(group, kind));
        let agent = request["headers"]["User-Agent"].as_str().unwrap_or("conformance-replay/1");
        let writer = Writer {
            manager: request["query"]["fieldManager"]
                .as_str()
                .or(agent.split('/').next())
                .unwrap()
                .to_owned(),
            api_version: api_version.to_owned(),
            subresource: subresource.map(str::to_owned),
            // Changes through scale are recorded without a time.
            time: if subresource == Some("scale") { String::new() } else { "<time>".into() },
        };
        let content_type = request["headers"]["Content-Type"].as_str().unwrap_or_default();
        let result = if content_type.contains("apply-patch") {
            let force = request["query"]["force"] == "true";
            let mut config = body.clone();
            match subresource {
                Some("scale") => None,
                Some(_) => config.as_object_mut().map(|fields| fields.remove("spec")),
                None => config.as_object_mut().map(|fields| fields.remove("status")),
            };
            if kind == "Secret" && method == "PATCH" && config["metadata"].get("managedFields").is_some() {
                return;
            }
            apply(live, &config, &types, &writer, force)
        } else {
            let live_or_null = live.cloned().unwrap_or_default();
            let new = match content_type {
                "application/merge-patch+json" => patch::merge(&live_or_null, body),
                "application/json-patch+json" => patch::json(&live_or_null, body).unwrap(),
                "application/strategic-merge-patch+json" => {
                    patch::strategic(&live_or_null, body, &types).unwrap()
                }
                _ => body.clone(),
            };
            let mut new = new;
            if let Some(live) = live {
                for name in ["uid", "creationTimestamp", "generation", "resourceVersion", "namespace"] {
                    if let Some(value) = live["metadata"].get(name) {
                        new["metadata"][name] = value.clone();
                    }
                }
            }
            track_update(live, &mut new, &types, &writer);
            Ok(new)
        };
        self.compare(&at, step, status, key, result);
    }

    fn compare(
        &mut self,
        at: &str,
        step: &Value,
        status: u64,
        key: String,
        result: Result<Value, ApplyError>,
    ) {
        let answer = &step["expect"]["body"];
        let message = answer.get("message").or(answer.get("/message")).unwrap_or(&Value::Null);
        let text = message.as_str().unwrap_or_default();
        if status < 300 {
            let mut object = result.unwrap_or_else(|error| panic!("{at}: {error:?}"));
            let viewed = answer.get("/metadata/managedFields");
            if step["compare"] == "status"
                || answer["kind"] == "Scale"
                || (answer.get("metadata").is_none() && viewed.is_none())
            {
                object["metadata"]["uid"] = json!("recorded elsewhere");
            } else {
                let managed = viewed.or_else(|| answer["metadata"].get("managedFields"));
                let mut ours = object["metadata"].get("managedFields").cloned().unwrap_or_default();
                for pointer in step["view"]["drop"].as_array().into_iter().flatten() {
                    drop_pointer(&mut ours, pointer.as_str().unwrap());
                }
                if step["managedFields"] == true {
                    assert_eq!(&ours, managed.unwrap_or(&Value::Null), "{at}: managedFields");
                    self.compared += 1;
                }
                self.adopt(at, &mut object, answer);
            }
            self.objects.insert(key, object);
        } else if text.starts_with("Apply failed with") {
            let Err(ApplyError::Conflicts(conflicts)) = result else {
                panic!("{at}: no conflict: {result:?}")
            };
            // The server names the version of the Scale; here the object itself is applied.
            assert_eq!(conflict_message(&conflicts), text.replace("autoscaling/v1", "apps/v1"), "{at}");
            self.compared += 1;
        } else if text.starts_with("failed to create typed patch object") && answer["kind"] == "Status" {
            let Err(ApplyError::Invalid(ours)) = result else { return };
            assert_eq!(ours, text, "{at}");
            self.compared += 1;
        }
    }

    /// Checks that the server stored what we made, plus its own additions, and goes on with the server's object.
    fn adopt(&self, at: &str, object: &mut Value, answer: &Value) {
        let managed = object["metadata"].get("managedFields").cloned();
        if answer.get("metadata").is_some() {
            for name in ["data", "webhooks", "rules", "subjects"] {
                let ours = object.get(name);
                if ours.is_some() && answer.get(name).is_some() && name != "webhooks" {
                    assert_eq!(ours, answer.get(name), "{at}: {name}");
                }
            }
            if object["kind"].as_str().is_some_and(|kind| kind.starts_with("Ss")) {
                assert_eq!(without_port(&object["spec"]), without_port(&answer["spec"]), "{at}: spec");
                assert_eq!(object["status"], answer["status"], "{at}: status");
            }
            for name in ["labels", "annotations", "finalizers", "ownerReferences"] {
                let theirs = answer["metadata"].get(name);
                if object["kind"] != "Namespace" {
                    assert_eq!(object["metadata"].get(name), theirs, "{at}: {name}");
                }
            }
            object.clone_from(answer);
        } else {
            for (pointer, value) in answer.as_object().into_iter().flatten() {
                if let Some(place) = object.pointer_mut(pointer) {
                    if pointer.ends_with("finalizers") || pointer.ends_with("ownerReferences") {
                        assert_eq!(place, value, "{at}: {pointer}");
                    }
                    place.clone_from(value);
                }
            }
        }
        object["metadata"]["uid"] = json!("recorded");
        if let (Some(managed), Some(metadata)) = (managed, object["metadata"].as_object_mut()) {
            metadata.insert("managedFields".into(), managed);
        }
    }
}

/// A defaulted key field of the recorded custom resource.
fn without_port(value: &Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .iter()
            .filter(|(name, value)| name.as_str() != "port" || **value != json!(80))
            .map(|(name, value)| (name.clone(), without_port(value)))
            .collect(),
        Value::Array(items) => items.iter().map(without_port).collect(),
        scalar => scalar.clone(),
    }
}

/// Removes what `/~1metadata~1managedFields/*/a/b` points at.
fn drop_pointer(managed: &mut Value, pointer: &str) {
    let Some(rest) = pointer.strip_prefix("/~1metadata~1managedFields/*") else { return };
    let Some((parent, name)) = rest.rsplit_once('/') else { return };
    for entry in managed.as_array_mut().into_iter().flatten() {
        if let Some(Value::Object(fields)) = entry.pointer_mut(parent) {
            fields.remove(name);
        }
    }
}

#[test]
fn recorded_applies_create_conflict_and_remove() {
    for case in ["ssa-create", "ssa-conflict-force", "ssa-remove-field", "ssa-noop-and-races"] {
        replay(case);
    }
}

#[test]
fn recorded_lists_merge_by_key_as_sets_and_whole() {
    for case in ["ssa-listmap", "ssa-sets-and-atomics", "ssa-cluster-objects"] {
        replay(case);
    }
}

#[test]
fn recorded_custom_resources_and_their_status_are_owned_by_field() {
    for case in ["ssa-custom-resource", "ssa-status"] {
        replay(case);
    }
}

#[test]
fn recorded_writers_of_all_sorts_share_an_object() {
    replay("ssa-other-writers");
    replay("ssa-scale");
}

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
