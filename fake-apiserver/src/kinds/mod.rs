//! Validation of the built-in kinds whose refusals clients rely on. Everything else is accepted: the fake knows
//! no schemas of built-in kinds.

mod definition;
mod policy;
mod service;

use serde_json::{Value, json};

use crate::schema::FieldError;
use crate::state::{Call, State};

/// What is wrong with a new object.
pub(crate) fn create_errors(_state: &State, call: &Call, object: &Value) -> Vec<FieldError> {
    match &*call.resource().id {
        "customresourcedefinitions.apiextensions.k8s.io" => definition::create_errors(object),
        _ => object_errors(call, object),
    }
}

/// What is wrong with a changed object.
pub(crate) fn update_errors(call: &Call, old: &Value, new: &Value) -> Vec<FieldError> {
    let mut errors = object_errors(call, new);
    match &*call.resource().id {
        "configmaps" | "secrets" if old["immutable"] == true => {
            let why = "field is immutable when `immutable` is set";
            if new["immutable"] != true {
                errors.push(FieldError::forbidden("immutable", why));
            }
            for field in ["data", "binaryData", "stringData"] {
                if old.get(field) != new.get(field) {
                    errors.push(FieldError::forbidden(field, why));
                }
            }
        }
        "services" => errors.extend(service::update_errors(old, new)),
        "secrets" => immutable(&mut errors, "type", &old["type"], &new["type"]),
        "customresourcedefinitions.apiextensions.k8s.io" => {
            errors.extend(definition::update_errors(old, new))
        }
        "deployments.apps" | "daemonsets.apps" | "replicasets.apps" => {
            immutable(&mut errors, "spec.selector", &old["spec"]["selector"], &new["spec"]["selector"]);
        }
        "jobs.batch" => {
            immutable(&mut errors, "spec.selector", &old["spec"]["selector"], &new["spec"]["selector"]);
            if old["spec"]["suspend"] != true {
                immutable(&mut errors, "spec.template", &old["spec"]["template"], &new["spec"]["template"]);
            }
            immutable(
                &mut errors,
                "spec.completions",
                &old["spec"]["completions"],
                &new["spec"]["completions"],
            );
        }
        "rolebindings.rbac.authorization.k8s.io" | "clusterrolebindings.rbac.authorization.k8s.io"
            if old["roleRef"] != new["roleRef"] =>
        {
            let part = |field: &str| &new["roleRef"][field];
            let shown = json!({ "APIGroup": part("apiGroup"), "Kind": part("kind"), "Name": part("name") });
            errors.push(FieldError::invalid("roleRef", &shown, "cannot change roleRef"));
        }
        _ => {}
    }
    errors
}

fn immutable(errors: &mut Vec<FieldError>, path: &str, old: &Value, new: &Value) {
    if old != new {
        errors.push(FieldError::invalid(path, new, "field is immutable"));
    }
}

fn object_errors(call: &Call, object: &Value) -> Vec<FieldError> {
    match &*call.resource().id {
        "deployments.apps" | "statefulsets.apps" | "daemonsets.apps" | "replicasets.apps" => {
            workload_errors(object)
        }
        "configmaps" => config_map_errors(object),
        "services" => service::errors(object),
        "validatingadmissionpolicies.admissionregistration.k8s.io" => policy::policy_errors(object),
        "validatingadmissionpolicybindings.admissionregistration.k8s.io" => policy::binding_errors(object),
        "poddisruptionbudgets.policy" => {
            let spec = &object["spec"];
            let both = !spec["minAvailable"].is_null() && !spec["maxUnavailable"].is_null();
            let shown =
                json!({ "MinAvailable": spec["minAvailable"], "MaxUnavailable": spec["maxUnavailable"] });
            let why = "minAvailable and maxUnavailable cannot be both set";
            if both { vec![FieldError::invalid("spec", &shown, why)] } else { Vec::new() }
        }
        "roles.rbac.authorization.k8s.io" | "clusterroles.rbac.authorization.k8s.io" => rule_errors(object),
        _ => Vec::new(),
    }
}

fn config_map_errors(object: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let why = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or \
               'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";
    for field in ["data", "binaryData"] {
        for key in object[field].as_object().into_iter().flat_map(|map| map.keys()) {
            let valid =
                !key.is_empty() && key.bytes().all(|c| c.is_ascii_alphanumeric() || b"-_.".contains(&c));
            if !valid {
                errors.push(FieldError::invalid(format!("{field}[{key}]"), &json!(key), why));
            }
            if field == "data" && object["binaryData"].get(key).is_some() {
                let why = "duplicate of key present in binaryData";
                errors.push(FieldError::invalid(format!("data[{key}]"), &json!(key), why));
            }
        }
    }
    errors
}

fn rule_errors(object: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (index, rule) in object["rules"].as_array().into_iter().flatten().enumerate() {
        let empty = |field: &str| rule[field].as_array().is_none_or(Vec::is_empty);
        let mut require = |field: &str, why: &str| {
            errors.push(FieldError::required(format!("rules[{index}].{field}"), why));
        };
        if empty("verbs") {
            require("verbs", "verbs must contain at least one value");
        }
        if empty("nonResourceURLs") {
            if empty("apiGroups") {
                require("apiGroups", "resource rules must supply at least one api group");
            }
            if empty("resources") {
                require("resources", "resource rules must supply at least one resource");
            }
        }
    }
    errors
}

fn workload_errors(object: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let spec = &object["spec"];
    if let Some(replicas) = spec["replicas"].as_i64().filter(|count| *count < 0) {
        errors.push(FieldError::invalid(
            "spec.replicas",
            &json!(replicas),
            "must be greater than or equal to 0",
        ));
    }
    let selector = &spec["selector"];
    if selector.is_null() {
        errors.push(FieldError::required("spec.selector", ""));
    } else {
        let labels = &spec["template"]["metadata"]["labels"];
        let empty = selector["matchLabels"].as_object().is_none_or(|map| map.is_empty())
            && selector["matchExpressions"].as_array().is_none_or(Vec::is_empty);
        if empty {
            errors.push(FieldError::invalid(
                "spec.selector",
                selector,
                "empty selector is invalid for deployment",
            ));
        } else if !crate::selector::LabelSelector::from_object(selector).matches(labels) {
            let why = "`selector` does not match template `labels`";
            let shown = if labels.is_null() { json!({}) } else { labels.clone() };
            errors.push(FieldError::invalid("spec.template.metadata.labels", &shown, why));
        }
    }
    if spec["template"]["spec"]["containers"].as_array().is_none_or(Vec::is_empty) {
        errors.push(FieldError::required("spec.template.spec.containers", ""));
    }
    errors
}
