//! Validation of Services (`pkg/apis/core/validation`, `ValidateService`).

use serde_json::{Value, json};

use crate::schema::{FieldError, FieldErrorReason};
use crate::validation::{bad_label, duplicate};

const TYPES: [&str; 4] = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];

/// What is wrong with a Service.
pub(super) fn errors(service: &Value) -> Vec<FieldError> {
    let spec = &service["spec"];
    let mut errors = Vec::new();
    let kind = spec["type"].as_str().unwrap_or_default();
    if !TYPES.contains(&kind) {
        errors.push(FieldError::unsupported("spec.type", &spec["type"], &TYPES));
    }
    let ports = spec["ports"].as_array().map(Vec::as_slice).unwrap_or_default();
    let headless = spec["clusterIP"] == "None";
    if kind == "ExternalName" {
        if spec["externalName"].as_str().unwrap_or_default().is_empty() {
            errors.push(FieldError::required("spec.externalName", ""));
        }
    } else if ports.is_empty() && !headless {
        errors.push(FieldError::required("spec.ports", ""));
    }
    for (index, port) in ports.iter().enumerate() {
        port_errors(ports, index, port, &mut errors);
    }
    if let Some(address) = spec["clusterIP"].as_str().filter(|address| !matches!(*address, "" | "None"))
        && address.parse::<std::net::IpAddr>().is_err()
    {
        let why = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
        errors.push(FieldError::invalid("spec.clusterIPs[0]", &json!(address), why));
    } else if let Some(address) = spec["clusterIP"].as_str().filter(|address| out_of_range(address)) {
        let why =
            format!("failed to allocate IP {address}: the provided network does not match the current range");
        errors.push(FieldError::invalid("spec.clusterIPs", &json!([address]), &why));
    }
    errors
}

/// Whether an address is not among those that Services get (10.96.0.0/12).
fn out_of_range(address: &str) -> bool {
    address.parse::<std::net::Ipv4Addr>().is_ok_and(|address| {
        let [a, b, ..] = address.octets();
        a != 10 || !(96..112).contains(&b)
    })
}

fn port_errors(ports: &[Value], index: usize, port: &Value, errors: &mut Vec<FieldError>) {
    let at = |field: &str| format!("spec.ports[{index}].{field}");
    let name = port["name"].as_str().unwrap_or_default();
    let earlier = &ports[..index];
    if name.is_empty() && ports.len() > 1 {
        errors.push(FieldError::required(at("name"), ""));
    } else if let Some(why) = bad_label(name).filter(|_| !name.is_empty()) {
        errors.push(FieldError::invalid(at("name"), &json!(name), &why));
    } else if !name.is_empty() && earlier.iter().any(|other| other["name"] == name) {
        errors.push(duplicate(at("name"), &json!(name)));
    }
    let number = port["port"].as_i64().unwrap_or(0);
    if !(1..=65_535).contains(&number) {
        errors.push(FieldError::invalid(
            at("port"),
            &json!(number),
            "must be between 1 and 65535, inclusive",
        ));
    }
    if let Some(target) = port["targetPort"].as_i64().filter(|target| !(1..=65_535).contains(target)) {
        let why = "must be between 1 and 65535, inclusive";
        errors.push(FieldError::invalid(at("targetPort"), &json!(target), why));
    }
    let same = |other: &Value| other["port"] == port["port"] && other["protocol"] == port["protocol"];
    if earlier.iter().any(same) {
        let protocol = port["protocol"].as_str().unwrap_or_default();
        errors.push(FieldError {
            path: format!("spec.ports[{index}]"),
            reason: FieldErrorReason::FieldValueDuplicate,
            message: format!(
                "Duplicate value: {{\"Name\":\"\",\"Protocol\":\"{protocol}\",\"AppProtocol\":null,\"Port\":{number},\
                 \"TargetPort\":0,\"NodePort\":0}}"
            ),
        });
    }
}

/// What a change of a Service may not do.
pub(super) fn update_errors(old: &Value, new: &Value) -> Vec<FieldError> {
    let address = |service: &Value| service["spec"]["clusterIP"].as_str().unwrap_or_default().to_owned();
    let (before, after) = (address(old), address(new));
    let external = new["spec"]["type"] == "ExternalName" || old["spec"]["type"] == "ExternalName";
    if before.is_empty() || before == after || external {
        return Vec::new();
    }
    vec![FieldError::invalid("spec.clusterIPs[0]", &json!([after]), "may not change once set")]
}
