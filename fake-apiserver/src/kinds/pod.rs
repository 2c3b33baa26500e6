//! Validation of what runs: pod specs, wherever they stand (`pkg/apis/core/validation`, `ValidatePodSpec`). Only what
//! people get wrong: names, images, ports, mounts, resources.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::schema::FieldError;
use crate::validation::{bad_label, duplicate, not_found};

const PORTS: std::ops::RangeInclusive<i64> = 1..=65_535;

/// What is wrong with the spec under `path`.
pub(super) fn spec_errors(spec: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut volumes = BTreeSet::new();
    for (index, volume) in list(&spec["volumes"]).enumerate() {
        let name = text(&volume["name"]);
        check_name(&mut errors, &format!("{path}.volumes[{index}].name"), name, !volumes.insert(name));
    }
    if list(&spec["containers"]).next().is_none() {
        errors.push(FieldError::required(format!("{path}.containers"), ""));
    }
    let mut names = BTreeSet::new();
    for group in ["initContainers", "containers"] {
        for (index, container) in list(&spec[group]).enumerate() {
            let at = format!("{path}.{group}[{index}]");
            let name = text(&container["name"]);
            check_name(&mut errors, &format!("{at}.name"), name, !names.insert(name));
            container_errors(&mut errors, container, &at, &volumes);
        }
    }
    let policies = ["Always", "OnFailure", "Never"];
    supported(&mut errors, &format!("{path}.restartPolicy"), &spec["restartPolicy"], &policies);
    let policies = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];
    supported(&mut errors, &format!("{path}.dnsPolicy"), &spec["dnsPolicy"], &policies);
    errors
}

/// What is wrong with the template under `path` of a workload that restarts its pods always.
pub(super) fn lasting_template_errors(template: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = spec_errors(&template["spec"], &format!("{path}.spec"));
    let policy = &template["spec"]["restartPolicy"];
    if !policy.is_null() && policy != "Always" {
        errors.push(FieldError::unsupported(format!("{path}.spec.restartPolicy"), policy, &["Always"]));
    }
    errors
}

/// What of a pod may not change (`ValidatePodUpdate`).
pub(super) fn update_errors(old: &Value, new: &Value) -> Vec<FieldError> {
    let changeable = |pod: &Value| {
        let mut spec = pod["spec"].clone();
        for group in ["initContainers", "containers"] {
            for container in spec[group].as_array_mut().into_iter().flatten() {
                container["image"] = Value::Null;
            }
        }
        for field in ["activeDeadlineSeconds", "tolerations", "terminationGracePeriodSeconds"] {
            spec[field] = Value::Null;
        }
        spec
    };
    if changeable(old) == changeable(new) {
        return Vec::new();
    }
    let why = "pod updates may not change fields other than `spec.containers[*].image`,\
               `spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to \
               existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was \
               previously negative)\n";
    vec![FieldError::forbidden("spec", why)]
}

fn container_errors(errors: &mut Vec<FieldError>, container: &Value, at: &str, volumes: &BTreeSet<&str>) {
    if text(&container["image"]).is_empty() {
        errors.push(FieldError::required(format!("{at}.image"), ""));
    }
    let policies = ["Always", "IfNotPresent", "Never"];
    supported(errors, &format!("{at}.imagePullPolicy"), &container["imagePullPolicy"], &policies);
    for (index, port) in list(&container["ports"]).enumerate() {
        let at = format!("{at}.ports[{index}]");
        let number = port["containerPort"].as_i64().unwrap_or(0);
        if number == 0 {
            errors.push(FieldError::required(format!("{at}.containerPort"), ""));
        } else if !PORTS.contains(&number) {
            let why = "must be between 1 and 65535, inclusive";
            errors.push(FieldError::invalid(format!("{at}.containerPort"), &json!(number), why));
        }
        supported(errors, &format!("{at}.protocol"), &port["protocol"], &["SCTP", "TCP", "UDP"]);
    }
    for (index, variable) in list(&container["env"]).enumerate() {
        let at = format!("{at}.env[{index}]");
        if text(&variable["name"]).is_empty() {
            errors.push(FieldError::required(format!("{at}.name"), ""));
        }
        if !text(&variable["value"]).is_empty() && variable["valueFrom"].is_object() {
            let why = "may not be specified when `value` is not empty";
            errors.push(FieldError::invalid(format!("{at}.valueFrom"), &json!(""), why));
        }
    }
    let mut mounted = BTreeSet::new();
    for (index, mount) in list(&container["volumeMounts"]).enumerate() {
        let at = format!("{at}.volumeMounts[{index}]");
        let (name, place) = (text(&mount["name"]), text(&mount["mountPath"]));
        if name.is_empty() {
            errors.push(FieldError::required(format!("{at}.name"), ""));
        } else if !volumes.contains(name) {
            errors.push(not_found(format!("{at}.name"), &mount["name"]));
        }
        if place.is_empty() {
            errors.push(FieldError::required(format!("{at}.mountPath"), ""));
        } else if !mounted.insert(place) {
            errors.push(FieldError::invalid(format!("{at}.mountPath"), &json!(place), "must be unique"));
        }
    }
    resource_errors(errors, &container["resources"], &format!("{at}.resources"));
}

/// Requests may not exceed limits.
fn resource_errors(errors: &mut Vec<FieldError>, resources: &Value, at: &str) {
    for (name, limit) in resources["limits"].as_object().into_iter().flatten() {
        let request = &resources["requests"][name.as_str()];
        if crate::schema::builtin::quantity::exceeds(text(request), text(limit)) {
            let why = format!("must be less than or equal to {name} limit of {}", text(limit));
            errors.push(FieldError::invalid(format!("{at}.requests"), request, &why));
        }
    }
}

fn check_name(errors: &mut Vec<FieldError>, at: &str, name: &str, again: bool) {
    if name.is_empty() {
        errors.push(FieldError::required(at, ""));
    } else if let Some(why) = bad_label(name) {
        errors.push(FieldError::invalid(at, &json!(name), &why));
    } else if again {
        errors.push(duplicate(at, &json!(name)));
    }
}

/// Checks a value that is there against those there are.
pub(super) fn supported(errors: &mut Vec<FieldError>, at: &str, value: &Value, among: &[&str]) {
    if !value.is_null() && !among.iter().any(|known| value == known) {
        errors.push(FieldError::unsupported(at, value, among));
    }
}

pub(super) fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

pub(super) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
