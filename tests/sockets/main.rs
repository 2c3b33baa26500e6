//! From a custom resource to its cluster over real sockets: TLS, proxies and plugins as processes, and what each of them
//! can do wrong. Every server has a port of its own; nothing waits for a length of time but the limit of a plugin that hangs.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

mod against;
mod bundles;
mod fleet;
mod identity;
mod monitor;
mod plugin;
mod proxy;
mod tls;
