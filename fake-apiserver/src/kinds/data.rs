//! Validation of ConfigMaps and Secrets (`pkg/apis/core/validation`).

use base64::Engine;
use serde_json::{Value, json};

use super::pod::text;
use crate::schema::FieldError;
use crate::schema::document::Document;

const KEY: &str = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or \
                   'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";

/// What is wrong with a ConfigMap.
pub(super) fn config_map_errors(object: &Value) -> Vec<FieldError> {
    let mut errors = key_errors(object, &["data", "binaryData"]);
    for key in object["data"].as_object().into_iter().flat_map(|map| map.keys()) {
        if object["binaryData"].get(key).is_some() {
            let why = "duplicate of key present in binaryData";
            errors.push(FieldError::invalid(format!("data[{key}]"), &json!(key), why));
        }
    }
    errors
}

fn key_errors(object: &Value, fields: &[&str]) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for field in fields {
        for key in object[*field].as_object().into_iter().flat_map(|map| map.keys()) {
            let valid =
                !key.is_empty() && key.bytes().all(|c| c.is_ascii_alphanumeric() || b"-_.".contains(&c));
            let why = match key.as_str() {
                _ if !valid => KEY.to_owned(),
                "." => "must not be '.'".to_owned(),
                ".." => "must not be '..'".to_owned(),
                _ if key.starts_with("..") => "must not start with '..'".to_owned(),
                _ if key.len() > 253 => "must be no more than 253 characters".to_owned(),
                _ => continue,
            };
            errors.push(FieldError::invalid(format!("{field}[{key}]"), &json!(key), &why));
        }
    }
    errors
}

/// What is wrong with a Secret: each type needs its keys.
pub(super) fn secret_errors(object: &Value) -> Vec<FieldError> {
    let mut errors = key_errors(object, &["data"]);
    let data = &object["data"];
    let mut require = |key: &str| {
        if data[key].is_null() {
            errors.push(FieldError::required(format!("data[{key}]"), ""));
        }
    };
    match text(&object["type"]) {
        "kubernetes.io/tls" => ["tls.crt", "tls.key"].into_iter().for_each(require),
        "kubernetes.io/basic-auth" if data["username"].is_null() && data["password"].is_null() => {
            ["username", "password"].into_iter().for_each(require);
        }
        "kubernetes.io/ssh-auth" => require("ssh-privatekey"),
        "kubernetes.io/dockerconfigjson" => errors.extend(docker_errors(data, ".dockerconfigjson")),
        "kubernetes.io/dockercfg" => errors.extend(docker_errors(data, ".dockercfg")),
        "kubernetes.io/service-account-token" => {
            let name = "kubernetes.io/service-account.name";
            if text(&object["metadata"]["annotations"][name]).is_empty() {
                errors.push(FieldError::required(format!("metadata.annotations[{name}]"), ""));
            }
        }
        _ => {}
    }
    errors
}

fn docker_errors(data: &Value, key: &str) -> Option<FieldError> {
    let at = format!("data[{key}]");
    let Some(content) = data[key].as_str() else { return Some(FieldError::required(at, "")) };
    let content = base64::engine::general_purpose::STANDARD.decode(content).unwrap_or_default();
    let why = Document::from_json(&content).err()?;
    Some(FieldError::invalid(at, &json!("<secret contents redacted>"), &why))
}
