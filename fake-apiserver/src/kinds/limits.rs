//! LimitRanges and ResourceQuotas (`pkg/apis/core/validation`): bounds that contradict each other or bound nothing known.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::resources::{Amounts, amounts};
use crate::schema::FieldError;
use crate::schema::builtin::quantity::nanos;
use crate::validation::duplicate;

/// Resources that may be limited under their own name.
const QUOTA_RESOURCES: &[&str] = &[
    "cpu",
    "memory",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.storage",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "persistentvolumeclaims",
    "configmaps",
    "services.nodeports",
    "services.loadbalancers",
];

const SCOPES: &[&str] = &[
    "Terminating",
    "NotTerminating",
    "BestEffort",
    "NotBestEffort",
    "PriorityClass",
    "CrossNamespacePodAffinity",
    "VolumeAttributesClass",
];

/// What is wrong with a ResourceQuota.
pub(super) fn quota_errors(object: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let spec = &object["spec"];
    for (name, amount) in amounts(&spec["hard"]) {
        let at = format!("spec.hard[{name}]");
        if !name.contains('/') && !QUOTA_RESOURCES.contains(&name.as_str()) {
            for why in [
                "must be a standard resource type or fully qualified",
                "must be a standard resource for quota",
            ] {
                errors.push(FieldError::invalid(&at, &json!(name), why));
            }
        }
        amount_errors(&mut errors, &at, &name, &amount);
    }
    let scopes = spec["scopes"].as_array().map(Vec::as_slice).unwrap_or_default();
    let has = |scope: &str| scopes.iter().any(|one| one == scope);
    for scope in scopes.iter().filter_map(Value::as_str) {
        if !SCOPES.contains(&scope) {
            errors.push(FieldError::invalid("spec.scopes", &spec["scopes"], "unsupported scope"));
        }
        let fits = |name: &String| {
            let counted = matches!(name.as_str(), "pods" | "count/pods");
            counted || (scope != "BestEffort" && COMPUTED.contains(&name.as_str()))
        };
        let pods_only = ["Terminating", "NotTerminating", "BestEffort", "NotBestEffort"].contains(&scope);
        for _ in amounts(&spec["hard"]).keys().filter(|name| pods_only && !fits(name)) {
            let why = "unsupported scope applied to resource";
            errors.push(FieldError::invalid("spec.scopes", &spec["scopes"], why));
        }
    }
    for (one, other) in [("BestEffort", "NotBestEffort"), ("Terminating", "NotTerminating")] {
        if has(one) && has(other) {
            errors.push(FieldError::invalid("spec.scopes", &spec["scopes"], "conflicting scopes"));
        }
    }
    errors
}

/// What Pods use, other than by being there.
const COMPUTED: &[&str] =
    &["cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"];

fn amount_errors(errors: &mut Vec<FieldError>, at: &str, name: &str, amount: &str) {
    let Some(value) = nanos(amount) else { return };
    if value < 0 {
        errors.push(FieldError::invalid(at, &json!(amount), "must be greater than or equal to 0"));
    }
    let countable = name.starts_with("count/") || !name.contains(['/', '-']) && !measured(name);
    if countable && value % 1_000_000_000 != 0 {
        errors.push(FieldError::invalid(at, &json!(amount), "must be an integer"));
    }
}

fn measured(name: &str) -> bool {
    let short = name.rsplit('.').next().unwrap_or(name);
    matches!(short, "cpu" | "memory" | "storage")
}

/// What is wrong with a LimitRange.
pub(super) fn range_errors(object: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut kinds = BTreeSet::new();
    for (index, limit) in object["spec"]["limits"].as_array().into_iter().flatten().enumerate() {
        let at = format!("spec.limits[{index}]");
        let kind = limit["type"].as_str().unwrap_or_default();
        if !kinds.insert(kind) {
            errors.push(duplicate(format!("{at}.type"), &json!(kind)));
        }
        if kind == "Pod" {
            for field in ["default", "defaultRequest"] {
                if !amounts(&limit[field]).is_empty() {
                    let why = "may not be specified when `type` is 'Pod'";
                    errors.push(FieldError::forbidden(format!("{at}.{field}"), why));
                }
            }
        }
        let bounded = |field: &str| amounts(&limit[field]).contains_key("storage");
        if kind == "PersistentVolumeClaim" && !bounded("min") && !bounded("max") {
            let why = "either minimum or maximum storage value is required, but neither was provided";
            errors.push(FieldError::required(&at, why));
        }
        item_errors(&mut errors, limit, &at);
    }
    errors
}

/// Pairs of which the first must not be above the second: where it is told, and the names of both.
const ORDERED: &[(&str, &str, &str, &str, &str)] = &[
    ("min", "max", "min", "min", "max"),
    ("min", "defaultRequest", "defaultRequest", "min", "default request"),
    ("defaultRequest", "max", "defaultRequest", "default request", "max"),
    ("defaultRequest", "default", "defaultRequest", "default request", "default limit"),
    ("min", "default", "default", "min", "default"),
    ("default", "max", "default", "default", "max"),
];

fn item_errors(errors: &mut Vec<FieldError>, limit: &Value, at: &str) {
    let lists: Vec<Amounts> = ["min", "max", "default", "defaultRequest", "maxLimitRequestRatio"]
        .map(|field| amounts(&limit[field]))
        .into();
    let names: BTreeSet<&String> = lists.iter().flat_map(Amounts::keys).collect();
    for name in names {
        let of = |field: &str| limit[field].get(name).and_then(Value::as_str);
        for (lower, upper, field, one, other) in ORDERED {
            let (Some(low), Some(high)) = (of(lower), of(upper)) else { continue };
            if nanos(low) > nanos(high) {
                let shown = of(field).unwrap_or_default();
                let why = format!("{one} value {low} is greater than {other} value {high}");
                errors.push(FieldError::invalid(format!("{at}.{field}[{name}]"), &json!(shown), &why));
            }
        }
        let Some(ratio) = of("maxLimitRequestRatio") else { continue };
        if nanos(ratio) < Some(1_000_000_000) {
            let path = format!("{at}.maxLimitRequestRatio[{name}]");
            errors.push(FieldError::invalid(path, &json!(ratio), &format!("ratio {ratio} is less than 1")));
        }
    }
}
