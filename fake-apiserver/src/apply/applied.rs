//! Server-side apply.

use serde_json::{Map, Value};

use super::compare::{Difference, list_item};
use super::element;
use super::field_set::FieldSet;
use super::kubectl::{owned_through_annotation, refresh_annotation};
use super::managers::{self, Entry, Operation};
use super::merge::merge;
use super::prune::prune;
use super::update::record;
use super::{ApplyError, Writer};
use crate::schema::MergeType;

/// Owner of everything an object held when it was first applied to and had no managedFields.
const BEFORE_FIRST_APPLY: &str = "before-first-apply";

/// Applies `applied` on top of `live` (`None`: it does not exist yet) and returns the new object with its
/// managedFields. `applied` holds no managedFields, and nothing that this endpoint ignores (for instance `status`
/// at the main endpoint).
///
/// An apply that changes nothing but ownership does not touch the time of an entry, so that a repeated apply gives
/// an equal object.
///
/// # Errors
/// See [`ApplyError`].
pub fn apply(
    live: Option<&Value>,
    applied: &Value,
    types: &MergeType,
    writer: &Writer,
    force: bool,
) -> Result<Value, ApplyError> {
    let mut fields = applied_fields(applied, types)?;
    let nothing = Value::Object(Map::new());
    let mut new = live.unwrap_or(&nothing).clone();
    let recorded = managers::take(&mut new);
    let mut entries = managers::decode(recorded.as_ref());
    if live.is_some() && entries.is_empty() {
        record(Difference::between(types, &nothing, &new), writer, BEFORE_FIRST_APPLY, &mut entries);
    }
    let live = live.unwrap_or(&nothing);
    merge(types, &mut new, applied);

    let last = entries.iter().position(|entry| entry.is_of(writer, &writer.manager, Operation::Apply));
    let last = last.map(|position| entries.swap_remove(position));
    if let Some(last) = &last
        && !fields.contains(&last.fields)
    {
        let mut managed = fields.clone();
        for entry in &entries {
            managed.unite(entry.fields.clone());
        }
        prune(types, &mut new, &last.fields, &managed);
        // An applied list without items owns nothing and went with its former items; it is still applied.
        merge(types, &mut new, applied);
    }

    fields.strip_system_fields();
    let unchanged = managers::equal_but_for_entries(live, &new);
    let same_entry = |last: &Entry| last.fields == fields && last.api_version == writer.api_version;
    if unchanged && last.as_ref().is_some_and(same_entry) {
        managers::put_back(&mut new, recorded);
        refresh_annotation(&mut new, applied, writer);
        return Ok(new);
    }
    let difference = Difference::between(types, live, &new);
    let taken: Vec<_> =
        entries.iter().map(|entry| (entry, entry.fields.intersection(&difference.changed))).collect();
    if !force && taken.iter().any(|(_, fields)| !fields.is_empty()) {
        let allowed = owned_through_annotation(live, types, writer);
        if !taken.iter().all(|(_, fields)| allowed.contains(fields)) {
            let conflicts = taken.iter().flat_map(|(entry, fields)| entry.conflicts(fields));
            return Err(ApplyError::Conflicts(conflicts.collect()));
        }
    }
    for entry in &mut entries {
        difference.take_from(&mut entry.fields);
    }
    let mut own = Entry::new(writer, &writer.manager, Operation::Apply);
    own.time = if unchanged { last.and_then(|last| last.time) } else { Some(writer.time.clone()) };
    own.fields = fields;
    entries.push(own);
    managers::store(&mut new, entries);
    refresh_annotation(&mut new, applied, writer);
    Ok(new)
}

/// The fields that a configuration sets.
///
/// # Errors
/// What is wrong with the configuration, in the server's words.
pub(super) fn applied_fields(applied: &Value, types: &MergeType) -> Result<FieldSet, ApplyError> {
    let mut reader = Reader::default();
    let fields = reader.value(types, applied);
    let problems = match reader.problems.as_slice() {
        [] => return Ok(fields),
        [only] => only.clone(),
        several => format!("errors:\n  {}", several.join("\n  ")),
    };
    let text = |pointer: &str| applied.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let version = text("/apiVersion");
    Err(ApplyError::Invalid(format!(
        "failed to create typed patch object ({}/{}; {}{version}, Kind={}): {problems}",
        text("/metadata/namespace"),
        text("/metadata/name"),
        if version.contains('/') { "" } else { "/" },
        text("/kind"),
    )))
}

/// Walks a configuration, and collects its fields and what is wrong with it.
#[derive(Default)]
struct Reader {
    path: String,
    problems: Vec<String>,
}

impl Reader {
    fn value(&mut self, types: &MergeType, value: &Value) -> FieldSet {
        match (types, value) {
            (MergeType::Atomic, _) => FieldSet::leaf(),
            (MergeType::Set | MergeType::ListMap { .. }, Value::Array(items)) => self.list(types, items),
            // The field that holds the null owns it.
            (MergeType::Set | MergeType::ListMap { .. } | MergeType::Object { .. }, Value::Null) => {
                FieldSet::default()
            }
            (MergeType::Set | MergeType::ListMap { .. }, _) => {
                self.refuse(&format!("expected list, got {value}"))
            }
            (_, Value::Object(fields)) => self.object(types, fields),
            (MergeType::Object { .. }, _) => self.refuse(&format!("expected map, got {value}")),
            _ => FieldSet::leaf(),
        }
    }

    fn object(&mut self, types: &MergeType, fields: &Map<String, Value>) -> FieldSet {
        let mut set = FieldSet::default();
        let length = self.path.len();
        for (name, value) in fields {
            self.path.push('.');
            self.path.push_str(name);
            let field_types = types.field(name);
            if *field_types == MergeType::Undeclared {
                self.refuse("field not declared in schema");
            } else {
                let mut below = self.value(field_types, value);
                let empty = value.is_null() || value.as_object().is_some_and(Map::is_empty);
                below.member |= empty || !types.declares(name);
                set.insert(element::field(name), below);
            }
            self.path.truncate(length);
        }
        set
    }

    fn list(&mut self, types: &MergeType, items: &[Value]) -> FieldSet {
        let mut set = FieldSet::default();
        let length = self.path.len();
        for (position, item) in items.iter().enumerate() {
            let name = match list_item(types, item) {
                Ok(name) => name,
                Err(problem) => {
                    self.refuse(&format!("element {position}: {problem}"));
                    continue;
                }
            };
            if set.below.contains_key(&name) {
                let mut printed = String::new();
                element::print(&mut printed, &name);
                self.refuse(&format!("duplicate entries for key {printed}"));
                continue;
            }
            let mut below = match types {
                MergeType::ListMap { item: item_types, .. } => {
                    element::print(&mut self.path, &name);
                    self.value(item_types, item)
                }
                _ => FieldSet::leaf(),
            };
            self.path.truncate(length);
            below.member = true;
            set.insert(name, below);
        }
        set
    }

    fn refuse(&mut self, problem: &str) -> FieldSet {
        self.problems.push(format!("{}: {problem}", self.path));
        FieldSet::default()
    }
}
