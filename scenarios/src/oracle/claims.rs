//! Claims: conditions say what the clusters show.
//!
//! A custom resource that becomes Ready for its current generation has, on the cluster it is bound to, members among
//! which every Deployment has rolled out. When nobody has done anything for some minutes, a Ready resource has a healthy
//! profile, a link that works and Deployments that are all available. A cluster that somebody has just worked on, or
//! that keeps changing, proves nothing about the moment at which the operator looked; but Ready never goes with
//! another version than the one asked for. A resource that is being deleted claims nothing: clients take it for
//! terminating whatever its conditions say.

use std::collections::BTreeMap;

use serde_json::Value;

use super::member::{key_of, members};
use super::view::Component;
use super::{Oracle, Scene};
use crate::wire::Seen;

/// What was done within this time may be seen or not by a pass that ends now.
const RECENT_MILLIS: u64 = 45_000;
/// After this time without any change every resource has been looked at, longest backoff included.
const CALM_MILLIS: u64 = 200_000;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Claims {
    /// Who was Ready, for which generation.
    ready: BTreeMap<String, i64>,
}

/// Ready, for the specification that is there.
fn claims(component: &Component) -> bool {
    let deleting = component.value["metadata"]["deletionTimestamp"].is_string();
    component.condition("Ready") == "True" && component.is_observed() && !deleting
}

/// Ready with another version than the one asked for.
fn wrong_version(component: &Component) -> Option<String> {
    let (asked, said) = (&component.value["spec"]["version"], &component.value["status"]["version"]);
    (asked != said).then(|| format!("{component} is Ready with version {said}, and {asked} is asked for"))
}

/// What contradicts the claim on the cluster itself.
fn contradiction(component: &Component, scene: &Scene<'_>) -> Option<String> {
    let Some(target) = &component.record.target else {
        return Some(format!("{component} is Ready and bound to no cluster"));
    };
    let Some(cluster) = scene.by_uid(&target.cluster) else {
        return Some(format!("{component} is Ready on a cluster that is gone"));
    };
    let deployments: Vec<_> = members(&cluster.snapshot, &component.set)
        .into_iter()
        .filter(|object| object["kind"] == "Deployment")
        .collect();
    if deployments.is_empty() {
        return Some(format!("{component} is Ready, and no Deployment of it is on {}", cluster.site));
    }
    let late = deployments.iter().find(|deployment| !has_rolled_out(deployment))?;
    Some(format!("{component} is Ready, and {} on {} is not", key_of(late), cluster.site))
}

fn has_rolled_out(deployment: &Value) -> bool {
    let (status, metadata) = (&deployment["status"], &deployment["metadata"]);
    let conditions = status["conditions"].as_array();
    let available =
        conditions.into_iter().flatten().any(|c| c["type"] == "Available" && c["status"] == "True");
    available && status["observedGeneration"] == metadata["generation"]
}

impl Oracle for Claims {
    fn name(&self) -> &'static str {
        "claims"
    }

    fn begin(&mut self, scene: &Scene<'_>) {
        for component in scene.view.components.iter().filter(|component| claims(component)) {
            let generation = component.value["metadata"]["generation"].as_i64().unwrap_or_default();
            self.ready.insert(component.uid().into(), generation);
        }
    }

    fn seen(&mut self, seen: &Seen<'_>, scene: &Scene<'_>) -> Option<String> {
        if seen.info.subresource != "status" || seen.letter.address != crate::world::HUB {
            return None;
        }
        let mut found = None;
        for component in &scene.view.components {
            if !claims(component) {
                self.ready.remove(component.uid());
                continue;
            }
            let generation = component.value["metadata"]["generation"].as_i64().unwrap_or_default();
            let known = self.ready.insert(component.uid().into(), generation) == Some(generation);
            if known {
                continue;
            }
            let site = component.record.target.as_ref().and_then(|target| scene.by_uid(&target.cluster));
            let site = site.map(|cluster| cluster.site.as_str()).unwrap_or_default();
            found = found.or_else(|| wrong_version(component));
            let proves =
                scene.now - scene.facts.disturbed(site) > RECENT_MILLIS && !scene.facts.is_unruly(site);
            if proves && found.is_none() {
                found = contradiction(component, scene);
            }
        }
        found
    }

    fn tick(&mut self, scene: &Scene<'_>) -> Option<String> {
        // Without its hub the operator can say nothing.
        let mute = scene.facts.is_unruly("operator") || scene.facts.is_unruly("hub");
        if mute || scene.now - scene.facts.last_touched() < CALM_MILLIS {
            return None;
        }
        scene.view.components.iter().filter(|component| claims(component)).find_map(|component| {
            if component.annotation("operator.knative.dev/paused") == Some("true") {
                return None;
            }
            let Some(address) = scene.view.address_of(component) else {
                return Some(format!("{component} is Ready without a healthy profile"));
            };
            let site = scene.clusters.get(&address).map(|cluster| cluster.site.clone()).unwrap_or_default();
            if scene.facts.suffers(&site, "cut") {
                return Some(format!("{component} is Ready, and {site} cannot be reached"));
            }
            if scene.facts.is_unruly(&site) {
                return None;
            }
            contradiction(component, scene)
        })
    }

    fn end(&mut self, scene: &Scene<'_>) -> Option<String> {
        scene.view.components.iter().filter(|c| claims(c)).find_map(|c| contradiction(c, scene))
    }
}
