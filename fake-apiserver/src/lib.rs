//! An in-process, in-memory Kubernetes API server for tests.

#![forbid(unsafe_code)]

pub mod apply;
pub mod fault;
pub mod patch;
pub mod schema;
