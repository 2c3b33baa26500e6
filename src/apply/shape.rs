//! Whether a live object is as desired, seen through field ownership.
//!
//! Pure. Our server-side apply leaves an entry in `metadata.managedFields` that lists the fields we own (KEP-555).
//! Whoever else changes one of them takes it out of that entry, so an unchanged entry means an unchanged object as
//! far as we are concerned. When nothing is remembered about an object (after a restart), the owned part of the live
//! object is compared with the desired one instead.

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::ownership::PREDECESSOR;
use crate::manifest::Object;
use crate::target::cluster::FIELD_MANAGER;

/// Digest of a JSON value (maps are sorted, so equal values have equal digests).
pub type Fingerprint = [u8; 32];

/// The digest of a value.
pub fn fingerprint(value: &Value) -> Fingerprint {
    let mut text = Digesting(Sha256::new());
    serde_json::to_writer(&mut text, value).expect("a JSON value encodes, and a digest takes everything");
    text.0.finalize().into()
}

/// What is written is digested, and never held as a whole.
struct Digesting(Sha256);

impl std::io::Write for Digesting {
    fn write(&mut self, text: &[u8]) -> std::io::Result<usize> {
        self.0.update(text);
        Ok(text.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The fields that `manager` owns by server-side apply, as `FieldsV1`.
pub fn owned_fields<'a>(live: &'a Object, manager: &str) -> Option<&'a Value> {
    let entries = live.value()["metadata"]["managedFields"].as_array()?;
    let ours = entries.iter().find(|entry| {
        entry["manager"] == manager && entry["operation"] == "Apply" && entry["subresource"].is_null()
    });
    ours.map(|entry| &entry["fieldsV1"])
}

/// Whether we, or the operator before us, have written anything of the object.
pub fn was_written_by_us(live: &Object) -> bool {
    let entries = live.value()["metadata"]["managedFields"].as_array();
    let ours = |entry: &Value| entry["manager"] == FIELD_MANAGER || entry["manager"] == PREDECESSOR;
    entries.into_iter().flatten().any(ours)
}

/// Whether what `manager` owns of the live object is exactly the desired one. `false` may also mean that the server
/// has filled in a default inside a value that is owned as a whole, or writes it in another form (`1000m` as `1`); then
/// only the server can tell.
pub fn is_as_desired(desired: &Object, live: &Object, manager: &str) -> bool {
    let Some(fields) = owned_fields(live, manager) else { return false };
    let mut wanted = desired.value().clone();
    strip_identity(&mut wanted);
    drop_nulls(&mut wanted);
    let owned = owned_part(live.value(), fields).unwrap_or_else(|| json!({}));
    wanted == owned
}

/// What an apply request says about identity is owned by nobody.
fn strip_identity(value: &mut Value) {
    if let Some(map) = value.as_object_mut() {
        map.remove("apiVersion");
        map.remove("kind");
        if let Some(Value::Object(metadata)) = map.get_mut("metadata") {
            metadata.remove("name");
            metadata.remove("namespace");
            metadata.remove("generateName");
            if metadata.is_empty() {
                map.remove("metadata");
            }
        }
    }
}

fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.retain(|_, v| !v.is_null());
            map.values_mut().for_each(drop_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

/// The part of `live` that a `FieldsV1` set covers; `None` when nothing of it is there any more.
fn owned_part(live: &Value, fields: &Value) -> Option<Value> {
    let fields = fields.as_object()?;
    let children = fields.keys().any(|key| key != ".");
    if !children {
        return Some(live.clone());
    }
    match live {
        Value::Object(map) => {
            let mut part = Map::new();
            for (key, below) in fields {
                if let Some(name) = key.strip_prefix("f:")
                    && let Some(value) = map.get(name).and_then(|value| owned_part(value, below))
                {
                    part.insert(name.into(), value);
                }
            }
            Some(Value::Object(part))
        }
        Value::Array(items) => {
            let part = items.iter().filter_map(|item| {
                let (_, below) = fields.iter().find(|(key, _)| names_item(key, item))?;
                owned_part(item, below)
            });
            Some(Value::Array(part.collect()))
        }
        _ => None,
    }
}

/// Whether a path element (`k:{"name":"a"}` or `v:"a"`) names this item of a list.
fn names_item(element: &str, item: &Value) -> bool {
    let parse = |text: &str| serde_json::from_str::<Value>(text).unwrap_or(Value::Null);
    if let Some(value) = element.strip_prefix("v:") {
        return parse(value) == *item;
    }
    let Some(keys) = element.strip_prefix("k:") else { return false };
    parse(keys).as_object().is_some_and(|keys| keys.iter().all(|(name, value)| item[name] == *value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn live(spec: Value, fields: Value) -> Object {
        let entry = json!({"manager": "m", "operation": "Apply", "fieldsV1": fields});
        let object = json!({"apiVersion": "v1", "kind": "K", "metadata": {"name": "x", "managedFields": [entry]},
                            "spec": spec});
        Object::try_from(object).unwrap()
    }

    fn desired(spec: Value) -> Object {
        Object::try_from(json!({"apiVersion": "v1", "kind": "K", "metadata": {"name": "x"}, "spec": spec}))
            .unwrap()
    }

    #[test]
    fn a_fingerprint_is_the_digest_of_the_text() {
        let value = json!({"b": [1, 2.5, "\u{1f600}\n"], "a": null});
        assert_eq!(fingerprint(&value), <Fingerprint>::from(Sha256::digest(value.to_string())));
    }

    #[test]
    fn fields_of_others_do_not_count() {
        let live = live(json!({"a": 1, "theirs": 2}), json!({"f:spec": {"f:a": {}}}));
        assert!(is_as_desired(&desired(json!({"a": 1})), &live, "m"));
        assert!(!is_as_desired(&desired(json!({"a": 2})), &live, "m"));
    }

    #[test]
    fn a_field_we_own_and_no_longer_want_counts() {
        let live = live(json!({"a": 1, "b": 2}), json!({"f:spec": {"f:a": {}, "f:b": {}}}));
        assert!(!is_as_desired(&desired(json!({"a": 1})), &live, "m"));
    }

    #[test]
    fn a_field_that_somebody_took_over_counts_even_if_the_value_is_the_same() {
        let live = live(json!({"a": 1, "b": 2}), json!({"f:spec": {"f:a": {}}}));
        assert!(!is_as_desired(&desired(json!({"a": 1, "b": 2})), &live, "m"));
    }

    #[test]
    fn items_of_lists_are_told_apart_by_their_keys() {
        let fields = json!({"f:spec": {"f:c": {"k:{\"name\":\"x\"}": {".": {}, "f:name": {}, "f:image": {}}},
                                       "f:s": {"v:\"q\"": {}}}});
        let live = live(
            json!({"c": [{"name": "injected"}, {"name": "x", "image": "i", "pull": "Always"}],
                               "s": ["p", "q"]}),
            fields,
        );
        let want = |image: &str| desired(json!({"c": [{"name": "x", "image": image}], "s": ["q"]}));
        assert!(is_as_desired(&want("i"), &live, "m"));
        assert!(!is_as_desired(&want("j"), &live, "m"));
    }
}
