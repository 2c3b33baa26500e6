//! Merges an applied configuration into the live object; nothing is removed here.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::compare::list_item;
use crate::schema::MergeType;

/// Merges `applied` into `live`.
pub(super) fn merge(types: &MergeType, live: &mut Value, applied: &Value) {
    match (types, applied) {
        (MergeType::Atomic, _) => live.clone_from(applied),
        (MergeType::Set | MergeType::ListMap { .. }, Value::Array(items)) => match live {
            Value::Array(live) if !live.is_empty() => merge_list(types, live, items),
            _ => live.clone_from(applied),
        },
        (MergeType::Set | MergeType::ListMap { .. }, Value::Null)
            if live.as_array().is_some_and(|live| !live.is_empty()) => {}
        (MergeType::Set | MergeType::ListMap { .. }, _) => live.clone_from(applied),
        (_, Value::Object(fields)) => match live {
            Value::Object(live) if !live.is_empty() => {
                for (name, value) in fields {
                    match live.get_mut(name) {
                        Some(live) => merge(types.field(name), live, value),
                        None => {
                            live.insert(name.clone(), value.clone());
                        }
                    }
                }
            }
            _ => live.clone_from(applied),
        },
        // Null is a wildcard: it does not empty what others filled.
        (_, Value::Null) if live.as_object().is_some_and(|live| !live.is_empty()) => {}
        _ => {
            if live != applied {
                live.clone_from(applied);
            }
        }
    }
}

/// Merges a set or keyed list: items of both are merged and come in the order of the applied list; items that only
/// the live list has keep their place between them.
fn merge_list(types: &MergeType, live: &mut Vec<Value>, applied: &[Value]) {
    let name = |(position, item): (usize, &Value)| {
        list_item(types, item).unwrap_or_else(|_| format!("i:{position}"))
    };
    let left: Vec<String> = live.iter().enumerate().map(name).collect();
    let right: Vec<String> = applied.iter().enumerate().map(name).collect();
    let mut left_items: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
    for (name, item) in left.iter().zip(std::mem::take(live)) {
        left_items.entry(name).or_default().push(item);
    }
    let right_items: BTreeMap<&str, &Value> = right.iter().map(String::as_str).zip(applied).collect();
    let merged = |left_items: &mut BTreeMap<&str, Vec<Value>>, name: &str, item: &Value| {
        // Of live duplicates none is the item that was meant.
        match left_items.remove(name).as_deref_mut() {
            Some([present]) => {
                if let MergeType::ListMap { item: item_types, .. } = types {
                    merge(item_types, present, item);
                }
                std::mem::take(present)
            }
            _ => item.clone(),
        }
    };
    let known: BTreeSet<&str> = left.iter().map(String::as_str).collect();
    let mut shared = right.iter().map(String::as_str).filter(|name| known.contains(name)).peekable();
    let (mut l, mut r) = (0, 0);
    while l < left.len() || r < right.len() {
        if let (Some(on_left), Some(on_right)) = (left.get(l), right.get(r)) {
            if on_left == on_right {
                live.push(merged(&mut left_items, on_right, &applied[r]));
                (l, r) = (l + 1, r + 1);
                shared.next();
                continue;
            }
            if right_items.contains_key(on_left.as_str()) && shared.peek().is_some_and(|next| next != on_left)
            {
                l += 1;
                continue;
            }
        }
        if let Some(on_left) = left.get(l) {
            l += 1;
            match right_items.get(on_left.as_str()) {
                None => {
                    let duplicates = left_items.get_mut(on_left.as_str());
                    live.extend(duplicates.filter(|items| !items.is_empty()).map(|items| items.remove(0)));
                    continue;
                }
                // Its turn comes with the applied item, which may be now or later.
                Some(_) if left_items.contains_key(on_left.as_str()) => l -= 1,
                Some(_) => {}
            }
        }
        if let Some(on_right) = right.get(r) {
            live.push(merged(&mut left_items, on_right, &applied[r]));
            r += 1;
            if shared.peek() == Some(&on_right.as_str()) {
                shared.next();
            }
        }
    }
}
