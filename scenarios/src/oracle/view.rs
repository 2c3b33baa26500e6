//! The hub as oracles see it: its custom resources, and where its profiles lead. Read from what is stored, with none of
//! the operator's own caches in between.

use std::collections::BTreeMap;
use std::sync::Arc;

use fake_apiserver::Snapshot;
use knative_operator::api::ComponentKind;
use knative_operator::manifest::GroupKind;
use knative_operator::plan::{anchor_name, apply_set_id};
use knative_operator::reconcile::record::Record;
use serde_json::Value;

use crate::world::{FLEET, PROFILE_GROUP};

/// API group of the custom resources.
pub const GROUP: &str = "operator.knative.dev";

/// A custom resource.
#[derive(Clone, Debug)]
pub struct Component {
    /// `KnativeServing` or `KnativeEventing`.
    pub kind: ComponentKind,
    /// Namespace on the hub.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// Name of the profile that the specification refers to; none: the hub itself.
    pub profile: Option<String>,
    /// What the operator has recorded.
    pub record: Record,
    /// The ApplySet that its objects are members of.
    pub set: String,
    /// The whole resource.
    pub value: Arc<Value>,
}

impl Component {
    /// Reads a stored custom resource; `None` for one whose record is damaged, which nothing can be said about.
    pub fn read(kind: ComponentKind, value: &Arc<Value>) -> Option<Self> {
        let text = |field: &str| value["metadata"][field].as_str().unwrap_or_default().to_owned();
        let (namespace, name) = (text("namespace"), text("name"));
        let record = Record::read(&value["status"]["annotations"]).ok()?;
        let reference = &value["spec"]["clusterProfileRef"];
        let bound = record.target.as_ref().map(|target| target.profile.as_ref().map(|p| p.name.clone()));
        let asked = reference["name"].as_str().map(str::to_owned);
        let remote = bound.unwrap_or_else(|| asked.clone()).is_some();
        let set = match remote {
            true => {
                let anchor = GroupKind::new("", "ConfigMap");
                apply_set_id(&anchor, &namespace, &anchor_name(kind, &name))
            }
            false => apply_set_id(&GroupKind::new(GROUP, kind.kind()), &namespace, &name),
        };
        Some(Self { kind, namespace, name, profile: asked, record, set, value: value.clone() })
    }

    /// Its UID.
    pub fn uid(&self) -> &str {
        self.value["metadata"]["uid"].as_str().unwrap_or_default()
    }

    /// Whether the operator's finalizer is on it.
    pub fn has_finalizer(&self) -> bool {
        let finalizers = self.value["metadata"]["finalizers"].as_array();
        finalizers.into_iter().flatten().any(|finalizer| finalizer == self.kind.finalizer())
    }

    /// An annotation that a user set.
    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.value["metadata"]["annotations"][key].as_str()
    }

    /// Status of a condition; empty when it is not there.
    pub fn condition(&self, kind: &str) -> &str {
        let conditions = self.value["status"]["conditions"].as_array();
        let found = conditions.into_iter().flatten().find(|condition| condition["type"] == kind);
        found.and_then(|condition| condition["status"].as_str()).unwrap_or_default()
    }

    /// Whether the status speaks of the current specification.
    pub fn is_observed(&self) -> bool {
        self.value["status"]["observedGeneration"] == self.value["metadata"]["generation"]
    }
}

/// `KnativeServing knative-serving/knative-serving`.
impl std::fmt::Display for Component {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}/{}", self.kind.kind(), self.namespace, self.name)
    }
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct View {
    revision: u64,
    /// The custom resources.
    pub components: Vec<Component>,
    /// Addresses of healthy profiles.
    pub profiles: BTreeMap<String, String>,
}

impl View {
    /// Reads the hub again if it has changed.
    pub fn refresh(&mut self, hub: &Snapshot) {
        if self.revision == hub.revision() {
            return;
        }
        self.revision = hub.revision();
        // Most writes to the hub are about something else.
        let mut known = std::mem::take(&mut self.components);
        for kind in ComponentKind::ALL {
            self.components.extend(hub.list(GROUP, kind.kind(), "").into_iter().filter_map(|value| {
                match known.iter().position(|component| Arc::ptr_eq(&component.value, &value)) {
                    Some(same) => Some(known.swap_remove(same)),
                    None => Component::read(kind, &value),
                }
            }));
        }
        let profiles = hub.list(PROFILE_GROUP, "ClusterProfile", FLEET);
        self.profiles = profiles.iter().filter_map(|profile| lead(profile)).collect();
    }

    /// Where a custom resource's specification leads now: the address of its spoke, or the hub's.
    pub fn address_of(&self, component: &Component) -> Option<String> {
        match &component.profile {
            None => Some(crate::world::HUB.into()),
            Some(profile) => self.profiles.get(profile).cloned(),
        }
    }

    /// The custom resource whose objects are members of a set.
    pub fn of_set(&self, set: &str) -> Option<&Component> {
        self.components.iter().find(|component| component.set == set)
    }
}

/// Name and address of a profile, if it says that its cluster is healthy.
fn lead(profile: &Value) -> Option<(String, String)> {
    let conditions = profile["status"]["conditions"].as_array();
    let healthy = |c: &Value| c["type"] == "ControlPlaneHealthy" && c["status"] == "True";
    conditions.into_iter().flatten().find(|condition| healthy(condition))?;
    let server = profile["status"]["accessProviders"][0]["cluster"]["server"].as_str()?;
    Some((profile["metadata"]["name"].as_str()?.to_owned(), server.to_owned()))
}
