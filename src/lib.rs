//! Installs, upgrades, keeps in shape and removes Knative on a fleet of clusters from one hub.

#![forbid(unsafe_code)]

pub mod api;
pub mod args;
pub mod command;
pub mod manifest;
pub mod plan;
pub mod source;
pub mod transform;
