//! The seams in production: sockets, processes, files.
//!
//! Nothing here decides anything about Knative; the simulation replaces all of it.

pub mod connect;
pub mod exec;
pub mod fetch;
pub mod hub;
pub mod monitor;
