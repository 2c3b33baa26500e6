//! The built-in types: one table of facts, and what follows from it.
//!
//! - [`table`]: the facts, read from `types.txt`;
//! - [`merge`]: how values merge;
//! - [`decode`]: what of a document an object has, and what is wrong with it;
//! - [`settle`]: what of an object is written;
//! - [`print`]: how messages show an object;
//! - [`quantity`], [`time`]: scalars with a canonical form.

pub(crate) mod decode;
mod merge;
pub(crate) mod print;
pub(crate) mod quantity;
pub(crate) mod settle;
pub(crate) mod table;
#[cfg(test)]
mod tests;
pub(crate) mod time;

pub(crate) use merge::merge_type;
pub use merge::{builtin_merge_type, object_meta_merge_type};
