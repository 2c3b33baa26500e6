//! Merge patch (RFC 7396).

use serde_json::{Map, Value};

/// Applies a merge patch: `null` removes, objects merge, everything else replaces.
pub fn merge(object: &Value, patch: &Value) -> Value {
    let mut result = object.clone();
    merge_into(&mut result, patch);
    result
}

fn merge_into(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        target.clone_from(patch);
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Value::Object(target) = target else { return };
    for (key, value) in patch {
        if value.is_null() {
            target.remove(key);
        } else if let Some(present) = target.get_mut(key) {
            merge_into(present, value);
        } else {
            // Goes through the merge as well: nulls inside an added object are dropped, not stored.
            let mut added = Value::Null;
            merge_into(&mut added, value);
            target.insert(key.clone(), added);
        }
    }
}
