//! Worlds of fake clusters in which the operator is watched at work.
//!
//! A [`world::World`] is one hub, its spokes, the wires between them and the operator, a credential plugin and files,
//! under one simulated clock and one seed. **The same seed gives the same trace, byte for byte.**
//!
//! - [`seed`], [`time`], [`runtime`]: where randomness, dates and threads come from;
//! - [`network`], [`issuer`], [`files`]: the operator's seams, in process;
//! - [`world`], [`story`]: setting up, acting, waiting, counting;
//! - [`wire`], [`purpose`], [`strike`]: what passes over the wires, who listens, what for, and faults at chosen
//!   requests;
//! - [`search`], [`oracle`]: random worlds, and what must never be seen in them;
//! - [`sweep`]: every request of a flow meets every fault;
//! - [`mutant`]: wrong operators, which the oracles must catch;
//! - [`trace`], [`meta`]: what happened, and that it happens again;
//! - [`case`]: the stories, one test each;
//! - [`fleet`]: what a large fleet costs;
//! - [`demo`]: the main story, for people to watch.

#![forbid(unsafe_code)]

pub mod case;
pub mod demo;
pub mod files;
pub mod fleet;
pub mod issuer;
pub mod meta;
pub mod mutant;
pub mod network;
pub mod oracle;
pub mod purpose;
pub mod runtime;
pub mod search;
pub mod seed;
pub mod story;
pub mod strike;
pub mod sweep;
pub mod time;
pub mod trace;
pub mod wire;
pub mod world;
