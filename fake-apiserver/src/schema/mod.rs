//! What a kind's values look like: structural schemas of custom resources, and how values merge.
//!
//! Pure. [`MergeType`] is the part of a schema that server-side apply and strategic merge need; built-in
//! kinds take it from a table ([`builtin_merge_type`]), custom resources from their schema
//! ([`StructuralSchema::merge_type`]).

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

/// One problem with one field of an object, in the terms of the API server
/// (`k8s.io/apimachinery/pkg/util/validation/field`, `Error`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldError {
    /// Path as the server writes it, for instance `spec.containers[0].name`.
    pub path: String,
    /// The cause's `reason`, for instance `FieldValueInvalid`.
    pub reason: FieldErrorReason,
    /// The cause's `message`, for instance `Invalid value: "x": must be …`.
    pub message: String,
}

/// The kinds of [`FieldError`], named as in `metav1.CauseType`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum FieldErrorReason {
    FieldValueNotFound,
    FieldValueRequired,
    FieldValueDuplicate,
    FieldValueInvalid,
    FieldValueNotSupported,
    FieldValueForbidden,
    FieldValueTooLong,
    FieldValueTooMany,
    FieldValueTypeInvalid,
    InternalError,
}

/// How one value merges with another of the same field.
#[derive(Clone, Debug, PartialEq)]
pub enum MergeType {
    /// No facts: objects merge by field, lists and scalars are replaced as a whole.
    Deduced,
    /// Replaced as a whole, whatever it is.
    Atomic,
    /// An object with known fields; `rest` describes all others.
    Object {
        /// Fields with facts of their own.
        fields: BTreeMap<String, Arc<MergeType>>,
        /// Every other field.
        rest: Arc<MergeType>,
    },
    /// A list of distinct scalars.
    Set,
    /// A list of objects that are told apart by `keys`.
    ListMap {
        /// The key fields, with the default of an absent one.
        keys: Vec<ListKey>,
        /// How one item merges.
        item: Arc<MergeType>,
    },
}

/// One key field of a [`MergeType::ListMap`].
#[derive(Clone, Debug, PartialEq)]
pub struct ListKey {
    /// Field name, for instance `containerPort`.
    pub name: String,
    /// Value that an item without the field has, for instance `TCP` for `protocol`.
    pub default: Option<Value>,
}

/// The merge facts of a built-in kind; [`MergeType::Deduced`] when nothing special is known.
pub fn builtin_merge_type(_group: &str, _kind: &str) -> Arc<MergeType> {
    Arc::new(MergeType::Deduced)
}

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
