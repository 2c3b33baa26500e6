//! Validation of ValidatingAdmissionPolicies and their bindings (`pkg/apis/admissionregistration/validation`).
//! Expressions are compiled, not type-checked.

use serde_json::{Value, json};

use crate::cel;
use crate::schema::{FieldError, FieldErrorReason};

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn list(value: &Value) -> impl Iterator<Item = (usize, &Value)> {
    value.as_array().into_iter().flatten().enumerate()
}

fn empty(value: &Value) -> bool {
    value.as_array().is_none_or(Vec::is_empty)
}

/// What is wrong with a policy.
pub(super) fn policy_errors(policy: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let spec = &policy["spec"];
    let mut require = |path: &str, why: &str| errors.push(FieldError::required(path, why));
    if !spec["paramKind"].is_null() {
        for field in ["apiVersion", "kind"] {
            if text(&spec["paramKind"][field]).is_empty() {
                require(&format!("spec.paramKind.{field}"), "");
            }
        }
    }
    if spec["matchConstraints"].is_null() {
        require("spec.matchConstraints", "");
    } else if empty(&spec["matchConstraints"]["resourceRules"]) {
        require("spec.matchConstraints.resourceRules", "");
    }
    if empty(&spec["validations"]) && empty(&spec["auditAnnotations"]) {
        let why = "validations or auditAnnotations must contain at least one item";
        require("spec.validations", why);
        require("spec.auditAnnotations", why);
    }
    for (index, validation) in list(&spec["validations"]) {
        validation_errors(validation, &format!("spec.validations[{index}]"), &mut errors);
    }
    for field in ["variables", "matchConditions"] {
        for (index, named) in list(&spec[field]) {
            let base = format!("spec.{field}[{index}]");
            if text(&named["name"]).is_empty() {
                errors.push(FieldError::required(format!("{base}.name"), ""));
            }
            let why = if field == "variables" { "expression is not specified" } else { "" };
            expression_errors(&named["expression"], format!("{base}.expression"), why, &mut errors);
        }
    }
    errors
}

fn validation_errors(validation: &Value, base: &str, errors: &mut Vec<FieldError>) {
    const REASONS: [&str; 4] = ["Forbidden", "Invalid", "RequestEntityTooLarge", "Unauthorized"];
    let why = "expression is not specified";
    expression_errors(&validation["expression"], format!("{base}.expression"), why, errors);
    for (field, computed) in [("message", false), ("messageExpression", true)] {
        let (path, given) = (format!("{base}.{field}"), &validation[field]);
        let said = text(given).trim();
        if given.is_string() && !text(given).is_empty() && said.is_empty() {
            errors.push(FieldError::invalid(path, given, &format!("{field} must be non-empty if specified")));
        } else if !computed && said.contains('\n') {
            errors.push(FieldError::invalid(path, given, "message must not contain line breaks"));
        } else if computed && !said.is_empty() {
            expression_errors(given, path, "", errors);
        }
    }
    let reason = &validation["reason"];
    if !reason.is_null() && !REASONS.contains(&text(reason)) {
        errors.push(FieldError::unsupported(format!("{base}.reason"), reason, &REASONS));
    }
}

fn expression_errors(expression: &Value, path: String, missing: &str, errors: &mut Vec<FieldError>) {
    match text(expression).trim() {
        "" => errors.push(FieldError::required(path, missing)),
        source => {
            if let Err(why) = cel::compile(source) {
                errors.push(FieldError::invalid(path, expression, &format!("compilation failed: {why}")));
            }
        }
    }
}

/// What is wrong with a binding.
pub(super) fn binding_errors(binding: &Value) -> Vec<FieldError> {
    const ACTIONS: [&str; 3] = ["Audit", "Deny", "Warn"];
    let mut errors = Vec::new();
    let spec = &binding["spec"];
    if text(&spec["policyName"]).is_empty() {
        errors.push(FieldError::required("spec.policyName", ""));
    }
    let (path, actions) = ("spec.validationActions", &spec["validationActions"]);
    if empty(actions) {
        errors.push(FieldError::required(path, "at least one validation action is required"));
    }
    for (index, action) in list(actions) {
        let path = format!("{path}[{index}]");
        if !ACTIONS.contains(&text(action)) {
            errors.push(FieldError::unsupported(path, action, &ACTIONS));
        } else if list(actions).any(|(earlier, other)| earlier < index && other == action) {
            let message = format!("Duplicate value: {action}");
            errors.push(FieldError { path, reason: FieldErrorReason::FieldValueDuplicate, message });
        }
    }
    let has = |wanted: &str| list(actions).any(|(_, action)| action == wanted);
    if has("Deny") && has("Warn") {
        let why = "must not contain both Deny and Warn (repeating the same validation failure information in the API \
                   response and headers serves no purpose)";
        errors.push(FieldError::invalid(path, actions, why));
    }
    let parameter = &spec["paramRef"];
    if !parameter.is_null() {
        if text(&parameter["name"]).is_empty() && parameter["selector"].is_null() {
            errors.push(FieldError::required(
                "spec.paramRef.name",
                "one of name or selector must be specified",
            ));
        }
        match text(&parameter["parameterNotFoundAction"]) {
            "" => errors.push(FieldError::required("spec.paramRef.parameterNotFoundAction", "")),
            "Allow" | "Deny" => {}
            other => errors.push(FieldError::unsupported(
                "spec.paramRef.parameterNotFoundAction",
                &json!(other),
                &["Deny", "Allow"],
            )),
        }
    }
    errors
}
