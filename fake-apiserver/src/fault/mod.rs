//! Faults on the way to a server, on demand.
//!
//! A [`Link`] stands between one client and one server. Rules on it say which requests meet which fault, and how often;
//! [`Link::cut`] and [`Link::black_hole`] are partitions of the whole link, which established watches feel too. The
//! layer knows nothing of the server behind it, so it works in front of any HTTP service.

mod length;
mod link;
mod rule;

pub use link::{Body, FaultLayer, Faulty, Link};
pub use rule::{Action, Match, Rule, RuleId};

#[cfg(test)]
mod tests;
