//! The server on real sockets, each test on a port of its own: what clients see of TLS, HTTP, limits and the end.
//!
//! These tests wait for real sockets, never for a length of time.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

mod binary;
mod client;
mod compressed;
mod ending;
mod limits;
mod places;
mod protocols;
mod webhooks;
