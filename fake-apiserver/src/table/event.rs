//! The cells of Events, which come in an old and a new form that say the same in different fields.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::age;
use super::cells::{at, text};

/// The field of the one form, or of the other.
fn either<'a>(event: &'a Value, one: &str, other: &str) -> &'a Value {
    Some(at(event, one)).filter(|value| !value.is_null() && *value != "").unwrap_or_else(|| at(event, other))
}

pub(super) fn first(event: &Value, now: Timestamp) -> Value {
    let old = either(event, "/firstTimestamp", "/deprecatedFirstTimestamp");
    json!(age::since(if old.is_null() { &event["eventTime"] } else { old }, now))
}

pub(super) fn last(event: &Value, now: Timestamp) -> Value {
    let old = either(event, "/lastTimestamp", "/deprecatedLastTimestamp");
    let last = Some(at(event, "/series/lastObservedTime")).filter(|time| !time.is_null()).unwrap_or(old);
    if last.is_null() { first(event, now) } else { json!(age::since(last, now)) }
}

pub(super) fn object(event: &Value, _: Timestamp) -> Value {
    let object = either(event, "/involvedObject", "/regarding");
    let kind = text(&object["kind"], "").to_lowercase();
    let name = text(&object["name"], "");
    json!(if name.is_empty() { kind } else { format!("{kind}/{name}") })
}

pub(super) fn part(event: &Value, _: Timestamp) -> Value {
    json!(text(either(event, "/involvedObject/fieldPath", "/regarding/fieldPath"), ""))
}

pub(super) fn source(event: &Value, _: Timestamp) -> Value {
    let old = either(event, "/source/component", "/deprecatedSource/component");
    let component =
        if old.is_null() { either(event, "/reportingComponent", "/reportingController") } else { old };
    let host = either(event, "/source/host", "/deprecatedSource/host");
    let host = if host.is_null() { &event["reportingInstance"] } else { host };
    let parts = [text(component, ""), text(host, "")];
    json!(parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", "))
}

pub(super) fn message(event: &Value, _: Timestamp) -> Value {
    json!(text(either(event, "/message", "/note"), "").trim())
}

pub(super) fn count(event: &Value, _: Timestamp) -> Value {
    let count = either(event, "/series/count", "/count").as_i64();
    json!(count.or(event["deprecatedCount"].as_i64()).filter(|count| *count > 0).unwrap_or(1))
}
