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
use crate::rollout::{BEGUN, Labels, Member};

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
    /// What rollouts need to know; `None` of one that does not follow the newest release.
    pub member: Option<Member>,
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
    /// Labels of profiles by namespace and name.
    profiles: BTreeMap<(String, String), Labels>,
}

#[derive(Debug)]
struct Known {
    peer: Peer,
    labels: Labels,
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
                member: follows_newest(object).then(|| member(key, object)),
            },
            labels: labels(object),
            profile: serde_json::from_value(object.value()["spec"]["clusterProfileRef"].clone()).ok(),
            trigger: trigger(object),
        };
        let before = self.components.insert(key.clone(), known);
        self.merge_labels(key);
        before.is_none_or(|before| before.trigger != self.components[key].trigger)
    }

    /// Takes in a profile.
    pub fn apply_profile(&mut self, profile: &Object) {
        let name = (profile.namespace().to_owned(), profile.name().to_owned());
        let labels = labels(profile);
        if self.profiles.get(&name) != Some(&labels) {
            self.profiles.insert(name, labels);
            self.users_of(profile.namespace(), profile.name()).iter().for_each(|key| self.merge_labels(key));
        }
    }

    /// Forgets a profile.
    pub fn delete_profile(&mut self, profile: &Object) {
        self.profiles.remove(&(profile.namespace().to_owned(), profile.name().to_owned()));
        self.users_of(profile.namespace(), profile.name()).iter().for_each(|key| self.merge_labels(key));
    }

    /// What a custom resource does not say itself, its profile says.
    fn merge_labels(&mut self, key: &Key) {
        let Some(known) = self.components.get_mut(key) else { return };
        let Some(member) = &mut known.peer.member else { return };
        let profile = known.profile.as_ref().map(|profile| (profile.namespace.clone(), profile.name.clone()));
        member.labels = match profile.and_then(|name| self.profiles.get(&name)) {
            None => known.labels.clone(),
            Some(theirs) => {
                let both = theirs.iter().chain(known.labels.iter());
                Arc::new(both.map(|(label, value)| (label.clone(), value.clone())).collect())
            }
        };
    }

    /// A custom resource as a rollout sees it; `None` if it does not follow the newest release.
    pub fn member(&self, key: &Key) -> Option<&Member> {
        self.components.get(key)?.peer.member.as_ref()
    }

    /// Forgets a custom resource.
    pub fn delete(&mut self, key: &Key) {
        self.components.remove(key);
    }

    /// Forgets every custom resource of a kind that `keep` refuses, after a complete list.
    /// Returns them.
    pub fn retain(&mut self, kind: ComponentKind, keep: impl Fn(&Key) -> bool) -> Vec<Key> {
        let gone: Vec<_> = self.keys(kind).into_iter().filter(|key| !keep(key)).collect();
        gone.iter().for_each(|key| self.delete(key));
        gone
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

    /// The custom resources on a lane.
    pub fn keys_on(&self, lane: &str) -> Vec<Key> {
        self.components.keys().filter(|key| self.lane(key) == lane).cloned().collect()
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

fn labels(object: &Object) -> Labels {
    let labels = object.value()["metadata"]["labels"].as_object().into_iter().flatten();
    Arc::new(labels.filter_map(|(label, value)| Some((label.clone(), value.as_str()?.to_owned()))).collect())
}

/// Whether a new operator moves it to a newer release by itself.
fn follows_newest(object: &Object) -> bool {
    let value = object.value();
    let own_manifests = value["spec"]["manifests"].as_array().is_some_and(|manifests| !manifests.is_empty());
    let named = !matches!(value["spec"]["version"].as_str().unwrap_or_default(), "" | "latest");
    !named && !own_manifests && value["metadata"]["deletionTimestamp"].is_null()
}

fn member(key: &Key, object: &Object) -> Member {
    let status = &object.value()["status"];
    let conditions = status["conditions"].as_array().into_iter().flatten();
    let mut ready = conditions.filter(|condition| condition["type"] == "Ready");
    Member {
        key: key.clone(),
        labels: Labels::default(),
        installed: status["version"].as_str().filter(|version| !version.is_empty()).map(Into::into),
        begun: status["annotations"][BEGUN].as_str().map(Into::into),
        ready: ready.any(|ready| ready["status"] == "True"),
    }
}

/// Spec (by generation), deletion, and the metadata that users set.
fn trigger(object: &Object) -> Fingerprint {
    let metadata = &object.value()["metadata"];
    let fields = ["uid", "generation", "deletionTimestamp", "annotations", "labels", "finalizers"];
    fingerprint(&fields.iter().map(|field| metadata[field].clone()).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn serving(version: &str, labels: &Value) -> (Key, Object) {
        let key = Key { kind: ComponentKind::Serving, namespace: "ns".into(), name: "ks".into() };
        let object = json!({
            "apiVersion": "operator.knative.dev/v1beta1", "kind": "KnativeServing",
            "metadata": {"namespace": "ns", "name": "ks", "labels": labels},
            "spec": {"version": version, "clusterProfileRef": {"namespace": "fleet", "name": "east"}},
        });
        (key, Object::try_from(object).unwrap())
    }

    fn profile(labels: &Value) -> Object {
        let metadata = json!({"namespace": "fleet", "name": "east", "labels": labels});
        Object::try_from(json!({"apiVersion": "v1", "kind": "ClusterProfile", "metadata": metadata})).unwrap()
    }

    #[test]
    fn a_resource_has_the_labels_of_its_profile_unless_it_has_its_own() {
        let mut index = Index::default();
        let (key, object) = serving("", &json!({"stage": "canary"}));
        index.apply_profile(&profile(&json!({"stage": "late", "region": "eu"})));
        index.apply(&key, &object);
        let labels = |index: &Index| index.member(&key).map(|member| (*member.labels).clone()).unwrap();
        let both = [("region", "eu"), ("stage", "canary")].map(|(a, b)| (a.to_owned(), b.to_owned()));
        assert_eq!(labels(&index), both.into());
        index.apply_profile(&profile(&json!({})));
        assert_eq!(labels(&index), [("stage".to_owned(), "canary".to_owned())].into());
        index.apply_profile(&profile(&json!({"region": "us"})));
        index.delete_profile(&profile(&json!({})));
        assert_eq!(labels(&index), [("stage".to_owned(), "canary".to_owned())].into());
    }

    #[test]
    fn a_resource_that_names_its_version_is_in_no_rollout() {
        let mut index = Index::default();
        for (version, follows) in [("", true), ("latest", true), ("1.23", false), ("1.23.0", false)] {
            let (key, object) = serving(version, &json!({}));
            index.apply(&key, &object);
            assert_eq!(index.member(&key).is_some(), follows, "{version:?}");
        }
    }
}
