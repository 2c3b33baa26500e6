//! Structural schemas.

use std::sync::Arc;

use serde_json::Value;

use super::{FieldError, MergeType};

/// The schema of one version of a custom resource
/// (structural schema, `apiextensions.k8s.io/v1` `openAPIV3Schema`).
#[derive(Clone, Debug)]
pub struct StructuralSchema {}

impl StructuralSchema {
    /// Reads an `openAPIV3Schema`.
    ///
    /// # Errors
    /// Every place at which the schema is not structural; paths are relative to `base`
    /// (`spec.versions[0].schema.openAPIV3Schema` for instance).
    pub fn from_openapi(_schema: &Value, _base: &str) -> Result<Self, Vec<FieldError>> {
        Ok(Self {})
    }

    /// Removes fields the schema does not know and returns their paths, as the server names them in warnings.
    pub fn prune(&self, _object: &mut Value) -> Vec<String> {
        Vec::new()
    }

    /// Fills in defaults.
    pub fn default(&self, _object: &mut Value) {}

    /// Checks types and value rules of everything below the root (metadata is not checked here).
    pub fn validate(&self, _object: &Value) -> Vec<FieldError> {
        Vec::new()
    }

    /// What server-side apply needs of this schema.
    pub fn merge_type(&self) -> Arc<MergeType> {
        Arc::new(MergeType::Deduced)
    }
}
