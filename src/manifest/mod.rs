//! Release data: objects, their identities, and where they come from.

pub mod embedded;
mod key;
mod object;

pub use key::{GroupKind, ObjectKey};
pub use object::{Object, ObjectError};
