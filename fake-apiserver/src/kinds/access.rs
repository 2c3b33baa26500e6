//! Validation of roles and bindings (`pkg/apis/rbac/validation`).

use serde_json::Value;

use super::pod::{list, text};
use crate::schema::FieldError;

/// What is wrong with a role.
pub(super) fn role_errors(object: &Value, namespaced: bool) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let aggregation = &object["aggregationRule"];
    if aggregation.is_object() && list(&aggregation["clusterRoleSelectors"]).next().is_none() {
        let why = "at least one clusterRoleSelector required if aggregationRule is non-nil";
        errors.push(FieldError::required("aggregationRule.clusterRoleSelectors", why));
    }
    for (index, rule) in list(&object["rules"]).enumerate() {
        let at = |field: &str| format!("rules[{index}].{field}");
        let empty = |field: &str| rule[field].as_array().is_none_or(Vec::is_empty);
        let mut require = |field: &str, why: &str| errors.push(FieldError::required(at(field), why));
        if empty("verbs") {
            require("verbs", "verbs must contain at least one value");
        }
        if !empty("nonResourceURLs") {
            let mixed = ["apiGroups", "resources", "resourceNames"].iter().any(|field| !empty(field));
            let why = match (namespaced, mixed) {
                (true, _) => "namespaced rules cannot apply to non-resource URLs",
                (false, true) => "rules cannot apply to both regular resources and non-resource URLs",
                (false, false) => continue,
            };
            errors.push(FieldError::invalid(at("nonResourceURLs"), &rule["nonResourceURLs"], why));
            continue;
        }
        if empty("apiGroups") {
            require("apiGroups", "resource rules must supply at least one api group");
        }
        if empty("resources") {
            require("resources", "resource rules must supply at least one resource");
        }
    }
    errors
}

/// What is wrong with a binding.
pub(super) fn binding_errors(object: &Value, namespaced: bool) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let role = &object["roleRef"];
    let group = "rbac.authorization.k8s.io";
    if role["apiGroup"] != group {
        errors.push(FieldError::unsupported("roleRef.apiGroup", &role["apiGroup"], &[group]));
    }
    let kinds: &[&str] = if namespaced { &["Role", "ClusterRole"] } else { &["ClusterRole"] };
    if !kinds.contains(&text(&role["kind"])) {
        errors.push(FieldError::unsupported("roleRef.kind", &text(&role["kind"]).into(), kinds));
    }
    if text(&role["name"]).is_empty() {
        errors.push(FieldError::required("roleRef.name", ""));
    }
    for (index, subject) in list(&object["subjects"]).enumerate() {
        let at = |field: &str| format!("subjects[{index}].{field}");
        if text(&subject["name"]).is_empty() {
            errors.push(FieldError::required(at("name"), ""));
        }
        let expected = match text(&subject["kind"]) {
            "ServiceAccount" => {
                if text(&subject["namespace"]).is_empty() && !namespaced {
                    errors.push(FieldError::required(at("namespace"), ""));
                }
                ""
            }
            "User" | "Group" => group,
            kind => {
                let kinds = ["ServiceAccount", "User", "Group"];
                errors.push(FieldError::unsupported(at("kind"), &kind.into(), &kinds));
                continue;
            }
        };
        if text(&subject["apiGroup"]) != expected {
            errors.push(FieldError::unsupported(at("apiGroup"), &subject["apiGroup"], &[expected]));
        }
    }
    errors
}
