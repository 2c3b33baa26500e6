//! The entries of `metadata.managedFields`.

use serde_json::{Map, Value};

use super::field_set::FieldSet;
use super::{Conflict, Writer};

/// How many entries of operation `Update` an object keeps
/// (`k8s.io/apimachinery/pkg/util/managedfields`, `DefaultMaxUpdateManagers`).
const MAX_UPDATE_ENTRIES: usize = 10;
/// Who owns what the oldest of too many updaters owned.
const ANCIENT: &str = "ancient-changes";

/// How an entry came to own its fields. The order is that in which entries are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Operation {
    Apply,
    Update,
}

/// One entry: who owns which fields.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) operation: Operation,
    pub(super) time: Option<String>,
    pub(super) manager: String,
    pub(super) api_version: String,
    pub(super) subresource: Option<String>,
    pub(super) fields: FieldSet,
}

impl Entry {
    /// An entry of `writer` that owns nothing yet.
    pub(super) fn new(writer: &Writer, manager: &str, operation: Operation) -> Self {
        Self {
            operation,
            time: None,
            manager: manager.to_owned(),
            api_version: writer.api_version.clone(),
            subresource: writer.subresource.clone(),
            fields: FieldSet::default(),
        }
    }

    /// Whether writes by `manager` as this `writer` belong to this entry. For applies the version does not matter.
    pub(super) fn is_of(&self, writer: &Writer, manager: &str, operation: Operation) -> bool {
        self.operation == operation
            && self.manager == manager
            && self.subresource == writer.subresource
            && (operation == Operation::Apply || self.api_version == writer.api_version)
    }

    /// What entries are sorted by.
    fn order(&self) -> impl Ord + '_ {
        (self.operation, &self.time, &self.manager, &self.api_version, &self.subresource)
    }

    /// The fields of `set` as conflicts with this entry.
    pub(super) fn conflicts(&self, set: &FieldSet) -> impl Iterator<Item = Conflict> + use<> {
        let manager = self.printed();
        set.paths().into_iter().map(move |field| Conflict { manager: manager.clone(), field })
    }

    fn printed(&self) -> String {
        let mut text = Value::from(self.manager.as_str()).to_string();
        if let Some(subresource) = &self.subresource {
            text.push_str(&format!(" with subresource \"{subresource}\""));
        }
        if self.operation == Operation::Update {
            text.push_str(" using ");
            text.push_str(&self.api_version);
        }
        text
    }

    fn decode(entry: &Value) -> Option<Self> {
        let text = |name: &str| entry.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
        let operation = match text("operation")? {
            "Apply" => Operation::Apply,
            "Update" => Operation::Update,
            _ => return None,
        };
        Some(Self {
            operation,
            time: text("time").map(str::to_owned),
            manager: text("manager").unwrap_or_default().to_owned(),
            api_version: text("apiVersion").unwrap_or_default().to_owned(),
            subresource: text("subresource").map(str::to_owned),
            fields: FieldSet::decode(entry.get("fieldsV1").unwrap_or(&Value::Null)),
        })
    }

    fn encode(self) -> Value {
        let operation = match self.operation {
            Operation::Apply => "Apply",
            Operation::Update => "Update",
        };
        let mut entry = Map::new();
        entry.insert("apiVersion".into(), self.api_version.into());
        entry.insert("fieldsType".into(), "FieldsV1".into());
        entry.insert("fieldsV1".into(), self.fields.encode());
        entry.insert("manager".into(), self.manager.into());
        entry.insert("operation".into(), operation.into());
        if let Some(subresource) = self.subresource {
            entry.insert("subresource".into(), subresource.into());
        }
        if let Some(time) = self.time {
            entry.insert("time".into(), time.into());
        }
        Value::Object(entry)
    }
}

/// Takes the managedFields out of an object.
pub(super) fn take(object: &mut Value) -> Option<Value> {
    object.get_mut("metadata")?.as_object_mut()?.remove("managedFields")
}

/// Reads managedFields; entries that cannot be read, and those that own nothing, are left out.
pub(super) fn decode(managed: Option<&Value>) -> Vec<Entry> {
    let entries = managed.and_then(Value::as_array).into_iter().flatten();
    entries.filter_map(Entry::decode).filter(|entry| !entry.fields.is_empty()).collect()
}

/// The managedFields of an object as they stand there; none if they are empty.
pub(super) fn raw(object: &Value) -> Option<&Value> {
    let managed = object.get("metadata")?.get("managedFields")?;
    managed.as_array().is_some_and(|entries| !entries.is_empty()).then_some(managed)
}

/// Puts managedFields into an object.
pub(super) fn put_back(object: &mut Value, managed: Option<Value>) {
    if let Some(managed) = managed
        && let Value::Object(fields) = object
        && let Value::Object(metadata) = fields.entry("metadata").or_insert_with(|| Value::Object(Map::new()))
    {
        metadata.insert("managedFields".into(), managed);
    }
}

/// Whether two managedFields are equal but for the times of their entries.
pub(super) fn equal_but_for_times(left: &Value, right: &Value) -> bool {
    let (Some(left), Some(right)) = (left.as_array(), right.as_array()) else { return left == right };
    // The order depends on the times.
    let found =
        |entry: &Value, among: &[Value]| among.iter().any(|other| equal_but_for(entry, other, &["time"]));
    left.len() == right.len()
        && left.iter().all(|entry| found(entry, right))
        && right.iter().all(|entry| found(entry, left))
}

/// Whether two objects are equal but for managedFields and resourceVersion.
pub(super) fn equal_but_for_entries(left: &Value, right: &Value) -> bool {
    equal_but_for(left, right, &["metadata"])
        && equal_but_for(&left["metadata"], &right["metadata"], &["managedFields", "resourceVersion"])
}

fn equal_but_for(left: &Value, right: &Value, names: &[&str]) -> bool {
    let (Value::Object(left), Value::Object(right)) = (left, right) else { return left == right };
    let counts = |name: &&String| !names.contains(&name.as_str());
    left.keys().filter(counts).count() == right.keys().filter(counts).count()
        && left.keys().filter(counts).all(|name| left.get(name) == right.get(name))
}

/// Stores entries in an object that has none: those that own something, in the server's order.
pub(super) fn store(object: &mut Value, mut entries: Vec<Entry>) {
    entries.retain(|entry| !entry.fields.is_empty());
    if entries.is_empty() {
        return;
    }
    entries.sort_by(|a, b| a.order().cmp(&b.order()));
    put_back(object, Some(entries.into_iter().map(Entry::encode).collect()));
}

/// Merges the oldest updaters of each version into one entry while there are too many.
pub(super) fn cap_updaters(entries: &mut Vec<Entry>) {
    let mut updaters = entries.iter().filter(|entry| entry.operation == Operation::Update).count();
    if updaters <= MAX_UPDATE_ENTRIES {
        return;
    }
    entries.sort_by(|a, b| a.order().cmp(&b.order()));
    let mut position = 0;
    while position < entries.len() && updaters > MAX_UPDATE_ENTRIES {
        let entry = &entries[position];
        let older = entries[..position]
            .iter()
            .position(|older| older.operation == Operation::Update && older.api_version == entry.api_version);
        match older {
            Some(older) if entry.operation == Operation::Update => {
                let newer = entries.remove(position);
                let bucket = &mut entries[older];
                bucket.manager = ANCIENT.into();
                bucket.subresource = None;
                bucket.time = newer.time;
                bucket.fields.unite(newer.fields);
                updaters -= 1;
            }
            _ => position += 1,
        }
    }
}
