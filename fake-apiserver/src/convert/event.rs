//! Events, which two groups have under two sets of names.

use serde_json::{Map, Value};

/// Members by their names in the core group and in `events.k8s.io`.
const NAMES: [(&str, &str); 7] = [
    ("count", "deprecatedCount"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("involvedObject", "regarding"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("message", "note"),
    ("reportingComponent", "reportingController"),
    ("source", "deprecatedSource"),
];

/// Renames the members of an Event for a version.
pub(super) fn rename(event: &mut Map<String, Value>, to: &str) {
    for (core, events) in NAMES {
        let (old, new) = if to == "v1" { (events, core) } else { (core, events) };
        if let Some(value) = event.remove(old) {
            event.insert(new.to_owned(), value);
        }
    }
}

/// The stored field that a field selector of `events.k8s.io` means.
pub(super) fn stored_field(label: &str) -> String {
    let (head, rest) = label.split_once('.').unwrap_or((label, ""));
    let core = NAMES.iter().find(|(_, events)| *events == head).map_or(head, |(core, _)| core);
    if rest.is_empty() { core.to_owned() } else { format!("{core}.{rest}") }
}
