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
    let kept = live.and_then(managers::raw);
    let exists = live.is_some_and(|live| live.pointer("/metadata/uid").is_some());
    if exists && kept.is_none() && sent.is_none() {
        return;
    }
    let nothing = Value::Object(Map::new());
    let difference = Difference::between(types, live.unwrap_or(&nothing), new);
    let untouched = sent.as_ref() == kept;
    let edited = sent.is_some() && !untouched && writer.subresource.is_none();
    if difference.is_empty() && !edited {
        managers::put_back(new, if untouched { sent } else { kept.cloned() });
        return;
    }
    let mut entries = match &sent {
        Some(sent) if edited => {
            let entries = managers::decode(Some(sent));
            if entries.is_empty() && !is_reset(sent) { managers::decode(kept) } else { entries }
        }
        _ => managers::decode(kept),
    };
    if entries.is_empty() && exists {
        return;
    }
    record(difference, writer, &writer.manager, &mut entries);
    managers::cap_updaters(&mut entries);
    managers::store(new, entries);
}

/// Gives the managedFields of `live` back to `new` if their times are all that tells the two objects apart. To be
/// called once `new` is as it would be stored: a write that comes to nothing is then no write.
pub fn keep_times(live: &Value, new: &mut Value) {
    let (Some(old), Some(changed)) = (managers::raw(live), managers::raw(new)) else { return };
    if old != changed
        && managers::equal_but_for_times(old, changed)
        && managers::equal_but_for_entries(live, new)
    {
        let old = old.clone();
        managers::put_back(new, Some(old));
    }
}

/// One empty entry, the request to forget all owners.
fn is_reset(sent: &Value) -> bool {
    let blank = |entry: &Value| entry.as_object().is_some_and(|fields| fields.values().all(Value::is_null));
    sent.as_array().is_some_and(|entries| entries.len() == 1 && blank(&entries[0]))
}

/// Moves what differs to the updater `manager`.
pub(super) fn record(difference: Difference, writer: &Writer, manager: &str, entries: &mut Vec<Entry>) {
    for entry in entries.iter_mut() {
        difference.take_from(&mut entry.fields);
    }
    if difference.changed.is_empty() {
        return;
    }
    let own = entries.iter().position(|entry| entry.is_of(writer, manager, Operation::Update));
    let mut own = match own {
        Some(position) => entries.swap_remove(position),
        None => Entry::new(writer, manager, Operation::Update),
    };
    own.fields.unite(difference.changed);
    own.time = Some(writer.time.clone());
    entries.push(own);
}
