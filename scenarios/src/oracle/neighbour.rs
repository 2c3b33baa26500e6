//! Neighbours: what happens to other spokes costs a healthy one nothing.
//!
//! Nobody ever does anything to the spoke `calm`. A custom resource for it is Ready within twice the time of an
//! undisturbed install unless it is paused, as long as the hub and the operator itself are left alone, and have been for the longest time
//! after which they try again.

use std::collections::BTreeMap;

use super::{Oracle, Scene};
use crate::search::cast::CALM;

/// After trouble with the hub, the longest backoff and then some.
const AFTERMATH_MILLIS: u64 = 150_000;

/// See the module.
#[derive(Debug)]
pub(super) struct Neighbour {
    usual_millis: u64,
    /// Since when a resource waits for which generation.
    waiting: BTreeMap<String, (i64, u64)>,
}

impl Neighbour {
    /// `usual_millis` is what an undisturbed install takes.
    pub(super) fn new(usual_millis: u64) -> Self {
        Self { usual_millis, waiting: BTreeMap::new() }
    }
}

impl Oracle for Neighbour {
    fn name(&self) -> &'static str {
        "neighbour"
    }

    fn tick(&mut self, scene: &Scene<'_>) -> Option<String> {
        let disturbed = ["hub", "operator"].iter().any(|what| scene.facts.is_unruly(what));
        let since =
            ["hub", "operator"].iter().map(|what| scene.facts.touched(what)).max().unwrap_or_default();
        let mut late = None;
        for component in scene.view.components.iter().filter(|c| c.profile.as_deref() == Some(CALM)) {
            let generation = component.value["metadata"]["generation"].as_i64().unwrap_or_default();
            let ready = component.condition("Ready") == "True" && component.is_observed();
            let deleting = component.value["metadata"]["deletionTimestamp"].is_string();
            let paused = component.annotation("operator.knative.dev/paused") == Some("true");
            if ready || deleting || paused || disturbed {
                self.waiting.remove(component.uid());
                continue;
            }
            let began = self.waiting.entry(component.uid().into()).or_insert((generation, scene.now));
            if began.0 != generation {
                *began = (generation, scene.now);
            }
            if since > 0 && began.1 < since + AFTERMATH_MILLIS {
                continue;
            }
            let waited = scene.now - began.1;
            if waited > 2 * self.usual_millis {
                late = Some(format!(
                    "{component} is not Ready after {} s; {} s are usual",
                    waited / 1000,
                    self.usual_millis / 1000
                ));
            }
        }
        late
    }
}
