//! Release data: objects, their identities, which release a resource gets, and the one reader of bundle files.

mod catalog;
pub mod directory;
pub mod embedded;
mod key;
mod object;
pub mod parse;
mod release;
pub mod version;

pub use catalog::{Catalog, Library, ManifestError, VERSION_LABEL};
pub use directory::Directory;
pub use embedded::Embedded;
pub use key::{GroupKind, ObjectKey};
pub use object::{Object, ObjectError};
pub use parse::{ParseError, parse_yaml};
pub use release::{Part, Release, Role, SourcePath};
