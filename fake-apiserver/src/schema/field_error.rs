//! Problems with fields of an object, as the server reports them.

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
