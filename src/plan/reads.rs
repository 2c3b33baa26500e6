//! What must be read from the target before planning, so that planning itself reads nothing.

use crate::api::{Component, ComponentKind};
use crate::manifest::Release;
use crate::transform::{PING_SOURCE_ADAPTER, is_aggregated};

/// Objects whose live state decides what is wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reads {
    /// Names of aggregated ClusterRoles, for [`Facts::aggregated_rules`](super::Facts::aggregated_rules).
    pub aggregated_roles: Vec<String>,
    /// Name of the Deployment for [`Facts::pingsource_adapter`](super::Facts::pingsource_adapter), in the target namespace.
    pub pingsource_adapter: Option<&'static str>,
}

/// The reads for a release.
pub fn needed_reads(component: &Component, release: &Release) -> Reads {
    let objects = || release.parts.iter().flat_map(|part| part.objects.iter());
    let mut aggregated_roles: Vec<_> =
        objects().filter(|object| is_aggregated(object)).map(|role| role.name().to_owned()).collect();
    aggregated_roles.sort_unstable();
    aggregated_roles.dedup();
    let has_adapter = component.kind == ComponentKind::Eventing
        && objects().any(|object| object.is("apps", "Deployment") && object.name() == PING_SOURCE_ADAPTER);
    Reads { aggregated_roles, pingsource_adapter: has_adapter.then_some(PING_SOURCE_ADAPTER) }
}
