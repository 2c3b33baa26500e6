//! How a released object becomes the object that is wanted: a list of small pure functions, applied in order.
//!
//! They edit the JSON tree in place, so that fields nobody here knows survive. A tree of an unexpected shape is left
//! alone, never an occasion to panic: the API server is the one to judge it. No function looks at another object.

mod broker;
mod canonical;
mod certs;
mod config;
mod guard;
mod ha;
mod image;
mod istio;
mod job;
mod kourier;
mod metadata;
mod min_version;
mod namespace;
mod pdb;
mod ping_source;
mod pods;
mod probe;
mod resources;
mod rules;
mod service;
mod sink_binding;
mod tls;
mod tree;
mod workload;

use crate::api::{Component, ComponentKind};
use crate::manifest::{Object, ParseError};
use crate::plan::{Facts, Scopes};

pub use config::contradiction;
pub(crate) use ha::PING_SOURCE_ADAPTER;
pub use tls::is_unwanted;
pub(crate) use workload::{autoscaler_of, matches as is_overridden};

/// What a transform may look at besides the object.
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// What the user asks for.
    pub component: &'a Component,
    /// What is known about the target.
    pub facts: &'a Facts,
    /// Resolved release.
    pub target_version: &'a str,
    /// Which kinds are namespaced.
    pub scopes: &'a Scopes<'a>,
}

/// Why an object cannot be made what the user asks for.
#[derive(Debug, thiserror::Error)]
pub enum TransformError {
    /// A field that is to be changed has another shape.
    #[error("{0} is not a map")]
    NotAMap(&'static str),
    /// Two exclusive fields of a disruption budget are given.
    #[error("both minAvailable and maxUnavailable are set for PodDisruptionBudget {0}")]
    BothBudgets(String),
    /// `spec.controller-custom-certs.type` is neither kind.
    #[error("unknown CustomCerts type: {0}")]
    UnknownCertsType(String),
    /// `spec.controller-custom-certs.name` is empty.
    #[error("the CustomCerts name for {0} is required")]
    UnnamedCerts(String),
    /// A type that the Service `kourier` cannot have.
    #[error("unsupported service type \"{0}\"")]
    UnsupportedServiceType(String),
    /// No type of a Service.
    #[error("unknown service type \"{0}\"")]
    UnknownServiceType(String),
    /// An address for a Service that takes none.
    #[error("cannot configure LoadBalancerIP for service type \"{0}\"")]
    NoLoadBalancer(String),
    /// Node ports for a Service that takes none.
    #[error("cannot configure HTTP(S)Port for service type \"{0}\"")]
    NoNodePorts(String),
    /// No TLS mode of Istio.
    #[error(
        "failed to convert servers override for gateway \"{gateway}\": unknown TLS mode \"{mode}\": must be one of PASSTHROUGH, SIMPLE, MUTUAL, AUTO_PASSTHROUGH, ISTIO_MUTUAL"
    )]
    UnknownTlsMode {
        /// Name of the gateway.
        gateway: String,
        /// What was given.
        mode: String,
    },
    /// The ConfigMap with the broker defaults has none.
    #[error("ConfigMap is missing (or empty) key: \"default-br-config\"")]
    NoBrokerDefaults,
    /// The broker defaults cannot be read.
    #[error("the broker defaults in key \"default-br-config\" are malformed")]
    MalformedBrokerDefaults(#[source] Option<ParseError>),
}

/// One step.
pub type Transform = fn(&Context<'_>, &mut Object) -> Result<(), TransformError>;

/// The steps for a component, in order. The order matters where two touch the same field: user overrides come after
/// everything general and before what a single field of the spec is for.
pub const fn steps(kind: ComponentKind) -> &'static [Transform] {
    match kind {
        ComponentKind::Serving => &[
            namespace::inject,
            namespace::decorate,
            ha::scale,
            image::rewrite,
            job::name,
            config::set_entries,
            min_version::set,
            resources::set,
            workload::set,
            service::set,
            pdb::set,
            rules::leave_aggregated,
            certs::mount,
            istio::set_gateway,
            kourier::set,
            istio::place_service,
            guard::allow_pod_info,
            canonical::write,
            metadata::own,
            metadata::label,
        ],
        ComponentKind::Eventing => &[
            namespace::inject,
            namespace::decorate,
            ha::scale,
            image::rewrite,
            job::name,
            config::set_entries,
            min_version::set,
            resources::set,
            workload::set,
            service::set,
            pdb::set,
            rules::leave_aggregated,
            broker::set_class,
            sink_binding::set_mode,
            ping_source::keep_live,
            canonical::write,
            metadata::own,
            metadata::label,
        ],
    }
}

#[cfg(test)]
mod tests;
