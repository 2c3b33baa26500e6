//! Rest: where nothing changes, nothing is written.
//!
//! When everything has converged and nobody does anything, the operator sends no write to any cluster, not even one
//! without effect, but that its leader renews its Lease. Reads go on at their pace.

use super::{Oracle, Scene};
use crate::wire::Letter;

/// See the module.
#[derive(Debug)]
pub(super) struct Rest;

impl Oracle for Rest {
    fn name(&self) -> &'static str {
        "rest"
    }

    fn sent(&mut self, letter: &Letter, scene: &Scene<'_>) -> Option<String> {
        (scene.facts.is_resting() && letter.is_write() && !letter.is_about_lease()).then(|| {
            let what = letter.json()["status"].to_string();
            format!("{} {}{} at rest: {what}", letter.parts.method, letter.address, letter.path())
        })
    }
}
