//! The controllers of a cluster, as ordinary clients of storage.

pub(crate) mod crd;
