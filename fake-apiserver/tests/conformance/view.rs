//! What of an answer is compared, and in which order.

use serde_json::{Map, Value};

use crate::vars::tokens;

/// The part of `document` that the step looks at: what its view keeps, without what it drops.
pub(crate) fn of(document: &Value, view: &Value, managed_fields: bool) -> Value {
    let mut seen = document.clone();
    for filter in items(&view["filter"]) {
        let place = filter["path"].as_str().and_then(|path| seen.pointer_mut(path));
        if let Some(Value::Array(elements)) = place {
            elements.retain(|element| element.is_object() && wanted(element, &filter["where"]));
        }
    }
    if view.get("only").is_some() {
        let kept = texts(&view["only"]);
        let found = |path: String| seen.pointer(&path).map(|value| (path.clone(), value.clone()));
        seen = Value::Object(kept.into_iter().filter_map(found).collect());
    }
    let dropped: Vec<_> = texts(&view["drop"]).iter().map(|path| tokens(path)).collect();
    prune(seen, &mut Vec::new(), &dropped, managed_fields)
}

fn wanted(element: &Value, conditions: &Value) -> bool {
    conditions.as_object().into_iter().flatten().all(|(path, values)| {
        let value = match element.pointer(path) {
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
            None => return false,
        };
        items(values).iter().any(|one| one == value.as_str())
    })
}

fn prune(value: Value, path: &mut Vec<String>, dropped: &[Vec<String>], managed_fields: bool) -> Value {
    let mut keep = |name: &str, value: Value| {
        let unmanaged = name == "managedFields" && path.last().is_some_and(|last| last == "metadata");
        path.push(name.to_owned());
        let gone = (unmanaged && !managed_fields) || dropped.iter().any(|pattern| starts(pattern, path));
        let kept = (!gone).then(|| prune(value, path, dropped, managed_fields));
        path.pop();
        kept
    };
    match value {
        Value::Object(members) => {
            let kept = |(name, value): (String, Value)| keep(&name, value).map(|value| (name, value));
            members.into_iter().filter_map(kept).collect::<Map<_, _>>().into()
        }
        Value::Array(elements) => {
            let kept = |(index, value): (usize, Value)| keep(&index.to_string(), value);
            elements.into_iter().enumerate().filter_map(kept).collect()
        }
        scalar => scalar,
    }
}

/// Whether the pattern, in which `*` stands for any one name, leads to the path or to something around it.
fn starts(pattern: &[String], path: &[String]) -> bool {
    pattern.len() <= path.len() && pattern.iter().zip(path).all(|(want, name)| want == "*" || want == name)
}

/// Whether the pattern leads to the path itself.
pub(crate) fn leads(pattern: &str, path: &str) -> bool {
    let (pattern, path) = (tokens(pattern), tokens(path));
    pattern.len() == path.len() && starts(&pattern, &path)
}

/// Managers by name: a server orders them by time first, which two runs do not share.
pub(crate) fn sort_managers(value: &Value) -> Value {
    match value {
        Value::Object(members) => members
            .iter()
            .map(|(name, value)| {
                let mut value = sort_managers(value);
                let managers = name == "managedFields" || name == "/metadata/managedFields";
                if let (true, Value::Array(entries)) = (managers, &mut value) {
                    entries.sort_by_key(|entry| {
                        ["manager", "operation", "apiVersion", "subresource"]
                            .map(|name| entry[name].as_str().unwrap_or_default().to_owned())
                    });
                }
                (name.clone(), value)
            })
            .collect(),
        Value::Array(elements) => elements.iter().map(sort_managers).collect(),
        scalar => scalar.clone(),
    }
}

/// Several causes of one refusal come in no order: they, and the words that tell them, sorted in both; `None` when one
/// of the two is no such refusal.
pub(crate) fn without_order(expected: &Value, actual: &Value) -> Option<(Value, Value)> {
    Some((causes_sorted(expected)?, causes_sorted(actual)?))
}

fn causes_sorted(status: &Value) -> Option<Value> {
    let refusal =
        status["kind"] == "Status" && (status["reason"] == "Invalid" || status["reason"] == "Conflict");
    let causes = status["details"]["causes"].as_array().filter(|causes| refusal && causes.len() > 1)?;
    let mut causes = causes.clone();
    causes.sort_by_key(|cause| {
        ["field", "reason", "message"].map(|name| cause[name].as_str().unwrap_or_default().to_owned())
    });
    let message = status["message"].as_str().unwrap_or_default();
    let mut words: Vec<_> = message
        .split_whitespace()
        .map(|word| word.trim_start_matches('[').trim_end_matches([']', ',']))
        .collect();
    words.sort_unstable();
    let mut sorted = status.clone();
    sorted["message"] = words.join(" ").into();
    sorted["details"]["causes"] = causes.into();
    Some(sorted)
}

/// The elements of a list; none of anything else.
pub(crate) fn items(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// The texts in a list.
pub(crate) fn texts(value: &Value) -> Vec<String> {
    items(value).iter().filter_map(Value::as_str).map(str::to_owned).collect()
}
