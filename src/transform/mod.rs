//! How a released object becomes the object that is wanted: a list of small pure functions, applied in order.

use crate::api::Component;
use crate::manifest::{Object, ObjectKey, Role};
use crate::plan::Facts;

/// What a transform may look at besides the object.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// What the user asks for.
    pub component: &'a Component,
    /// What is known about the target.
    pub facts: &'a Facts,
    /// Resolved release.
    pub target_version: &'a str,
}

/// Why an object cannot be made what the user asks for.
#[derive(Debug, thiserror::Error)]
pub enum TransformError {
    /// Placeholder of the first commit.
    #[error("cannot transform {key} of {role:?}")]
    Unsupported {
        /// The object.
        key: ObjectKey,
        /// Where it is from.
        role: Role,
    },
}

/// One step.
pub type Transform = fn(&Context<'_>, &mut Object) -> Result<(), TransformError>;
