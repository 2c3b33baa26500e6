//! Removes what an applier gave up: fields it applied last time, applies no longer, and nobody else owns.

use serde_json::Value;

use super::compare::list_item;
use super::element;
use super::field_set::FieldSet;
use crate::schema::MergeType;

/// Removes from `object` what is in `last` and not in `managed`.
///
/// An object field counts as owned by whoever owns something below it; an item of a list or a key of a map only by
/// those that own the item itself.
pub(super) fn prune(types: &MergeType, object: &mut Value, last: &FieldSet, managed: &FieldSet) {
    let Value::Object(fields) = object else { return };
    // Whatever managers say, an object keeps these.
    const KEPT: &[&str] = &["apiVersion", "kind", "metadata"];
    fields.retain(|name, value| KEPT.contains(&name.as_str()) || !gone(types, name, value, last, managed));
    if let Some(metadata) = fields.get_mut("metadata") {
        descend(types.field("metadata"), metadata, last, managed, "f:metadata");
    }
}

fn prune_value(types: &MergeType, value: &mut Value, last: &FieldSet, managed: &FieldSet) {
    match (types, value) {
        (MergeType::Atomic, _) => {}
        (MergeType::Set | MergeType::ListMap { .. }, Value::Array(items)) => {
            items.retain_mut(|item| {
                let Ok(name) = list_item(types, item) else { return true };
                let Some(in_last) = last.below.get(&name) else { return true };
                if in_last.member && managed.below.get(&name).is_none_or(|set| !set.member) {
                    return false;
                }
                if let MergeType::ListMap { item: item_types, .. } = types {
                    descend(item_types, item, last, managed, &name);
                }
                true
            });
        }
        (MergeType::Set | MergeType::ListMap { .. }, _) => {}
        (_, Value::Object(fields)) => fields.retain(|name, value| !gone(types, name, value, last, managed)),
        _ => {}
    }
}

/// Whether a field goes as a whole; prunes inside it if not.
fn gone(types: &MergeType, name: &str, value: &mut Value, last: &FieldSet, managed: &FieldSet) -> bool {
    let element = element::field(name);
    let Some(in_last) = last.below.get(&element) else { return false };
    let declared = types.declares(name);
    let owned = |set: &FieldSet| set.member || (declared && !set.below.is_empty());
    if owned(in_last) && !managed.below.get(&element).is_some_and(owned) {
        return true;
    }
    descend(types.field(name), value, last, managed, &element);
    false
}

fn descend(types: &MergeType, value: &mut Value, last: &FieldSet, managed: &FieldSet, element: &str) {
    let Some(last) = last.below.get(element) else { return };
    let nothing = FieldSet::default();
    prune_value(types, value, last, managed.below.get(element).unwrap_or(&nothing));
}
