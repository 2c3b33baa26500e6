//! Admission: what may refuse a write after it has been understood and before it is stored.

pub(crate) mod lifecycle;
pub(crate) mod webhook;
