//! Ownership: every namespaced object beside the anchor is owned by it, and in the end by the one that is there.
//!
//! An object in the namespace of the anchor of its set has an owner reference to an anchor that was seen there; in
//! other namespaces, and when it is cluster-scoped, it has none to an anchor (it would be collected). Members of a
//! local installation are owned by the custom resource. In the end the owner is the anchor that exists now.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::member::{anchored_set, members, owners, set_of};
use super::view::Component;
use super::{Oracle, Scene};
use crate::wire::Seen;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Ownership {
    /// UIDs of anchors that were seen, by set.
    anchors: BTreeMap<String, BTreeSet<String>>,
}

impl Ownership {
    fn judge(&self, component: &Component, object: &Value, now: &dyn Fn(&str) -> bool) -> Option<String> {
        let namespace = object["metadata"]["namespace"].as_str().unwrap_or_default();
        let key = super::member::key_of(object);
        let owners = owners(object);
        let Some(target) = component.record.target.as_ref().filter(|target| target.profile.is_some()) else {
            let owned = owners.contains(&component.uid());
            let remote = component.profile.is_some() || component.record.target.is_none();
            let elsewhere = namespace != component.namespace;
            return (!owned && !remote && !elsewhere)
                .then(|| format!("{key} of {component} is not owned by it"));
        };
        let known = self.anchors.get(&component.set);
        let by_anchor = owners.iter().any(|uid| known.is_some_and(|known| known.contains(*uid)) && now(uid));
        if namespace == target.namespace {
            (!by_anchor).then(|| format!("{key} of {component} is not owned by the anchor: {owners:?}"))
        } else {
            by_anchor.then(|| format!("{key} of {component} has an owner in another namespace"))
        }
    }
}

impl Oracle for Ownership {
    fn name(&self) -> &'static str {
        "ownership"
    }

    fn begin(&mut self, scene: &Scene<'_>) {
        let objects = scene.clusters.values().flat_map(|cluster| cluster.snapshot.objects());
        for object in objects {
            if let Some(set) = anchored_set(object.value) {
                let uid = object.value["metadata"]["uid"].as_str().unwrap_or_default();
                self.anchors.entry(set.into()).or_default().insert(uid.into());
            }
        }
    }

    fn seen(&mut self, seen: &Seen<'_>, scene: &Scene<'_>) -> Option<String> {
        if !seen.took_effect() || !seen.letter.is_write() {
            return None;
        }
        let object = seen.object(&seen.after)?;
        if let Some(set) = anchored_set(&object) {
            let uid = object["metadata"]["uid"].as_str().unwrap_or_default();
            self.anchors.entry(set.into()).or_default().insert(uid.into());
            return None;
        }
        if seen.info.verb == "delete" {
            return None;
        }
        let component = scene.view.of_set(set_of(&object)?)?;
        self.judge(component, &object, &|_| true)
    }

    fn end(&mut self, scene: &Scene<'_>) -> Option<String> {
        scene.view.components.iter().find_map(|component| {
            let target = component.record.target.as_ref()?;
            let cluster = scene.by_uid(&target.cluster)?;
            let is_there = |uid: &str| {
                cluster.snapshot.list("", "ConfigMap", &target.namespace).iter().any(|anchor| {
                    anchor["metadata"]["uid"] == uid && anchored_set(anchor) == Some(&component.set)
                })
            };
            let members = members(&cluster.snapshot, &component.set);
            members.iter().find_map(|object| self.judge(component, object, &is_there))
        })
    }
}
