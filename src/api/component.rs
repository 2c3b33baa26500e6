//! One custom resource: what it asks for and what was last said about it.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::{CommonSpec, ComponentKind, EventingSpec, ServingSpec, Status};

/// A `KnativeServing` or `KnativeEventing`.
#[derive(Clone, Debug, PartialEq)]
pub struct Component {
    /// Which of the two.
    pub kind: ComponentKind,
    /// Its metadata.
    pub meta: ObjectMeta,
    /// What it asks for.
    pub spec: Spec,
    /// What the operator last wrote.
    pub status: Status,
}

/// The desired state: what both kinds share, and the rest.
#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    /// Fields of both kinds.
    pub common: CommonSpec,
    /// Fields of one kind.
    pub kind: SpecKind,
}

/// The fields that only one kind has.
#[derive(Clone, Debug, PartialEq)]
pub enum SpecKind {
    /// Of `KnativeServing`.
    Serving(Box<ServingSpec>),
    /// Of `KnativeEventing`.
    Eventing(EventingSpec),
}

/// Why a JSON value is no usable custom resource.
#[derive(Debug, thiserror::Error)]
pub enum ComponentError {
    /// Another kind or group.
    #[error("{api_version} {kind} is neither a KnativeServing nor a KnativeEventing of operator.knative.dev")]
    Foreign {
        /// `apiVersion` as found.
        api_version: String,
        /// `kind` as found.
        kind: String,
    },
    /// A field has the wrong shape.
    #[error("{kind} {name}: {path} is malformed")]
    Malformed {
        /// Which kind.
        kind: ComponentKind,
        /// `namespace/name`, as far as it could be read.
        name: String,
        /// JSON path of the field, for instance `spec.workloads[0].replicas`.
        path: String,
        /// What is wrong with it.
        #[source]
        cause: serde_json::Error,
    },
}

impl Component {
    /// Reads a custom resource. Unknown fields are ignored, JSON nulls count as absent.
    ///
    /// # Errors
    /// [`ComponentError`] for another kind and for a `metadata` or `spec` of the wrong shape; never for `status`.
    pub fn from_value(value: &Value) -> Result<Self, ComponentError> {
        let text = |field: &str| value.get(field).and_then(Value::as_str).unwrap_or_default();
        let foreign =
            || ComponentError::Foreign { api_version: text("apiVersion").into(), kind: text("kind").into() };
        let group = text("apiVersion").split_once('/').map_or("", |(group, _)| group);
        let kind = ComponentKind::from_kind(text("kind"))
            .filter(|kind| kind.group() == group)
            .ok_or_else(foreign)?;
        let read = Reader { kind, value };
        let meta = read.field("metadata")?;
        let common = read.field("spec")?;
        let specific = match kind {
            ComponentKind::Serving => SpecKind::Serving(Box::new(read.field("spec")?)),
            ComponentKind::Eventing => SpecKind::Eventing(read.field("spec")?),
        };
        let status = value.get("status").map(Status::from_value).unwrap_or_default();
        Ok(Self { kind, meta, spec: Spec { common, kind: specific }, status })
    }

    /// `metadata.name`; empty when absent.
    pub fn name(&self) -> &str {
        self.meta.name.as_deref().unwrap_or_default()
    }

    /// `metadata.namespace`; empty when absent.
    pub fn namespace(&self) -> &str {
        self.meta.namespace.as_deref().unwrap_or_default()
    }

    /// `metadata.uid`; empty when absent.
    pub fn uid(&self) -> &str {
        self.meta.uid.as_deref().unwrap_or_default()
    }

    /// An annotation's value.
    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.meta.annotations.as_ref()?.get(key).map(String::as_str)
    }

    /// Whether it is installed on another cluster.
    pub fn is_remote(&self) -> bool {
        self.spec.common.cluster_profile_ref.is_some()
    }

    /// The fields of `KnativeServing`, if it is one.
    pub fn serving(&self) -> Option<&ServingSpec> {
        match &self.spec.kind {
            SpecKind::Serving(spec) => Some(spec),
            SpecKind::Eventing(_) => None,
        }
    }

    /// The fields of `KnativeEventing`, if it is one.
    pub fn eventing(&self) -> Option<&EventingSpec> {
        match &self.spec.kind {
            SpecKind::Eventing(spec) => Some(spec),
            SpecKind::Serving(_) => None,
        }
    }
}

/// Reads top-level fields of one resource and words the errors.
struct Reader<'a> {
    kind: ComponentKind,
    value: &'a Value,
}

impl Reader<'_> {
    fn field<T: DeserializeOwned>(&self, field: &str) -> Result<T, ComponentError> {
        let found = match self.value.get(field) {
            None | Some(Value::Null) => Value::Object(Map::new()),
            Some(found) => without_nulls(found),
        };
        if !found.is_object() {
            // A struct could be read from a list too, field by field.
            let cause = serde::de::Error::custom("expected a map");
            return Err(self.malformed(field.into(), cause));
        }
        serde_path_to_error::deserialize(found).map_err(|error| {
            let below = match error.path().to_string() {
                path if path == "." => String::new(),
                path => format!(".{path}"),
            };
            self.malformed(format!("{field}{below}"), error.into_inner())
        })
    }

    fn malformed(&self, path: String, cause: serde_json::Error) -> ComponentError {
        ComponentError::Malformed { kind: self.kind, name: self.name(), path, cause }
    }

    fn name(&self) -> String {
        let part = |field| self.value.get("metadata").and_then(|m| m.get(field)).and_then(Value::as_str);
        format!("{}/{}", part("namespace").unwrap_or_default(), part("name").unwrap_or_default())
    }
}

/// The value without map entries that are null, at every depth: a null means "not given" in the Kubernetes API.
fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(map) => map
            .iter()
            .filter(|(_, entry)| !entry.is_null())
            .map(|(key, entry)| (key.clone(), without_nulls(entry)))
            .collect(),
        Value::Array(list) => list.iter().map(without_nulls).collect(),
        scalar => scalar.clone(),
    }
}

#[cfg(test)]
mod tests;
