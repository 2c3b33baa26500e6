//! Validation of Events: what the older API has always taken, and what the newer one demands besides
//! (`pkg/apis/core/validation/events.go` of Kubernetes). Field names in refusals are the server's, whichever the version.

use serde_json::{Value, json};

use crate::schema::FieldError;
use crate::validation;

/// The longest reporting instance, action and reason.
const SHORT: usize = 128;
/// The longest note.
const LONG: usize = 1024;

fn text<'a>(event: &'a Value, core: &str, events: &str) -> &'a str {
    event[core].as_str().or_else(|| event[events].as_str()).unwrap_or_default()
}

/// What is wrong with an Event in the version that `newer` tells.
pub(super) fn errors(event: &Value, newer: bool) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let own = event["metadata"]["namespace"].as_str().unwrap_or_default();
    let subject = if newer { &event["regarding"] } else { &event["involvedObject"] };
    let place = subject["namespace"].as_str().unwrap_or_default();
    let timed = !event["eventTime"].is_null();
    let misplaced = match (place.is_empty(), timed) {
        (true, false) => own != "default",
        (true, true) => !matches!(own, "default" | "kube-system"),
        (false, false) => place != own,
        (false, true) => false,
    };
    if misplaced {
        let why = "does not match event.namespace";
        errors.push(FieldError::invalid("involvedObject.namespace", &json!(place), why));
    }
    if timed {
        timed_errors(event, newer, &mut errors);
    }
    if newer {
        newer_errors(event, timed, &mut errors);
    }
    errors
}

/// What an Event with a time of its own must have.
fn timed_errors(event: &Value, newer: bool, errors: &mut Vec<FieldError>) {
    let field = if newer { "reportingController" } else { "reportingComponent" };
    let controller = event[field].as_str().unwrap_or_default();
    if controller.is_empty() {
        errors.push(FieldError::required(field, ""));
    }
    let wrong = validation::qualified_name_errors(controller);
    errors.extend(wrong.iter().map(|why| FieldError::invalid(field, &json!(controller), why)));
    let too_long = |field: &str, most: usize| {
        FieldError::invalid(field, &json!(""), &format!("can have at most {most} characters"))
    };
    for field in ["reportingInstance", "action", "reason"] {
        let value = event[field].as_str().unwrap_or_default();
        if value.is_empty() {
            errors.push(FieldError::required(field, ""));
        }
        if value.len() > SHORT {
            errors.push(too_long(field, SHORT));
        }
    }
    if text(event, "message", "note").len() > LONG {
        errors.push(too_long("message", LONG));
    }
}

/// What only the newer API demands.
fn newer_errors(event: &Value, timed: bool, errors: &mut Vec<FieldError>) {
    if !timed {
        errors.push(FieldError::required("eventTime", ""));
    }
    let kind = event["type"].as_str().unwrap_or_default();
    if !matches!(kind, "Normal" | "Warning") {
        errors.push(FieldError::invalid("type", &json!(""), &format!("has invalid value: {kind}")));
    }
    for field in ["deprecatedFirstTimestamp", "deprecatedLastTimestamp", "deprecatedCount"] {
        if !event[field].is_null() && event[field] != 0 {
            errors.push(FieldError::invalid(field, &event[field], "needs to be unset"));
        }
    }
    let source = &event["deprecatedSource"];
    if ["component", "host"].iter().any(|part| source[*part].as_str().is_some_and(|text| !text.is_empty())) {
        errors.push(FieldError::invalid("deprecatedSource", source, "needs to be unset"));
    }
}
