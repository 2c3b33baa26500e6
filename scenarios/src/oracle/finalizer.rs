//! The finalizer: it leaves a custom resource only when nothing of the installation is left.
//!
//! At the request that takes it off, the cluster that the resource is bound to holds no member any more: definitions
//! and what another resource on that cluster also lists apart. A cluster that is gone holds nothing. The user's word
//! (`deletion-policy: orphan`) lets it go at once; what a later resource of the same name never listed itself may then
//! stay for ever.

use std::collections::{BTreeMap, BTreeSet};

use fake_apiserver::Snapshot;
use knative_operator::api::ComponentKind;
use knative_operator::manifest::ObjectKey;

use super::member::{key_of, members};
use super::view::{Component, GROUP};
use super::{Oracle, Scene};
use crate::wire::Seen;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Finalizer {
    /// Everything that a resource has listed, by its UID.
    listed: BTreeMap<String, BTreeSet<ObjectKey>>,
}

impl Oracle for Finalizer {
    fn name(&self) -> &'static str {
        "finalizer"
    }

    fn seen(&mut self, seen: &Seen<'_>, scene: &Scene<'_>) -> Option<String> {
        if seen.info.group != GROUP || !seen.took_effect() {
            return None;
        }
        let kind = ComponentKind::ALL.into_iter().find(|kind| kind.plural() == seen.info.resource)?;
        for component in &scene.view.components {
            let listed = self.listed.entry(component.uid().into()).or_default();
            listed.extend(component.record.inventory.objects.keys().cloned());
        }
        let find = |cluster: &Snapshot| {
            let found = cluster.get(GROUP, kind.kind(), &seen.info.namespace, &seen.info.name)?;
            Component::read(kind, &found)
        };
        let before = find(&seen.before).filter(Component::has_finalizer)?;
        if find(&seen.after).is_some_and(|after| after.has_finalizer() && after.uid() == before.uid())
            || before.annotation("operator.knative.dev/deletion-policy") == Some("orphan")
        {
            return None;
        }
        let target = before.record.target.as_ref()?;
        let cluster = scene.by_uid(&target.cluster)?;
        let others = || {
            scene
                .view
                .components
                .iter()
                .filter(|c| c.uid() != before.uid() && !c.record.inventory.objects.is_empty())
        };
        let abandoned = scene.facts.is_abandoned(&before.set);
        let listed = self.listed.get(before.uid());
        let owed = |key: &ObjectKey| !abandoned || listed.is_some_and(|listed| listed.contains(key));
        let left: Vec<_> = members(&cluster.snapshot, &before.set)
            .iter()
            .map(|object| key_of(object))
            .filter(owed)
            .filter(|key| !others().any(|other| other.record.inventory.objects.contains_key(key)))
            .collect();
        let first = left.first()?;
        let (count, site) = (left.len(), &cluster.site);
        Some(format!("it left {before} while {count} objects are on {site}, {first} among them"))
    }
}
