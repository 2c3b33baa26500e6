//! Claims of others on fields that are ours.
//!
//! Pure. An apply removes what it owned and no longer mentions, unless somebody else owns it too (KEP-555). Two such
//! claims are in our way: those that the operator before us left by updating, and those of others on items of lists
//! that we would replace by items with other keys. Both are given up by editing `metadata.managedFields`, as
//! `k8s.io/client-go/util/csaupgrade` does when a client turns to server-side apply.

use serde_json::{Map, Value, json};

use crate::manifest::Object;
use crate::target::cluster::FIELD_MANAGER;

/// Field manager of the Go operator, whose installations are taken over. It updates.
pub const PREDECESSOR: &str = "manifestival";

/// The JSON patch that makes ours what the operator before us owns of an object; `None` when it owns nothing. A
/// conflict answers it when the object has changed meanwhile.
pub fn inherit(live: &Object) -> Option<Value> {
    let (theirs, mut kept): (Vec<Value>, Vec<Value>) = entries(live).into_iter().partition(is_predecessors);
    let newest = theirs.last()?;
    let position = kept.iter().position(is_ours).unwrap_or_else(|| {
        let mut entry = newest.clone();
        entry["manager"] = json!(FIELD_MANAGER);
        entry["operation"] = json!("Apply");
        kept.push(entry);
        kept.len() - 1
    });
    for entry in &theirs {
        unite(&mut kept[position]["fieldsV1"], &entry["fieldsV1"]);
    }
    Some(patch(live, kept))
}

/// Whether the operator before us still owns something of the object.
pub fn has_predecessor(live: &Object) -> bool {
    entries(live).iter().any(is_predecessors)
}

/// The JSON patch that takes from everybody else their claims on items of lists that are ours; `None` when there are
/// none. A conflict answers it when the object has changed meanwhile.
pub fn claim_items(live: &Object) -> Option<Value> {
    let before = entries(live);
    let ours = before.iter().find(|entry| is_ours(entry))?["fieldsV1"].clone();
    let mut after = before.clone();
    for entry in after.iter_mut().filter(|entry| !is_ours(entry) && entry["subresource"].is_null()) {
        without_items(&mut entry["fieldsV1"], &ours);
    }
    after.retain(|entry| entry["fieldsV1"].as_object().is_some_and(|fields| !fields.is_empty()));
    (after != before).then(|| patch(live, after))
}

fn entries(live: &Object) -> Vec<Value> {
    live.value()["metadata"]["managedFields"].as_array().cloned().unwrap_or_default()
}

fn is_ours(entry: &Value) -> bool {
    entry["manager"] == FIELD_MANAGER && entry["operation"] == "Apply" && entry["subresource"].is_null()
}

fn is_predecessors(entry: &Value) -> bool {
    entry["manager"] == PREDECESSOR && entry["operation"] == "Update" && entry["subresource"].is_null()
}

fn patch(live: &Object, entries: Vec<Value>) -> Value {
    let version = &live.value()["metadata"]["resourceVersion"];
    json!([
        {"op": "replace", "path": "/metadata/managedFields", "value": entries},
        // Not a test: a version that is no longer current is a conflict, and a failed test an invalid request.
        {"op": "replace", "path": "/metadata/resourceVersion", "value": version},
    ])
}

/// Adds the fields of a `FieldsV1` set to another.
fn unite(into: &mut Value, from: &Value) {
    let Some(from) = from.as_object() else { return };
    if !into.is_object() {
        *into = Value::Object(Map::new());
    }
    for (key, below) in from {
        unite(&mut into[key.as_str()], below);
    }
}

/// Takes items of lists out of a `FieldsV1` set that are in the other, and what is empty then.
fn without_items(set: &mut Value, other: &Value) {
    let Some(fields) = set.as_object_mut() else { return };
    fields.retain(|key, below| {
        if other[key.as_str()].is_null() {
            return true;
        }
        if key.starts_with("k:") {
            return false;
        }
        let was_empty = below.as_object().is_none_or(Map::is_empty);
        without_items(below, &other[key.as_str()]);
        was_empty || below.as_object().is_some_and(|left| !left.is_empty())
    });
    // A list of which no item is left is not owned as such either.
    if fields.len() == 1 && fields.contains_key(".") && other["."].is_object() {
        fields.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(manager: &str, operation: &str, fields: Value) -> Value {
        json!({"manager": manager, "operation": operation, "apiVersion": "v1", "fieldsV1": fields})
    }

    fn live(entries: &[Value]) -> Object {
        let metadata = json!({"name": "x", "resourceVersion": "7", "managedFields": entries});
        Object::try_from(json!({"apiVersion": "v1", "kind": "K", "metadata": metadata})).unwrap()
    }

    fn managers(patch: &Value) -> Vec<(Value, Value, Value)> {
        let entries = patch[0]["value"].as_array().unwrap();
        entries
            .iter()
            .map(|e| (e["manager"].clone(), e["operation"].clone(), e["fieldsV1"].clone()))
            .collect()
    }

    #[test]
    fn what_the_predecessor_owns_becomes_ours_and_what_others_own_stays_theirs() {
        let others = entry("kubectl", "Update", json!({"f:data": {"f:c": {}}}));
        let theirs = entry(PREDECESSOR, "Update", json!({"f:data": {"f:a": {}, "f:b": {}}}));
        let ours = entry(FIELD_MANAGER, "Apply", json!({"f:data": {"f:a": {}}}));
        let patch = inherit(&live(&[others.clone(), theirs.clone(), ours])).unwrap();
        let both = json!({"f:data": {"f:a": {}, "f:b": {}}});
        let kubectl = (json!("kubectl"), json!("Update"), json!({"f:data": {"f:c": {}}}));
        let inherited = (json!(FIELD_MANAGER), json!("Apply"), both);
        assert_eq!(managers(&patch), [kubectl.clone(), inherited.clone()]);
        assert_eq!(patch[1]["value"], "7");
        let patch = inherit(&live(&[others, theirs])).unwrap();
        assert_eq!(managers(&patch), [kubectl, inherited], "without an entry of ours there is one then");
    }

    #[test]
    fn nothing_is_inherited_twice_nor_from_a_subresource() {
        let ours = entry(FIELD_MANAGER, "Apply", json!({"f:data": {}}));
        let mut status = entry(PREDECESSOR, "Update", json!({"f:status": {}}));
        status["subresource"] = json!("status");
        assert_eq!(inherit(&live(&[ours, status])), None);
        assert_eq!(inherit(&live(&[])), None);
    }

    #[test]
    fn claims_on_our_items_are_taken_and_those_on_other_fields_and_items_stay() {
        let item = |port: u16| format!("k:{{\"port\":{port}}}");
        let ours = entry(
            FIELD_MANAGER,
            "Apply",
            json!({"f:spec": {"f:type": {}, "f:ports": {(item(80)): {".": {}}}}}),
        );
        let theirs = json!({"f:spec": {"f:type": {}, "f:ports": {
            ".": {}, (item(80)): {".": {}, "f:name": {}}, (item(443)): {".": {}}}}});
        let patch = claim_items(&live(&[ours.clone(), entry("kubectl", "Update", theirs)])).unwrap();
        let left = json!({"f:spec": {"f:type": {}, "f:ports": {".": {}, (item(443)): {".": {}}}}});
        assert_eq!(managers(&patch)[1].2, left);
        let settled = live(&[ours, entry("kubectl", "Update", left)]);
        assert_eq!(claim_items(&settled), None);
    }
}
