//! Blocked deletions: what cannot be removed says why.
//!
//! A custom resource that is still there minutes after its deletion, while nobody does anything, carries the condition
//! `DeletionBlocked`, so that people find out what it waits for.

use super::{Oracle, Scene};

/// After this time without any change every resource has been looked at, longest backoff included.
const CALM_MILLIS: u64 = 200_000;

/// See the module.
#[derive(Debug)]
pub(super) struct Blocked;

impl Oracle for Blocked {
    fn name(&self) -> &'static str {
        "blocked"
    }

    fn tick(&mut self, scene: &Scene<'_>) -> Option<String> {
        // Without its hub the operator can say nothing.
        let mute = scene.facts.is_unruly("operator") || scene.facts.is_unruly("hub");
        if mute || scene.now.saturating_sub(scene.facts.last_touched()) < CALM_MILLIS {
            return None;
        }
        scene.view.components.iter().find_map(|component| {
            let waits =
                component.value["metadata"]["deletionTimestamp"].is_string() && component.has_finalizer();
            let paused = component.annotation("operator.knative.dev/paused") == Some("true");
            let says = component.condition("DeletionBlocked") == "True";
            (waits && !paused && !says)
                .then(|| format!("{component} is being deleted, and does not say what it waits for"))
        })
    }
}
