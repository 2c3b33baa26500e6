//! Isolation: nothing is written to a cluster unless a custom resource leads there.
//!
//! A member of an installation may be written where its custom resource leads: to the cluster of its profile as long as
//! the profile is there, healthy and the one it was installed through; on deletion only to the very cluster it was
//! installed to; to the hub if it has no profile; nowhere while it is paused. Namespaces and anchors count as members.
//! On the hub the custom resources themselves and Events are written too. What was under way when that changed may
//! still arrive, for as long as one pass takes.

use std::collections::BTreeMap;

use serde_json::Value;

use super::member::{anchored_set, key_of, set_of};
use super::view::{Component, GROUP};
use super::{Oracle, Scene};
use crate::wire::Seen;

/// How long a pass that began before a change may go on writing.
const PASS_MILLIS_MAX: u64 = 45_000;

const CREATED_FOR: &str = "operator.knative.dev/created-for";

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Isolation {
    /// When the resource of a set last led to a cluster.
    led: BTreeMap<(String, String), u64>,
    /// Sets by UID of their custom resource.
    sets: BTreeMap<String, String>,
}

impl Isolation {
    fn note(&mut self, scene: &Scene<'_>) {
        for component in &scene.view.components {
            self.sets.insert(component.uid().into(), component.set.clone());
            if let Some(site) = leads_to(component, scene) {
                self.led.insert((component.set.clone(), site), scene.now);
            }
        }
    }

    fn led_to(&self, component: &Component, site: &str) -> bool {
        self.led.contains_key(&(component.set.clone(), site.to_owned()))
    }

    fn judge(&self, seen: &Seen<'_>, object: &Value, scene: &Scene<'_>) -> Option<String> {
        let what = || format!("{} {}/{}", seen.resource(), seen.info.namespace, seen.name());
        let created_for = object["metadata"]["annotations"][CREATED_FOR].as_str();
        let set = set_of(object).or(anchored_set(object)).map(str::to_owned);
        let set = set.or_else(|| self.sets.get(created_for?).cloned());
        // Somebody may have taken its label off; the record of its resource still names it.
        let set = set.or_else(|| {
            let key = key_of(object);
            let mut all = scene.view.components.iter();
            all.find(|c| c.record.inventory.objects.contains_key(&key) && self.led_to(c, seen.site))
                .map(|component| component.set.clone())
        });
        let Some(set) = set else {
            return Some(format!("{} on {}, which is nobody's", what(), seen.site));
        };
        let last = self.led.get(&(set.clone(), seen.site.to_owned()));
        let owner = scene.view.of_set(&set).map_or_else(|| set.clone(), ToString::to_string);
        match last {
            None => Some(format!("{} on {}, where {owner} never led", what(), seen.site)),
            Some(last) if scene.now - last > PASS_MILLIS_MAX => {
                let ago = (scene.now - last) / 1000;
                Some(format!("{} on {}, where {owner} last led {ago} s ago", what(), seen.site))
            }
            Some(_) => None,
        }
    }
}

/// Where the objects of a resource may be written now.
fn leads_to(component: &Component, scene: &Scene<'_>) -> Option<String> {
    if component.annotation("operator.knative.dev/paused") == Some("true") {
        return None;
    }
    let bound = component.record.target.as_ref();
    let deleting = component.value["metadata"]["deletionTimestamp"].is_string();
    let through = bound.map(|bound| bound.profile.as_ref().map(|profile| profile.name.clone()));
    if !deleting && through.as_ref().is_some_and(|through| *through != component.profile) {
        return None;
    }
    let profile = if deleting { through? } else { component.profile.clone() };
    let at = match profile {
        None => crate::world::HUB.to_owned(),
        Some(profile) => scene.view.profiles.get(&profile)?.clone(),
    };
    let cluster = scene.clusters.get(&at)?;
    let moved = bound.is_some_and(|bound| bound.cluster != cluster.uid());
    (!(deleting && moved)).then(|| cluster.site.clone())
}

impl Oracle for Isolation {
    fn name(&self) -> &'static str {
        "isolation"
    }

    fn seen(&mut self, seen: &Seen<'_>, scene: &Scene<'_>) -> Option<String> {
        self.note(scene);
        if !seen.took_effect() || !seen.letter.is_write() {
            return None;
        }
        let on_hub = seen.letter.address == crate::world::HUB;
        if on_hub && seen.letter.is_about_lease() {
            return None;
        }
        if on_hub && (seen.info.group == GROUP || seen.info.resource == "events") {
            return None;
        }
        // What it was tells whose it is, when a write takes the marks off.
        let before = seen.object(&seen.before).filter(|object| set_of(object).is_some());
        let object = before.or_else(|| seen.object(&seen.after)).or_else(|| seen.object(&seen.before));
        self.judge(seen, &object.unwrap_or_default(), scene)
    }

    fn tick(&mut self, scene: &Scene<'_>) -> Option<String> {
        self.note(scene);
        None
    }
}
