//! `status` as the CRDs have it.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::Conditions;

/// What the operator says about a custom resource. Empty fields are not written.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// `metadata.generation` that the rest of the status speaks of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Sorted by type.
    #[serde(skip_serializing_if = "Conditions::is_empty")]
    pub conditions: Conditions,
    /// Release that is completely installed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Where the installed objects were read from; an entry may be a comma-joined list.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub manifests: Vec<String>,
    /// Facts that the operator must not forget: inventory, bound target.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}

impl Status {
    /// Reads whatever is usable; anything of another shape counts as absent.
    pub fn from_value(value: &Value) -> Self {
        let entries = |field: &str| value.get(field).and_then(Value::as_array).into_iter().flatten();
        Self {
            observed_generation: value.get("observedGeneration").and_then(Value::as_i64),
            conditions: entries("conditions").collect(),
            version: value.get("version").and_then(Value::as_str).filter(|v| !v.is_empty()).map(Into::into),
            manifests: entries("manifests").filter_map(Value::as_str).map(Into::into).collect(),
            annotations: value
                .get("annotations")
                .and_then(Value::as_object)
                .into_iter()
                .flatten()
                .filter_map(|(key, text)| Some((key.clone(), text.as_str()?.to_owned())))
                .collect(),
        }
    }
}
