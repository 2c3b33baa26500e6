//! Objects of others: what the operator did not make stays as it is.
//!
//! The world puts objects of others beside and among the installations, also into their namespaces. None of them is
//! ever changed or deleted, unless a user deletes the namespace it is in or replaces the cluster. Nor does the operator
//! take a finalizer of somebody else off anything, be it its own object.

use std::sync::Arc;

use serde_json::Value;

use super::{Oracle, Scene};
use crate::wire::Seen;

/// See the module.
#[derive(Debug)]
pub(super) struct Foreign;

impl Foreign {
    fn check(site: &str, cluster: &fake_apiserver::Snapshot, scene: &Scene<'_>) -> Option<String> {
        scene.facts.foreign_on(site).into_iter().find_map(|((group, kind, namespace, name), wanted)| {
            let live = cluster.get(&group, &kind, &namespace, &name);
            let fate = fate(live.as_ref(), &wanted)?;
            Some(format!("{kind} {namespace}/{name} on {site}, which is somebody else's, {fate}"))
        })
    }
}

/// What became of an object, if anything. The marks that Kubernetes itself leaves in metadata do not count.
fn fate(live: Option<&Arc<Value>>, wanted: &Value) -> Option<&'static str> {
    let Some(live) = live else { return Some("is gone") };
    let metadata = &live["metadata"];
    let same = |field: &str| metadata[field] == wanted["metadata"][field];
    if metadata["deletionTimestamp"].is_string() {
        return Some("is being deleted");
    }
    let intact = same("uid")
        && same("labels")
        && same("annotations")
        && same("ownerReferences")
        && live["data"] == wanted["data"]
        && live["rules"] == wanted["rules"];
    (!intact).then_some("was changed")
}

/// Whether a change took off a finalizer that is neither the operator's nor the cluster's own.
fn taken_off(seen: &Seen<'_>) -> Option<String> {
    let others = |object: &Value| -> Vec<String> {
        let all = object["metadata"]["finalizers"].as_array().into_iter().flatten();
        let all = all.filter_map(Value::as_str).filter(|name| !name.ends_with("operator.knative.dev"));
        all.filter(|name| !matches!(*name, "foregroundDeletion" | "orphan")).map(str::to_owned).collect()
    };
    let before = others(&*seen.object(&seen.before)?);
    let after = seen.object(&seen.after).map(|after| others(&after)).unwrap_or_default();
    let lost = before.into_iter().find(|name| !after.contains(name))?;
    Some(format!(
        "{} {}{} takes off finalizer {lost}",
        seen.letter.parts.method,
        seen.site,
        seen.letter.path()
    ))
}

impl Oracle for Foreign {
    fn name(&self) -> &'static str {
        "foreign"
    }

    fn seen(&mut self, seen: &Seen<'_>, scene: &Scene<'_>) -> Option<String> {
        if !seen.took_effect() || !seen.letter.is_write() {
            return None;
        }
        taken_off(seen).or_else(|| Self::check(seen.site, &seen.after, scene))
    }

    fn tick(&mut self, scene: &Scene<'_>) -> Option<String> {
        scene.clusters.values().find_map(|cluster| Self::check(&cluster.site, &cluster.snapshot, scene))
    }

    fn end(&mut self, scene: &Scene<'_>) -> Option<String> {
        self.tick(scene)
    }
}
