//! What custom resources become, for people to review.
//!
//! Each file of `cases/` is a custom resource as a user writes it. Its first comment says what a reviewer should see,
//! what it is compared with, and what must hold: see [`Case`]. The `.snap` file beside it shows the effect of the
//! resource: the difference between its plan and the plan of the one it is compared with, or the whole plan.
//!
//! Everything comes from the embedded bundle and from `manifests/`; nothing here knows a particular case.

#![forbid(unsafe_code)]

mod case;
mod diff;
mod expectation;
mod outcome;
mod show;

pub use case::{Case, CaseError};
pub use expectation::{Expectation, Malformed, matches};
pub use outcome::{Outcome, Workbench};
pub use show::{difference, whole};
