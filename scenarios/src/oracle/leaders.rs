//! Two leaders: a replica writes only while the Lease names it.
//!
//! Several replicas may run; whatever is cut, stalled or lost, none sends a write to any cluster while the Lease on the
//! hub has another holder. Asking for the Lease itself is free. Where no Lease is there, nobody is held to it.

use super::{Oracle, Scene};
use crate::wire::Letter;
use crate::world::{HUB, LEASE, replica_name};

/// See the module.
#[derive(Debug)]
pub(super) struct Leaders;

impl Oracle for Leaders {
    fn name(&self) -> &'static str {
        "leaders"
    }

    fn sent(&mut self, letter: &Letter, scene: &Scene<'_>) -> Option<String> {
        if !letter.is_write() || letter.is_about_lease() {
            return None;
        }
        let hub = scene.clusters.get(HUB)?;
        let lease = hub.snapshot.find("leases.coordination.k8s.io", LEASE, LEASE)?;
        let holder = lease["spec"]["holderIdentity"].as_str().unwrap_or_default();
        let sender = replica_name(letter.replica);
        (holder != sender).then(|| {
            let (method, path) = (&letter.parts.method, letter.path());
            format!("{sender} sends {method} {}{path} while the Lease is held by {holder:?}", letter.address)
        })
    }
}
