//! Rules for metadata that hold for every kind: names, labels, annotations, finalizers, owner references
//! (`k8s.io/apimachinery/pkg/api/validation` and `pkg/util/validation`).

use serde_json::{Value, json};

use crate::schema::{FieldError, FieldErrorReason};

const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or \
     '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
     '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL_1123: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and \
     must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is \
     '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const LABEL_1035: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an \
     alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for \
     validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
const QUALIFIED: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end \
     with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
     '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const LABEL_VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or \
     '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex \
     used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

/// Which names a kind allows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum NameRule {
    Subdomain,
    Label,
    /// Anything that can be a path segment.
    PathSegment,
}

/// The name rule of a built-in kind; custom resources take [`NameRule::Subdomain`].
pub(crate) fn name_rule(resource: &str) -> NameRule {
    match resource {
        "namespaces" | "services" => NameRule::Label,
        _ if resource.ends_with(".rbac.authorization.k8s.io") => NameRule::PathSegment,
        _ => NameRule::Subdomain,
    }
}

/// What is wrong with `metadata` of an object about to be created. `generated` is the name before a suffix was
/// added to `generateName`.
pub(crate) fn metadata_errors(metadata: &Value, rule: NameRule) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if let Some(base) = metadata["generateName"].as_str().filter(|base| !base.is_empty()) {
        // The dash before the suffix is no fault.
        let probe = base.strip_suffix('-').map_or(base.to_owned(), |base| format!("{base}a"));
        if let Some(why) = bad_name(&probe, rule).filter(|_| probe.len() < 200) {
            errors.push(FieldError::invalid("metadata.generateName", &json!(base), &why));
        }
    }
    match metadata["name"].as_str().unwrap_or_default() {
        "" => errors.push(FieldError::required("metadata.name", "name or generateName is required")),
        name => {
            if let Some(why) = bad_name(name, rule) {
                errors.push(FieldError::invalid("metadata.name", &json!(name), &why));
            }
        }
    }
    errors.extend(common_metadata_errors(metadata));
    errors
}

/// What is wrong with the parts of `metadata` that may change.
pub(crate) fn common_metadata_errors(metadata: &Value) -> Vec<FieldError> {
    let mut errors = owner_errors(&metadata["ownerReferences"]);
    for (key, value) in metadata["labels"].as_object().into_iter().flatten() {
        if let Some(why) = bad_label_key(key) {
            errors.push(FieldError::invalid("metadata.labels", &json!(key), &why));
        }
        if let Some(why) = value.as_str().and_then(bad_label_value) {
            errors.push(FieldError::invalid("metadata.labels", value, &why));
        }
    }
    let mut size = 0;
    for (key, value) in metadata["annotations"].as_object().into_iter().flatten() {
        if let Some(why) = bad_label_key(&key.to_lowercase()) {
            errors.push(FieldError::invalid("metadata.annotations", &json!(key), &why));
        }
        size += key.len() + value.as_str().unwrap_or_default().len();
    }
    if size > 262_144 {
        errors.push(FieldError {
            path: "metadata.annotations".into(),
            reason: FieldErrorReason::FieldValueTooLong,
            message: "Too long: may not be more than 262144 bytes".into(),
        });
    }
    let finalizers = metadata["finalizers"].as_array().map(Vec::as_slice).unwrap_or_default();
    for finalizer in finalizers {
        if let Some(why) = finalizer.as_str().and_then(bad_label_key) {
            errors.push(FieldError::invalid("metadata.finalizers", finalizer, &why));
        }
    }
    let both = ["orphan", "foregroundDeletion"].iter().all(|name| finalizers.iter().any(|f| f == name));
    if both {
        let why = "finalizers orphan and foregroundDeletion cannot be both set";
        errors.push(FieldError::invalid("metadata.finalizers", &json!(finalizers), why));
    }
    errors
}

/// Built-in kinds also insist on a domain in finalizer names.
pub(crate) fn finalizer_errors(metadata: &Value) -> Vec<FieldError> {
    let standard = ["orphan", "foregroundDeletion", "kubernetes"];
    let finalizers = metadata["finalizers"].as_array().into_iter().flatten().enumerate();
    finalizers
        .filter(|(_, finalizer)| {
            finalizer.as_str().is_some_and(|name| !name.contains('/') && !standard.contains(&name))
        })
        .map(|(index, finalizer)| {
            let why = "name is neither a standard finalizer name nor is it fully qualified";
            FieldError::invalid(format!("metadata.finalizers[{index}]"), finalizer, why)
        })
        .collect()
}

fn owner_errors(references: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut controllers = 0;
    for (index, reference) in references.as_array().into_iter().flatten().enumerate() {
        let at = |field: &str| format!("metadata.ownerReferences[{index}].{field}");
        let missing = |field: &str| reference[field].as_str().unwrap_or_default().is_empty();
        if missing("apiVersion") {
            let empty = json!(reference["apiVersion"].as_str().unwrap_or_default());
            errors.push(FieldError::invalid(at("apiVersion"), &empty, "version must not be empty"));
        }
        for (field, why) in
            [("kind", "must not be empty"), ("name", "must not be empty"), ("uid", "must not be empty")]
        {
            if missing(field) {
                errors.push(FieldError::invalid(at(field), &json!(""), why));
            }
        }
        if reference["controller"] == true {
            controllers += 1;
        }
    }
    if controllers > 1 {
        let why = "Only one reference can have Controller set to true";
        errors.push(FieldError::invalid("metadata.ownerReferences", references, why));
    }
    errors
}

/// Why `name` is no lower-case label (RFC 1123), if it is none.
pub(crate) fn bad_label(name: &str) -> Option<String> {
    bad_name(name, NameRule::Label)
}

/// `Duplicate value: …`.
pub(crate) fn duplicate(path: impl Into<String>, value: &Value) -> FieldError {
    let message = format!("Duplicate value: {value}");
    FieldError { path: path.into(), reason: FieldErrorReason::FieldValueDuplicate, message }
}

/// `Not found: …`.
pub(crate) fn not_found(path: impl Into<String>, value: &Value) -> FieldError {
    let message = format!("Not found: {value}");
    FieldError { path: path.into(), reason: FieldErrorReason::FieldValueNotFound, message }
}

fn bad_name(name: &str, rule: NameRule) -> Option<String> {
    let (limit, message, valid): (usize, &str, bool) = match rule {
        NameRule::Subdomain => (253, SUBDOMAIN, name.split('.').all(is_label)),
        NameRule::Label => (63, LABEL_1123, is_label(name)),
        NameRule::PathSegment => {
            return match name {
                "." | ".." => Some(format!("may not be '{name}'")),
                _ if name.contains('/') => Some("may not contain '/'".into()),
                _ if name.contains('%') => Some("may not contain '%'".into()),
                _ => None,
            };
        }
    };
    if !valid && rule != NameRule::Subdomain && name.contains('.') {
        Some("must not contain dots".into())
    } else if !valid {
        Some(message.to_owned())
    } else if name.len() > limit {
        Some(format!("must be no more than {limit} characters"))
    } else {
        None
    }
}

/// Why `name` is no label that starts with a letter, if it is none.
pub(crate) fn bad_label_1035(name: &str) -> Option<String> {
    let valid = is_label(name) && name.starts_with(|c: char| c.is_ascii_lowercase());
    if name.len() > 63 {
        return Some("must be no more than 63 characters".into());
    }
    (!valid).then(|| LABEL_1035.to_owned())
}

fn is_label(text: &str) -> bool {
    let edge = |c: Option<&u8>| c.is_some_and(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    let bytes = text.as_bytes();
    edge(bytes.first())
        && edge(bytes.last())
        && bytes.iter().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || *c == b'-')
}

/// Everything for which `key` is no qualified name, as label keys are.
pub(crate) fn qualified_name_errors(key: &str) -> Vec<String> {
    let mut errors = Vec::new();
    let (prefix, name) = match key.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, key),
    };
    match prefix {
        Some("") => errors.push("prefix part must be non-empty".into()),
        Some(prefix) if !prefix.split('.').all(is_label) => errors.push(format!("prefix part {SUBDOMAIN}")),
        _ => {}
    }
    if name.is_empty() {
        errors.push("name part must be non-empty".into());
    } else if name.len() > 63 {
        errors.push("name part must be no more than 63 bytes".into());
    }
    if !is_qualified(name) {
        errors.push(QUALIFIED.to_owned());
    }
    errors
}

/// Why `key` is no label key (a qualified name), if it is none.
pub(crate) fn bad_label_key(key: &str) -> Option<String> {
    qualified_name_errors(key).into_iter().next()
}

/// Why `value` is no label value, if it is none.
pub(crate) fn bad_label_value(value: &str) -> Option<String> {
    if value.len() > 63 {
        return Some("must be no more than 63 bytes".into());
    }
    (!value.is_empty() && !is_qualified(value)).then(|| LABEL_VALUE.to_owned())
}

fn is_qualified(name: &str) -> bool {
    let edge = |c: Option<&u8>| c.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = name.as_bytes();
    edge(bytes.first())
        && edge(bytes.last())
        && bytes.iter().all(|c| c.is_ascii_alphanumeric() || b"-_.".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(metadata: &Value, messages: &[&str]) {
        let errors = metadata_errors(metadata, NameRule::Subdomain);
        let actual: Vec<_> =
            errors.iter().map(|error| format!("{}: {}", error.path, error.message)).collect();
        assert_eq!(actual.len(), messages.len(), "{actual:?}");
        for (actual, start) in actual.iter().zip(messages) {
            assert!(actual.starts_with(start), "{actual} does not start with {start}");
        }
    }

    #[test]
    fn names_are_lower_case_subdomains() {
        check(&json!({"name": "a.b-c.1"}), &[]);
        check(&json!({"name": "Upper"}), &["metadata.name: Invalid value: \"Upper\": a lowercase RFC 1123"]);
        check(&json!({}), &["metadata.name: Required value: name or generateName is required"]);
    }

    #[test]
    fn label_keys_and_values_have_their_alphabets() {
        check(&json!({"name": "a", "labels": {"x.io/a_b": "Ab.c"}}), &[]);
        check(&json!({"name": "a", "labels": {"a": "b c"}}), &["metadata.labels: Invalid value: \"b c\""]);
        check(
            &json!({"name": "a", "labels": {"/a": ""}}),
            &["metadata.labels: Invalid value: \"/a\": prefix part"],
        );
    }

    #[test]
    fn owner_references_need_their_members() {
        let owners = json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "x"}]);
        let message = "metadata.ownerReferences[0].uid: Invalid value: \"\": must not be empty";
        check(&json!({"name": "a", "ownerReferences": owners}), &[message]);
    }
}
