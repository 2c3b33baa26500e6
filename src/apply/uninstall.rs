//! Takes an installation back, from the inventory alone.
//!
//! Stages, each of which waits for the one before: webhook configurations, namespaced objects (through the anchor
//! where there is one), cluster-scoped objects, RBAC, namespaces we created. Definitions and their custom resources
//! stay. Every delete carries the UID of a fresh read; absent objects and unknown kinds count as gone.

use std::collections::{BTreeMap, BTreeSet};

use super::anchor::Anchor;
use super::inventory::Inventory;
use super::namespace::{self, Release};
use super::shape::was_written_by_us;
use crate::manifest::{GroupKind, Object, ObjectKey};
use crate::target::cluster::{Cluster, ClusterError, Detail, Failure, Propagation};

/// How far an uninstall has come.
#[derive(Debug, Default)]
pub struct Removal {
    /// Objects that are still there; the cluster works on them.
    pub remaining: Vec<ObjectKey>,
    /// What the cluster refused to delete, or what holds up a deletion.
    pub blocked: Vec<String>,
}

impl Removal {
    /// Whether everything is gone.
    pub fn is_complete(&self) -> bool {
        self.remaining.is_empty() && self.blocked.is_empty()
    }
}

/// What is to be removed, and how members are recognised.
pub struct Uninstall<'a> {
    /// Where.
    pub cluster: &'a Cluster,
    /// Selects members by label.
    pub selector: &'a str,
    /// The anchor, if there is one and it is ours.
    pub anchor: Option<&'a Anchor>,
    /// UID of the custom resource.
    pub owner_uid: &'a str,
    /// Members that others still need.
    pub keep: &'a BTreeSet<ObjectKey>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    WebhookConfigurations,
    Namespaced,
    ClusterScoped,
    Rbac,
    Namespaces,
    /// Not deleted at all.
    Kept,
}

const STAGES: [Stage; 5] =
    [Stage::WebhookConfigurations, Stage::Namespaced, Stage::ClusterScoped, Stage::Rbac, Stage::Namespaces];

impl Uninstall<'_> {
    /// One pass. Members that are gone leave the inventory.
    ///
    /// # Errors
    /// The first failure that concerns the cluster rather than one object.
    pub async fn pass(&self, inventory: &mut Inventory) -> Result<Removal, ClusterError> {
        for stage in STAGES {
            let removal = self.stage(stage, inventory).await?;
            if !removal.is_complete() {
                return Ok(removal);
            }
        }
        inventory.objects.clear();
        inventory.jobs.clear();
        Ok(Removal::default())
    }

    /// Removes the webhook configurations alone, so that a namespace can drain whose deletion took the webhooks' own
    /// backends away: they would never again admit what is left in it. The inventory keeps them for the next install.
    ///
    /// # Errors
    /// The first failure that concerns the cluster rather than one object.
    pub async fn webhooks(&self, inventory: &Inventory) -> Result<(), ClusterError> {
        self.stage(Stage::WebhookConfigurations, &mut inventory.clone()).await.map(drop)
    }

    async fn stage(&self, stage: Stage, inventory: &mut Inventory) -> Result<Removal, ClusterError> {
        let members: BTreeMap<_, _> = inventory
            .objects
            .iter()
            .filter(|(key, _)| self.stage_of(key) == stage)
            .map(|(key, api_version)| (key.clone(), api_version.clone()))
            .collect();
        let mut removal = Removal::default();
        if stage == Stage::Namespaced {
            self.delete_anchor(&mut removal).await?;
        }
        if members.is_empty() {
            return Ok(removal);
        }
        for (key, live) in self.find(&members, inventory).await? {
            if stage == Stage::Namespaces {
                let ours = |key: &ObjectKey| inventory.objects.contains_key(key);
                match namespace::release(self.cluster, &live, self.owner_uid, &ours).await? {
                    Release::Released => drop(inventory.objects.remove(&key)),
                    Release::Draining => {
                        let hindrance = namespace::held_by(self.cluster, &key.name).await?;
                        removal.blocked.extend(hindrance.map(|why| format!("{key} does not drain: {why}")));
                        removal.remaining.push(key);
                    }
                }
                continue;
            }
            self.delete(&key, &live, &members[&key], &mut removal).await?;
        }
        if removal.blocked.is_empty() && !removal.remaining.is_empty() && stage != Stage::Namespaces {
            // Most objects go at once; what does not is waited for in a later pass.
            let left = self.find(&members, inventory).await?;
            removal.remaining = left.into_keys().collect();
            if let Some(anchor) = self.anchor
                && stage == Stage::Namespaced
                && self.anchor_is_there().await?
            {
                removal.remaining.push(anchor.key());
            }
        }
        Ok(removal)
    }

    fn stage_of(&self, key: &ObjectKey) -> Stage {
        let rbac = key.kind.group == "rbac.authorization.k8s.io";
        match (key.kind.group.as_str(), key.kind.kind.as_str()) {
            _ if self.keep.contains(key) => Stage::Kept,
            ("apiextensions.k8s.io", "CustomResourceDefinition") => Stage::Kept,
            ("", "Namespace") => Stage::Namespaces,
            ("admissionregistration.k8s.io", _) => Stage::WebhookConfigurations,
            // Without an anchor, namespaced roles stay to the end with the others.
            _ if rbac && (key.namespace.is_empty() || self.anchor.is_none()) => Stage::Rbac,
            _ if key.namespace.is_empty() => Stage::ClusterScoped,
            _ => Stage::Namespaced,
        }
    }

    /// The members that are there and ours; the others leave the inventory.
    async fn find(
        &self,
        members: &BTreeMap<ObjectKey, String>,
        inventory: &mut Inventory,
    ) -> Result<BTreeMap<ObjectKey, Object>, ClusterError> {
        let kinds: BTreeMap<&GroupKind, &String> = members.iter().map(|(key, v)| (&key.kind, v)).collect();
        let mut found = BTreeMap::new();
        for (kind, api_version) in kinds {
            let resource = match self.cluster.resource(api_version, &kind.kind).await {
                Ok(resource) => resource,
                Err(error) if matches!(error.failure, Failure::NoMatch { .. }) => continue,
                Err(error) => return Err(error),
            };
            let listed = self.cluster.list(&resource, self.selector, Detail::Metadata).await?;
            let listed: BTreeMap<_, _> = listed.into_iter().map(|o| (o.key(), o)).collect();
            for key in members.keys().filter(|key| key.kind == *kind && inventory.objects.contains_key(key)) {
                let live = match listed.get(key) {
                    Some(live) => Some(live.clone()),
                    // Somebody may have taken our label off.
                    None => self
                        .cluster
                        .get(&resource, &key.namespace, &key.name)
                        .await?
                        .filter(|o| self.is_ours(o)),
                };
                if let Some(live) = live {
                    found.insert(key.clone(), live);
                }
            }
        }
        inventory.objects.retain(|key, _| !members.contains_key(key) || found.contains_key(key));
        Ok(found)
    }

    /// An object under a member's name that neither we nor the operator before us ever wrote is somebody else's.
    fn is_ours(&self, live: &Object) -> bool {
        let owner = self.anchor.map_or(self.owner_uid, Anchor::uid);
        let owners = live.value()["metadata"]["ownerReferences"].as_array();
        owners.into_iter().flatten().any(|o| o["uid"] == owner) || was_written_by_us(live)
    }

    async fn delete(
        &self,
        key: &ObjectKey,
        live: &Object,
        api_version: &str,
        removal: &mut Removal,
    ) -> Result<(), ClusterError> {
        let metadata = &live.value()["metadata"];
        let going = metadata["deletionTimestamp"].is_string();
        if going {
            removal.remaining.push(key.clone());
            let holders: Vec<_> =
                metadata["finalizers"].as_array().into_iter().flatten().filter_map(|f| f.as_str()).collect();
            let foreign: Vec<_> =
                holders.into_iter().filter(|f| !matches!(*f, "foregroundDeletion" | "orphan")).collect();
            if !foreign.is_empty() {
                removal.blocked.push(format!("{key} is held by finalizer {}", foreign.join(", ")));
            }
            return Ok(());
        }
        let through_anchor = self.anchor.is_some_and(|anchor| anchor.key().namespace == key.namespace)
            && live.value()["metadata"]["ownerReferences"]
                .as_array()
                .is_some_and(|owners| !owners.is_empty());
        if through_anchor {
            removal.remaining.push(key.clone());
            return Ok(());
        }
        let resource = self.cluster.resource(api_version, &key.kind.kind).await?;
        match self.cluster.delete(&resource, key, live.uid(), Propagation::Background).await {
            Ok(()) => removal.remaining.push(key.clone()),
            Err(error) if error.failure.is_rejection() => {
                removal.remaining.push(key.clone());
                removal.blocked.push(format!("{key} cannot be deleted: {}", error.failure));
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    async fn delete_anchor(&self, removal: &mut Removal) -> Result<(), ClusterError> {
        let Some(anchor) = self.anchor else { return Ok(()) };
        let key = anchor.key();
        let resource = self.cluster.resource("v1", "ConfigMap").await?;
        self.cluster.delete(&resource, &key, anchor.uid(), Propagation::Foreground).await?;
        if self.anchor_is_there().await? {
            removal.remaining.push(key);
        }
        Ok(())
    }

    async fn anchor_is_there(&self) -> Result<bool, ClusterError> {
        let Some(anchor) = self.anchor else { return Ok(false) };
        let resource = self.cluster.resource("v1", "ConfigMap").await?;
        let key = anchor.key();
        let found = self.cluster.get(&resource, &key.namespace, &key.name).await?;
        Ok(found.is_some_and(|found| found.uid() == anchor.uid()))
    }
}
