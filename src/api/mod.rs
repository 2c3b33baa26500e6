//! The custom resources as the operator reads and writes them.
//!
//! Parsing is strict about `spec` (an error names the field) and forgiving about everything else: a status written by
//! another version of the operator never keeps a resource from being reconciled. Nothing here talks to a cluster.

pub mod cluster_profile;
mod common;
mod component;
pub mod condition;
pub mod crd;

mod eventing;
mod kind;
pub mod message;
mod reason;
mod serving;
mod status;

pub use common::{
    ClusterProfileRef, CommonSpec, ConfigName, ContainerEnv, ContainerProbe, ContainerResources,
    HighAvailability, ManifestUrl, NamespaceOverride, PodDisruptionBudgetOverride, Registry, SecretName,
    ServiceOverride, WorkloadOverride,
};
pub use component::{Component, ComponentError, Spec, SpecKind};
pub use condition::{Condition, ConditionStatus, ConditionType, Conditions};
pub use eventing::{EventSource, EventingSpec, Sources};
pub use kind::{ComponentKind, GROUP, VERSION};
pub use reason::Reason;
pub use serving::{
    CustomCerts, Gateway, Ingress, IngressPlugin, Istio, Kourier, Plugin, Security, SecurityGuard, Server,
    ServerPort, ServerTls, ServingSpec,
};
pub use status::Status;
