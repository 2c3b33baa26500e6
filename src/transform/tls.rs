//! Eventing's certificates, which need cert-manager: installed only with transport encryption.

use crate::api::Component;
use crate::manifest::{Object, Role};

/// API groups of cert-manager.
const GROUPS: [&str; 2] = ["cert-manager.io", "trust.cert-manager.io"];

/// Whether the object is a certificate of an Eventing release that does not use any. Certificates that the user adds
/// are the user's.
pub fn is_unwanted(component: &Component, role: Role, object: &Object) -> bool {
    component.eventing().is_some()
        && role != Role::Additional
        && GROUPS.contains(&object.group())
        && !is_encrypted(component)
}

/// Whether the user's `config-features` asks for encryption. Misspelt values count as no.
fn is_encrypted(component: &Component) -> bool {
    let features = component.spec.common.config_of("config-features");
    let mode = features.and_then(|features| features.get("transport-encryption"));
    mode.is_some_and(|mode| mode.eq_ignore_ascii_case("permissive") || mode.eq_ignore_ascii_case("strict"))
}
