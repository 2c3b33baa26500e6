//! A cluster against a model of it that fits on two pages: random histories, run through the service in process, must
//! leave both in the same state.
//!
//! `shape` says how an object of a few numbered fields looks in each kind, `model` what becomes of the fields and of who
//! owns them, `history` what can happen, `bench` sends it. The other files are the properties. A failure is shrunk to the
//! shortest history that shows it; `PROPTEST_CASES=10000` looks longer.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops at what it does not expect")]

mod bench;
mod collecting;
mod history;
mod model;
mod paging;
mod shape;
mod watching;
mod writing;
