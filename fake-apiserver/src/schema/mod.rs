//! What a kind's values look like: types of built-in kinds, structural schemas of custom resources, and how values merge.
//!
//! Pure. [`MergeType`] is the part of a schema that server-side apply and strategic merge need; built-in
//! kinds take it from a table ([`builtin_merge_type`]), custom resources from their schema
//! ([`StructuralSchema::merge_type`]).

pub(crate) mod builtin;
#[cfg(test)]
pub(crate) mod cases;
pub(crate) mod document;
mod field_error;
mod merge_type;
mod structural;

pub use builtin::{builtin_merge_type, object_meta_merge_type};
pub use field_error::{FieldError, FieldErrorReason};
pub use merge_type::{ListKey, MergeType};
pub use structural::{Review, StructuralSchema};
