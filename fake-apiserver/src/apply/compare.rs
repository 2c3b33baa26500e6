//! What differs between two versions of an object: the fields that were added or modified, and those removed.
//!
//! Unlike an applied configuration, a difference names also the objects and lists that hold its fields, if they are
//! new or gone as well.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::element;
use super::field_set::FieldSet;
use crate::schema::MergeType;

/// The outcome of a comparison.
#[derive(Debug, Default)]
pub(super) struct Difference {
    /// Added or modified fields.
    pub(super) changed: FieldSet,
    /// Fields that the new version lacks.
    pub(super) removed: FieldSet,
}

impl Difference {
    /// Compares `old` with `new`; what the server itself maintains does not take part.
    pub(super) fn between(types: &MergeType, old: &Value, new: &Value) -> Self {
        let empty = Value::Object(Map::new());
        let mut difference = Comparison { empty: &empty }.values(types, Some(old), Some(new));
        difference.changed.strip_system_fields();
        difference.removed.strip_system_fields();
        difference
    }

    /// Takes from an entry's fields what changed hands or is gone.
    pub(super) fn take_from(&self, fields: &mut FieldSet) {
        fields.subtract(&self.changed);
        fields.subtract(&self.removed);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.changed.is_empty() && self.removed.is_empty()
    }

    fn added() -> Self {
        Self { changed: FieldSet::leaf(), removed: FieldSet::default() }
    }

    fn removed() -> Self {
        Self { changed: FieldSet::default(), removed: FieldSet::leaf() }
    }

    fn insert(&mut self, name: &str, below: Difference) {
        if !below.removed.is_empty() {
            self.removed.insert(name.to_owned(), below.removed);
        }
        self.changed.insert(name.to_owned(), below.changed);
    }
}

/// Items of a list by element; an element that occurs twice has two items.
type Items<'v> = BTreeMap<String, Vec<&'v Value>>;

struct Comparison<'c> {
    empty: &'c Value,
}

impl<'c> Comparison<'c> {
    fn values(&self, types: &MergeType, old: Option<&'c Value>, new: Option<&'c Value>) -> Difference {
        match types {
            MergeType::Atomic => leaf(old, new),
            MergeType::Set | MergeType::ListMap { .. } => self.lists(types, old, new),
            _ => self.objects(types, old, new),
        }
    }

    fn objects(&self, types: &MergeType, old: Option<&'c Value>, new: Option<&'c Value>) -> Difference {
        let old_fields = old.and_then(Value::as_object);
        let new_fields = new.and_then(Value::as_object);
        let nothing = |fields: Option<&Map<String, Value>>| fields.is_none_or(Map::is_empty);
        if nothing(old_fields) && nothing(new_fields) {
            return leaf(old, new);
        }
        let mut difference = if is_scalar_or_list(old) || is_scalar_or_list(new) {
            leaf(old, new)
        } else {
            Difference { changed: presence(old.is_none()), removed: presence(new.is_none()) }
        };
        for (name, old_value) in old_fields.into_iter().flatten() {
            let new_value = new_fields.and_then(|fields| fields.get(name));
            let new_value = new_value.or_else(|| self.always(types, name, new, old_value));
            self.field(&mut difference, types, name, Some(old_value), new_value);
        }
        for (name, new_value) in new_fields.into_iter().flatten() {
            if old_fields.is_none_or(|fields| !fields.contains_key(name)) {
                let old_value = self.always(types, name, old, new_value);
                self.field(&mut difference, types, name, old_value, Some(new_value));
            }
        }
        difference
    }

    fn field(
        &self,
        difference: &mut Difference,
        types: &MergeType,
        name: &str,
        old: Option<&'c Value>,
        new: Option<&'c Value>,
    ) {
        let below = self.values(types.field(name), old, new);
        if !below.is_empty() {
            difference.insert(&element::field(name), below);
        }
    }

    /// What stands for an absent field that is written even when empty, inside an object that is there: the zero
    /// value of its type, which the `other` value tells.
    fn always(
        &self,
        types: &MergeType,
        name: &str,
        object: Option<&Value>,
        other: &'c Value,
    ) -> Option<&'c Value> {
        if !types.always_has(name) || object.is_none() {
            return None;
        }
        match other {
            Value::Object(_) => Some(self.empty),
            Value::Array(_) => Some(&Value::Null),
            Value::Null | Value::Bool(false) => Some(other),
            Value::Number(number) if number.as_i64() == Some(0) => Some(other),
            Value::String(text) if text.is_empty() => Some(other),
            _ => None,
        }
    }

    fn lists(&self, types: &MergeType, old: Option<&'c Value>, new: Option<&'c Value>) -> Difference {
        let old_items = old.and_then(Value::as_array);
        let new_items = new.and_then(Value::as_array);
        let nothing = |items: Option<&Vec<Value>>| items.is_none_or(Vec::is_empty);
        if nothing(old_items) && nothing(new_items) {
            return leaf(old, new);
        }
        if old == new {
            return Difference::default();
        }
        let mut difference =
            Difference { changed: presence(old.is_none()), removed: presence(new.is_none()) };
        let mut new_items = index(types, new_items);
        for (name, old_items) in index(types, old_items) {
            let new_items = new_items.remove(&name).unwrap_or_default();
            difference.insert(&name, self.items(types, &old_items, &new_items));
        }
        for (name, new_items) in new_items {
            difference.insert(&name, self.items(types, &[], &new_items));
        }
        difference
    }

    /// Compares what stands under one element. Duplicates are owned as one, as if they were atomic.
    fn items(&self, types: &MergeType, old: &[&'c Value], new: &[&'c Value]) -> Difference {
        let item_types = match types {
            MergeType::ListMap { item, .. } => item,
            _ => &MergeType::Atomic,
        };
        match (old, new) {
            ([] | [_], [] | [_]) => self.values(item_types, old.first().copied(), new.first().copied()),
            ([_, _, ..], [_, _, ..]) if old == new => Difference::default(),
            ([_, _, ..], [_, _, ..]) => Difference::added(),
            ([_, _, ..], _) => {
                let mut difference = self.values(item_types, None, new.first().copied());
                difference.removed.unite(FieldSet::leaf());
                difference
            }
            (_, _) => {
                let mut difference = self.values(item_types, old.first().copied(), None);
                difference.changed.unite(FieldSet::leaf());
                difference
            }
        }
    }
}

fn presence(member: bool) -> FieldSet {
    FieldSet { member, below: BTreeMap::new() }
}

fn leaf(old: Option<&Value>, new: Option<&Value>) -> Difference {
    match (old, new) {
        (None, None) => Difference::default(),
        (None, Some(_)) => Difference::added(),
        (Some(_), None) => Difference::removed(),
        (Some(old), Some(new)) if old == new => Difference::default(),
        (Some(_), Some(_)) => Difference::added(),
    }
}

fn is_scalar_or_list(value: Option<&Value>) -> bool {
    value.is_some_and(|value| !value.is_object() && !value.is_null())
}

/// The items of a list by element. An item that has none, because the object was stored before its list had
/// keys, goes by its position.
fn index<'v>(types: &MergeType, items: Option<&'v Vec<Value>>) -> Items<'v> {
    let mut indexed = Items::new();
    for (position, item) in items.into_iter().flatten().enumerate() {
        let name = list_item(types, item).unwrap_or_else(|_| format!("i:{position}"));
        indexed.entry(name).or_default().push(item);
    }
    indexed
}

/// The element of an item of a set or keyed list.
///
/// # Errors
/// Items that such a list may not hold.
pub(super) fn list_item(types: &MergeType, item: &Value) -> Result<String, &'static str> {
    match types {
        MergeType::ListMap { keys, .. } => element::keyed_item(item, keys),
        _ => element::set_item(item),
    }
}
