//! What a create, update or patch does to managedFields.

use serde_json::{Map, Value};

use super::Writer;
use super::compare::Difference;
use super::managers::{self, Entry, Operation};
use crate::schema::MergeType;

/// Records a create, update or patch: `new` is the object as it is about to be stored; its managedFields are
/// rewritten. Fields whose value changed move to `writer`; removed fields leave every entry.
///
/// The managedFields that `new` came with hold if they can be read (a client may edit them, and resets them with
/// one empty entry), otherwise those of `live`; through a subresource always those of `live`. An object that exists
/// without managedFields stays without.
pub fn track_update(live: Option<&Value>, new: &mut Value, types: &MergeType, writer: &Writer) {
    let sent = managers::take(new);
    let mut entries = match &sent {
        Some(sent) if writer.subresource.is_none() => {
            let reset = sent.as_array().is_some_and(|entries| entries.len() == 1 && is_blank(&entries[0]));
            let entries = managers::decode(Some(sent));
            if entries.is_empty() && !reset { of(live) } else { entries }
        }
        _ => of(live),
    };
    let exists = live.is_some_and(|live| live.pointer("/metadata/uid").is_some());
    if entries.is_empty() && exists {
        return;
    }
    match live {
        Some(live) => record(live, new, types, writer, &writer.manager, &mut entries),
        None => record(&Value::Object(Map::new()), new, types, writer, &writer.manager, &mut entries),
    }
    managers::cap_updaters(&mut entries);
    managers::store(new, entries);
}

fn of(live: Option<&Value>) -> Vec<Entry> {
    live.map(managers::decode_of).unwrap_or_default()
}

fn is_blank(entry: &Value) -> bool {
    entry.as_object().is_some_and(|fields| fields.values().all(Value::is_null))
}

/// Moves what differs between `old` and `new` to the updater `manager`.
pub(super) fn record(
    old: &Value,
    new: &Value,
    types: &MergeType,
    writer: &Writer,
    manager: &str,
    entries: &mut Vec<Entry>,
) {
    let mut difference = Difference::between(types, old, new);
    difference.changed.strip_system_fields();
    for entry in entries.iter_mut() {
        entry.fields.subtract(&difference.changed);
        entry.fields.subtract(&difference.removed);
    }
    if difference.changed.is_empty() {
        return;
    }
    let own = entries.iter_mut().find(|entry| entry.is_of(writer, manager, Operation::Update));
    let own = match own {
        Some(own) => own,
        None => {
            entries.push(Entry::new(writer, manager, Operation::Update));
            let Some(own) = entries.last_mut() else { return };
            own
        }
    };
    own.fields.unite(difference.changed);
    own.time = Some(writer.time.clone());
}
