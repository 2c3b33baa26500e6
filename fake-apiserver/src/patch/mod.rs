//! The patch types that are pure functions of (object, patch): JSON patch (RFC 6902), merge patch (RFC 7396)
//! and strategic merge patch.
//!
//! What comes out is not decoded, defaulted, pruned or validated: the caller does that, as for any other write.

mod json;
mod merge;
mod strategic;
#[cfg(test)]
mod tests;

pub use json::json;
pub use merge::merge;
pub(crate) use strategic::go_text;
pub use strategic::strategic;

/// Why a patch cannot be applied; the text is the server's message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatchError {
    /// The patch document itself cannot be read (400 BadRequest).
    #[error("{0}")]
    Malformed(String),
    /// The patch does not fit the object (422 Invalid).
    #[error("{0}")]
    Unprocessable(String),
    /// The patch has more operations than the server takes (413 RequestEntityTooLarge).
    #[error("{0}")]
    TooLarge(String),
    /// A strategic merge patch breaks the rules of its directives or lacks a merge key; the server answers such
    /// a patch with 500 and no reason.
    #[error("{0}")]
    Internal(String),
}
