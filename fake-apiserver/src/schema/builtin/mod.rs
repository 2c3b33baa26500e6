//! The built-in types: one table of facts, and what follows from it.
//!
//! - [`table`]: the facts, read from `types.txt`;
//! - [`merge`]: how values merge.

mod merge;
pub(crate) mod table;
#[cfg(test)]
mod tests;

pub use merge::{builtin_merge_type, object_meta_merge_type};
