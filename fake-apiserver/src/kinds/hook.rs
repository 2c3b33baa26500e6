//! Validation of webhook configurations (`pkg/apis/admissionregistration/validation`).

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::pod::{list, supported, text};
use crate::schema::FieldError;
use crate::validation::duplicate;

/// What is wrong with the webhooks of a configuration.
pub(super) fn errors(object: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut names = BTreeSet::new();
    for (index, hook) in list(&object["webhooks"]).enumerate() {
        let at = format!("webhooks[{index}]");
        let name = text(&hook["name"]);
        if name.split('.').filter(|part| !part.is_empty()).count() < 3 {
            let why = "should be a domain with at least three segments separated by dots";
            errors.push(FieldError::invalid(format!("{at}.name"), &json!(name), why));
        }
        if !names.insert(name) {
            errors.push(duplicate(format!("{at}.name"), &json!(name)));
        }
        hook_errors(&mut errors, hook, &at);
    }
    errors
}

fn hook_errors(errors: &mut Vec<FieldError>, hook: &Value, at: &str) {
    for (index, rule) in list(&hook["rules"]).enumerate() {
        rule_errors(errors, rule, &format!("{at}.rules[{index}]"));
    }
    supported(errors, &format!("{at}.failurePolicy"), &hook["failurePolicy"], &["Fail", "Ignore"]);
    supported(errors, &format!("{at}.matchPolicy"), &hook["matchPolicy"], &["Equivalent", "Exact"]);
    if hook["sideEffects"].is_null() {
        let why = "must specify one of None, NoneOnDryRun";
        errors.push(FieldError::required(format!("{at}.sideEffects"), why));
    }
    supported(errors, &format!("{at}.sideEffects"), &hook["sideEffects"], &["None", "NoneOnDryRun"]);
    if let Some(seconds) = hook["timeoutSeconds"].as_i64().filter(|seconds| !(1..=30).contains(seconds)) {
        let why = "the timeout value must be between 1 and 30 seconds";
        errors.push(FieldError::invalid(format!("{at}.timeoutSeconds"), &json!(seconds), why));
    }
    let versions = &hook["admissionReviewVersions"];
    if list(versions).next().is_none() {
        let why = "must specify one of v1, v1beta1";
        errors.push(FieldError::required(format!("{at}.admissionReviewVersions"), why));
    } else if !list(versions).any(|version| version == "v1" || version == "v1beta1") {
        let why = "must include at least one of v1, v1beta1";
        errors.push(FieldError::invalid(format!("{at}.admissionReviewVersions"), versions, why));
    }
    let client = &hook["clientConfig"];
    match (client["url"].as_str(), client["service"].is_object()) {
        (Some(url), false) => {
            let scheme = url.split_once("://").map_or("", |(scheme, _)| scheme);
            if scheme != "https" {
                let why = "'https' is the only allowed URL scheme; desired format: https://host[/path]";
                errors.push(FieldError::invalid(format!("{at}.clientConfig.url"), &json!(scheme), why));
            }
        }
        (None, true) => {
            for field in ["name", "namespace"] {
                if text(&client["service"][field]).is_empty() {
                    let what = format!("service {field} is required");
                    errors.push(FieldError::required(format!("{at}.clientConfig.service.{field}"), &what));
                }
            }
        }
        _ => {
            let why = "exactly one of url or service is required";
            errors.push(FieldError::required(format!("{at}.clientConfig"), why));
        }
    }
}

fn rule_errors(errors: &mut Vec<FieldError>, rule: &Value, at: &str) {
    let operations = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
    for (index, operation) in list(&rule["operations"]).enumerate() {
        supported(errors, &format!("{at}.operations[{index}]"), operation, &operations);
    }
    for (field, all, what) in [
        ("operations", "*", "operations"),
        ("apiGroups", "*", "API groups"),
        ("apiVersions", "*", "API versions"),
        ("resources", "*/*", "resources"),
    ] {
        let values = &rule[field];
        if list(values).next().is_none() {
            errors.push(FieldError::required(format!("{at}.{field}"), ""));
        } else if list(values).count() > 1 && list(values).any(|value| value == all) {
            let why = format!("if '{all}' is present, must not specify other {what}");
            errors.push(FieldError::invalid(format!("{at}.{field}"), values, &why));
        }
    }
    supported(errors, &format!("{at}.scope"), &rule["scope"], &["*", "Cluster", "Namespaced"]);
}
