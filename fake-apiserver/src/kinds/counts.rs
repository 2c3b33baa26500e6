//! Counts that may be percentages, and the kinds that are little more than counts: budgets, autoscalers and leases.

use serde_json::{Value, json};

use crate::schema::FieldError;

/// Checks a count or percentage.
pub(super) fn percent_or_count(errors: &mut Vec<FieldError>, at: &str, value: &Value) {
    match value {
        Value::String(text) if percent(text).is_none() => {
            let why = "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or \
                       '93%', regex used for validation is '[0-9]+%')";
            errors.push(FieldError::invalid(at, value, why));
        }
        Value::Number(count) if count.as_i64().is_some_and(|count| count < 0) => {
            errors.push(FieldError::invalid(at, value, "must be greater than or equal to 0"));
        }
        _ => {}
    }
}

/// Checks that a percentage is one of a whole.
pub(super) fn percent_up_to_all(errors: &mut Vec<FieldError>, at: &str, value: &Value) {
    if value.as_str().and_then(percent).is_some_and(|percent| percent > 100) {
        errors.push(FieldError::invalid(at, value, "must not be greater than 100%"));
    }
}

fn percent(text: &str) -> Option<u64> {
    let digits = text.strip_suffix('%')?;
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
}

/// What is wrong with a PodDisruptionBudget.
pub(super) fn budget_errors(object: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let spec = &object["spec"];
    if !spec["minAvailable"].is_null() && !spec["maxUnavailable"].is_null() {
        let shown = format!(
            "{{\"MinAvailable\":{},\"Selector\":{},\"MaxUnavailable\":{},\"UnhealthyPodEvictionPolicy\":{}}}",
            spec["minAvailable"],
            spec["selector"],
            spec["maxUnavailable"],
            spec["unhealthyPodEvictionPolicy"]
        );
        let why = "minAvailable and maxUnavailable cannot be both set";
        errors.push(FieldError {
            message: format!("Invalid value: {shown}: {why}"),
            ..FieldError::invalid("spec", &Value::Null, why)
        });
    }
    for field in ["minAvailable", "maxUnavailable"] {
        let at = format!("spec.{field}");
        percent_or_count(&mut errors, &at, &spec[field]);
        percent_up_to_all(&mut errors, &at, &spec[field]);
    }
    errors
}

/// What is wrong with a HorizontalPodAutoscaler.
pub(super) fn autoscaler_errors(object: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let spec = &object["spec"];
    let (least, most) = (spec["minReplicas"].as_i64(), spec["maxReplicas"].as_i64().unwrap_or(0));
    if let Some(least) = least.filter(|least| *least < 1) {
        errors.push(FieldError::invalid(
            "spec.minReplicas",
            &json!(least),
            "must be greater than or equal to 1",
        ));
    }
    if most < 1 {
        errors.push(FieldError::required("spec.maxReplicas", "must be set and greater than 0"));
    }
    if least.is_some_and(|least| most < least) {
        let why = "must be greater than or equal to `minReplicas`";
        errors.push(FieldError::invalid("spec.maxReplicas", &json!(most), why));
    }
    let target = &spec["scaleTargetRef"];
    for field in ["kind", "name"] {
        if target[field].as_str().unwrap_or_default().is_empty() {
            errors.push(FieldError::required(format!("spec.scaleTargetRef.{field}"), ""));
        }
    }
    let version = target["apiVersion"].as_str().unwrap_or_default();
    if !version.contains('/') && version != "v1" {
        let why = "apiVersion must specify API group";
        errors.push(FieldError::invalid("spec.scaleTargetRef.apiVersion", &json!(version), why));
    }
    errors
}

/// What is wrong with a Lease.
pub(super) fn lease_errors(object: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let spec = &object["spec"];
    if let Some(seconds) = spec["leaseDurationSeconds"].as_i64().filter(|seconds| *seconds <= 0) {
        errors.push(FieldError::invalid(
            "spec.leaseDurationSeconds",
            &json!(seconds),
            "must be greater than 0",
        ));
    }
    super::workload::not_negative(&mut errors, spec, "spec", &["leaseTransitions"]);
    errors
}
