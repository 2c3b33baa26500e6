//! Carries out a plan on a cluster, and takes it back.
//!
//! - [`anchor`]: who owns what on a spoke;
//! - [`inventory`]: what is installed, as identities, written before it is;
//! - [`shape`]: whether a live object is as desired (pure);
//! - [`ready`]: whether a workload has rolled out (pure);
//! - [`observe`]: one list per kind;
//! - [`namespace`]: created with a mark, released only with it and when empty;
//! - [`ownership`]: claims of others on fields that are ours (pure);
//! - [`install`]: the phases of a plan, in order;
//! - [`prune`]: what is not wanted any more;
//! - [`uninstall`]: the way back.
//!
//! Nothing here knows about Knative or about conditions.

pub mod anchor;
pub mod install;
pub mod inventory;
pub mod namespace;
pub mod observe;
pub mod ownership;
pub mod prune;
pub mod ready;
pub mod shape;
pub mod uninstall;
