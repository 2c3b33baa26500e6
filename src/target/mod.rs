//! Where a custom resource's objects go: the local cluster, or the spoke that its ClusterProfile describes.
//!
//! - [`access`]: provider file and profile → connection data and plugin (pure);
//! - [`credentials`]: the seam to plugins, and the cache above it;
//! - [`breaker`]: a cluster that does not answer is left alone for a while;
//! - [`wires`]: transports to an endpoint, one for each client certificate;
//! - [`grant`]: who may use which profile (pure);
//! - [`stack`]: the one client stack, with the transport as a seam;
//! - [`cluster`], [`failure`], [`mapping`]: the verbs the reconciler uses, how they fail, and the kinds a cluster serves;
//! - [`resolve`]: all of these together.

pub mod access;
pub mod breaker;
pub mod cluster;
pub mod credentials;
pub mod endpoint;
pub mod failure;
pub mod grant;
pub mod mapping;
pub mod resolve;
pub mod stack;
pub mod wires;
