//! What must be read from the target before planning, so that planning itself reads nothing.

use crate::api::{Component, ComponentKind};
use crate::manifest::Release;
use crate::transform::PING_SOURCE_ADAPTER;

/// Name of the Deployment in the target namespace whose live state decides what is wanted
/// ([`Facts::pingsource_adapter`](super::Facts::pingsource_adapter)), if the release has it.
pub fn pingsource_adapter(component: &Component, release: &Release) -> Option<&'static str> {
    let mut objects = release.parts.iter().flat_map(|part| part.objects.iter());
    let has_adapter = component.kind == ComponentKind::Eventing
        && objects.any(|object| object.is("apps", "Deployment") && object.name() == PING_SOURCE_ADAPTER);
    has_adapter.then_some(PING_SOURCE_ADAPTER)
}
