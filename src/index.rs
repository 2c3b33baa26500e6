//! What the hub's watches have told so far: which custom resources exist, what they target, and what that means for
//! the queue.
//!
//! A plain structure, fed by `controller`. Reconciling reads the custom resource itself afresh; the index only says
//! when, on which lane, and who else is there.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::api::{ClusterProfileRef, ComponentKind};
use crate::apply::shape::{Fingerprint, fingerprint};
use crate::manifest::Object;
use crate::reconcile::record::Record;

/// Names one custom resource.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// KnativeServing or KnativeEventing.
    pub kind: ComponentKind,
    /// Namespace on the hub.
    pub namespace: String,
    /// Name.
    pub name: String,
}

/// `KnativeServing knative-serving/knative-serving`.
impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}/{}", self.kind.kind(), self.namespace, self.name)
    }
}

/// The bound that a key shares with all others of the same target: a profile's `namespace/name`, or `local`.
pub type Lane = String;

/// A custom resource as others of its hub need to know it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Which one.
    pub key: Key,
    /// Its UID.
    pub uid: String,
    /// When it was created (RFC 3339), for seniority.
    pub created: String,
    /// Whether it is being deleted.
    pub deleting: bool,
    /// What it has recorded about its target and its installation; `None` if it has not recorded anything readable.
    pub record: Option<Arc<Record>>,
}

impl Peer {
    /// Older than the other; of two of the same second, the one with the smaller UID.
    pub fn is_senior_to(&self, created: &str, uid: &str) -> bool {
        (self.created.as_str(), self.uid.as_str()) < (created, uid)
    }
}

/// See the module.
#[derive(Debug, Default)]
pub struct Index {
    components: BTreeMap<Key, Known>,
}

#[derive(Debug)]
struct Known {
    peer: Peer,
    profile: Option<ClusterProfileRef>,
    /// Of everything that calls for a reconcile when it changes; our own status writes are not part of it.
    trigger: Fingerprint,
}

impl Index {
    /// Takes in a custom resource. Returns whether it calls for a reconcile.
    pub fn apply(&mut self, key: &Key, object: &Object) -> bool {
        let known = Known {
            peer: Peer {
                key: key.clone(),
                uid: object.uid().into(),
                created: object.value()["metadata"]["creationTimestamp"].as_str().unwrap_or_default().into(),
                deleting: object.value()["metadata"]["deletionTimestamp"].is_string(),
                record: Record::read(&object.value()["status"]["annotations"]).ok().map(Arc::new),
            },
            profile: serde_json::from_value(object.value()["spec"]["clusterProfileRef"].clone()).ok(),
            trigger: trigger(object),
        };
        let before = self.components.insert(key.clone(), known);
        before.is_none_or(|before| before.trigger != self.components[key].trigger)
    }

    /// Forgets a custom resource.
    pub fn delete(&mut self, key: &Key) {
        self.components.remove(key);
    }

    /// Forgets every custom resource of a kind that `keep` refuses, after a complete list.
    pub fn retain(&mut self, kind: ComponentKind, keep: impl Fn(&Key) -> bool) {
        self.components.retain(|key, _| key.kind != kind || keep(key));
    }

    /// Every custom resource of a kind.
    pub fn keys(&self, kind: ComponentKind) -> Vec<Key> {
        self.components.keys().filter(|key| key.kind == kind).cloned().collect()
    }

    /// Whether the custom resource exists.
    pub fn contains(&self, key: &Key) -> bool {
        self.components.contains_key(key)
    }

    /// The lane of a custom resource: that of the target it is bound to, or else of the one it asks for.
    pub fn lane(&self, key: &Key) -> Lane {
        let Some(known) = self.components.get(key) else { return "local".into() };
        let bound = known.peer.record.as_ref().and_then(|record| record.target.as_ref());
        let profile = bound.map_or(known.profile.as_ref(), |target| target.profile.as_ref());
        profile.map_or_else(|| "local".into(), |profile| format!("{}/{}", profile.namespace, profile.name))
    }

    /// The custom resources that refer to a profile or are bound to it.
    pub fn users_of(&self, namespace: &str, name: &str) -> Vec<Key> {
        let is_it = |profile: &ClusterProfileRef| profile.namespace == namespace && profile.name == name;
        let users = self.components.iter().filter(|(_, known)| {
            let bound = known.peer.record.as_ref().and_then(|record| record.target.as_ref());
            known.profile.as_ref().is_some_and(is_it)
                || bound.and_then(|target| target.profile.as_ref()).is_some_and(is_it)
        });
        users.map(|(key, _)| key.clone()).collect()
    }

    /// Everybody but `key`.
    pub fn peers(&self, key: &Key) -> Vec<Peer> {
        self.components.values().map(|known| &known.peer).filter(|peer| peer.key != *key).cloned().collect()
    }
}

/// Spec (by generation), deletion, and the metadata that users set.
fn trigger(object: &Object) -> Fingerprint {
    let metadata = &object.value()["metadata"];
    let fields = ["uid", "generation", "deletionTimestamp", "annotations", "labels", "finalizers"];
    fingerprint(&fields.iter().map(|field| metadata[field].clone()).collect())
}
