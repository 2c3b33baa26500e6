//! One untyped Kubernetes object.

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::key::{GroupKind, ObjectKey};

/// An object as a JSON tree. It is always an object with `apiVersion`, `kind` and a `metadata` object;
/// whether it has a name is up to the reader ([`Object::name`] is empty for a bare `generateName`).
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Object(Value);

/// Why a JSON value is not a Kubernetes object.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ObjectError {
    /// Not a map at the top.
    #[error("not an object but {0}")]
    NotAnObject(&'static str),
    /// `apiVersion` or `kind` is absent or no string.
    #[error("{0} is missing or not a string")]
    Missing(&'static str),
    /// `metadata` is no map.
    #[error("metadata is not an object")]
    Metadata,
}

impl TryFrom<Value> for Object {
    type Error = ObjectError;

    fn try_from(mut value: Value) -> Result<Self, ObjectError> {
        let kind_of_value = match &value {
            Value::Object(_) => None,
            Value::Null => Some("null"),
            Value::Bool(_) => Some("a boolean"),
            Value::Number(_) => Some("a number"),
            Value::String(_) => Some("a string"),
            Value::Array(_) => Some("a list"),
        };
        if let Some(found) = kind_of_value {
            return Err(ObjectError::NotAnObject(found));
        }
        for field in ["apiVersion", "kind"] {
            if value[field].as_str().is_none_or(str::is_empty) {
                return Err(ObjectError::Missing(field));
            }
        }
        match &mut value["metadata"] {
            Value::Object(_) => {}
            absent @ Value::Null => *absent = json!({}),
            _ => return Err(ObjectError::Metadata),
        }
        Ok(Self(value))
    }
}

impl Object {
    /// `apiVersion`, for instance `apps/v1`.
    pub fn api_version(&self) -> &str {
        self.0["apiVersion"].as_str().unwrap_or_default()
    }

    /// API group; empty for the core group.
    pub fn group(&self) -> &str {
        self.api_version().rsplit_once('/').map_or("", |(group, _)| group)
    }

    /// Kind.
    pub fn kind(&self) -> &str {
        self.0["kind"].as_str().unwrap_or_default()
    }

    /// Whether this is the given kind of the given group.
    pub fn is(&self, group: &str, kind: &str) -> bool {
        self.kind() == kind && self.group() == group
    }

    /// Group and kind.
    pub fn group_kind(&self) -> GroupKind {
        GroupKind::new(self.group(), self.kind())
    }

    /// `metadata.name`; empty when absent.
    pub fn name(&self) -> &str {
        self.0["metadata"]["name"].as_str().unwrap_or_default()
    }

    /// `metadata.generateName`; empty when absent.
    pub fn generate_name(&self) -> &str {
        self.0["metadata"]["generateName"].as_str().unwrap_or_default()
    }

    /// `metadata.namespace`; empty when absent.
    pub fn namespace(&self) -> &str {
        self.0["metadata"]["namespace"].as_str().unwrap_or_default()
    }

    /// `metadata.uid`; empty when absent.
    pub fn uid(&self) -> &str {
        self.0["metadata"]["uid"].as_str().unwrap_or_default()
    }

    /// Identity.
    pub fn key(&self) -> ObjectKey {
        ObjectKey { kind: self.group_kind(), namespace: self.namespace().into(), name: self.name().into() }
    }

    /// A label's value.
    pub fn label(&self, key: &str) -> Option<&str> {
        self.0["metadata"]["labels"][key].as_str()
    }

    /// An annotation's value.
    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.0["metadata"]["annotations"][key].as_str()
    }

    /// Sets a label.
    pub fn set_label(&mut self, key: &str, value: &str) {
        self.metadata_map("labels").insert(key.into(), value.into());
    }

    /// Sets an annotation.
    pub fn set_annotation(&mut self, key: &str, value: &str) {
        self.metadata_map("annotations").insert(key.into(), value.into());
    }

    /// `metadata`.
    pub fn metadata_mut(&mut self) -> &mut Map<String, Value> {
        child_map(&mut self.0, "metadata")
    }

    fn metadata_map(&mut self, field: &str) -> &mut Map<String, Value> {
        let metadata = &mut self.0["metadata"];
        child_map(metadata, field)
    }

    /// The tree.
    pub fn value(&self) -> &Value {
        &self.0
    }

    /// The tree, to be edited below the identity; edits must keep `apiVersion`, `kind` and `metadata`.
    pub fn value_mut(&mut self) -> &mut Value {
        &mut self.0
    }

    /// The tree, by value.
    pub fn into_value(self) -> Value {
        self.0
    }
}

/// The map at `parent[field]`, made empty first when it is absent or something else.
fn child_map<'a>(parent: &'a mut Value, field: &str) -> &'a mut Map<String, Value> {
    if !parent.is_object() {
        *parent = json!({});
    }
    let child = &mut parent[field];
    if !child.is_object() {
        *child = json!({});
    }
    match child {
        Value::Object(map) => map,
        _ => unreachable!("made an object above"),
    }
}
