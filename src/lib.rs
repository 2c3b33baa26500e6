//! Installs, upgrades, keeps in shape and removes Knative on a fleet of clusters from one hub.
//!
//! ```text
//! watch events -> index -> queue -> reconcile(key)                           controller, index, queue
//!    -> resolve target: ClusterProfile -> endpoint + credentials -> cluster  target
//!    -> release: version -> parsed objects, shared                           manifest
//!    -> plan(component, release, facts) -> phases                            plan, transform   (pure)
//!    -> record, anchor, apply phase by phase, readiness, prune               apply
//!    -> status, Events, when to look again                                   reconcile
//! ```
//!
//! Four seams are injected and nothing is global: [`target::stack::Connector`], [`target::credentials::Credentials`],
//! [`clock::Clock`], [`source::Source`]. Production and simulation run the same code above them.

#![forbid(unsafe_code)]

pub mod api;
pub mod apply;
pub mod args;
pub mod clock;
pub mod command;
pub mod controller;
pub mod health;
pub mod index;
pub mod lead;
pub mod manifest;
pub mod metrics;
pub mod plan;
pub mod process;
pub mod queue;
pub mod rbac;
pub mod reconcile;
pub mod rollout;
pub mod run;
pub mod source;
pub mod target;
pub mod transform;
