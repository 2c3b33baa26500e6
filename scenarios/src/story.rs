//! Words that stories share: custom resources as users write them, and what is counted on clusters.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use crate::network::Site;
use crate::world::{FLEET, World};

/// Long enough for every install and removal in a healthy world.
pub const SOON: Duration = Duration::from_secs(180);

/// Namespace and name of the usual KnativeServing.
pub const SERVING: (&str, &str, &str) = ("KnativeServing", "knative-serving", "knative-serving");
/// Namespace and name of the usual KnativeEventing.
pub const EVENTING: (&str, &str, &str) = ("KnativeEventing", "knative-eventing", "knative-eventing");

/// A KnativeServing with kourier on a spoke (none: on the hub itself).
pub fn serving(version: &str, spoke: Option<&str>) -> Value {
    let mut spec = json!({"version": version, "ingress": {"kourier": {"enabled": true}}});
    target(&mut spec, spoke);
    component(SERVING, &spec)
}

/// A KnativeEventing on a spoke (none: on the hub itself).
pub fn eventing(version: &str, spoke: Option<&str>) -> Value {
    let mut spec = json!({"version": version});
    target(&mut spec, spoke);
    component(EVENTING, &spec)
}

/// A custom resource with this spec.
pub fn component((kind, namespace, name): (&str, &str, &str), spec: &Value) -> Value {
    json!({
        "apiVersion": "operator.knative.dev/v1beta1",
        "kind": kind,
        "metadata": {"namespace": namespace, "name": name},
        "spec": spec,
    })
}

fn target(spec: &mut Value, spoke: Option<&str>) {
    if let Some(spoke) = spoke {
        spec["clusterProfileRef"] = json!({"namespace": FLEET, "name": spoke});
    }
}

/// The operator's id of a component as [`World::edit`] and [`World::delete`] want it.
pub fn id(
    (kind, namespace, name): (&'static str, &'static str, &'static str),
) -> (&'static str, &'static str, &'static str, &'static str) {
    ("operator.knative.dev", kind, namespace, name)
}

impl World {
    /// Creates a custom resource, its namespace first.
    pub fn submit(&self, component: Value) {
        let namespace = component["metadata"]["namespace"].as_str().unwrap_or("default").to_owned();
        self.create_namespace(&self.hub, &namespace);
        self.create(&self.hub, component);
    }

    /// Sets `spec.version`.
    pub fn set_version(&self, component: (&'static str, &'static str, &'static str), version: &str) {
        self.edit(&self.hub, id(component), |object| object["spec"]["version"] = json!(version));
    }

    /// Waits for Ready with this version; returns how long it took.
    ///
    /// # Panics
    /// With the conditions, when it does not come in time.
    #[expect(clippy::panic, reason = "an expectation of a story")]
    pub async fn ready(
        &self,
        component: (&'static str, &'static str, &'static str),
        version: &str,
    ) -> Duration {
        match self.until(SOON, |world| world.is_ready(component, version)).await {
            Some(time) => time,
            None => {
                let found = self.component(component).unwrap_or_default();
                panic!("{component:?} is not ready with {version}: {:#}", found["status"]["conditions"])
            }
        }
    }

    /// Waits until a custom resource is gone; returns how long it took.
    ///
    /// # Panics
    /// With the object, when it does not go in time.
    #[expect(clippy::panic, reason = "an expectation of a story")]
    pub async fn gone(&self, component: (&'static str, &'static str, &'static str)) -> Duration {
        match self.until(SOON, |world| world.component(component).is_none()).await {
            Some(time) => time,
            None => panic!("still there: {:#}", self.component(component).unwrap_or_default()),
        }
    }

    /// Waits until a condition of a custom resource has this status and reason; returns its message.
    ///
    /// # Panics
    /// With all conditions, when it does not come in time.
    #[expect(clippy::panic, reason = "an expectation of a story")]
    pub async fn says(
        &self,
        component: (&'static str, &'static str, &'static str),
        condition: &str,
        status: &str,
        reason: &str,
    ) -> String {
        let holds = |world: &Self| {
            let (found, why, _) = world.condition(component, condition);
            found == status && why == reason
        };
        if self.until(SOON, holds).await.is_none() {
            let found = self.component(component).unwrap_or_default();
            panic!("{condition} is not {status} {reason}: {:#}", found["status"]["conditions"]);
        }
        self.condition(component, condition).2
    }
}

/// The kind by which a namespace lets others refer to what is in it: group, kind and plural.
pub const GRANTS: (&str, &str, &str) = ("gateway.networking.k8s.io", "ReferenceGrant", "referencegrants");

/// Lets custom resources of a kind in a namespace use the profile of a spoke.
pub fn grant((kind, namespace): (&str, &str), spoke: &str) -> Value {
    json!({
        "apiVersion": "gateway.networking.k8s.io/v1beta1", "kind": "ReferenceGrant",
        "metadata": {"namespace": FLEET, "name": format!("{namespace}-{}-{spoke}", kind.to_lowercase())},
        "spec": {
            "from": [{"group": "operator.knative.dev", "kind": kind, "namespace": namespace}],
            "to": [{"group": "multicluster.x-k8s.io", "kind": "ClusterProfile", "name": spoke}],
        },
    })
}

/// A definition of a kind without a schema, served as `v1` and `v1beta1`.
pub fn definition((group, kind, plural): (&str, &str, &str), scope: &str) -> Value {
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let version = |name: &str, storage: bool| json!({"name": name, "served": true, "storage": storage, "schema": {"openAPIV3Schema": schema}});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {
            "name": format!("{plural}.{group}"),
            // Groups of Kubernetes itself need somebody's word.
            "annotations": {"api-approved.kubernetes.io": "unapproved, for tests"},
        },
        "spec": {
            "group": group, "scope": scope,
            "names": {"kind": kind, "listKind": format!("{kind}List"), "plural": plural, "singular": kind.to_lowercase()},
            "versions": [version("v1", true), version("v1beta1", false)],
        },
    })
}

/// Identities on a cluster (`kind.group namespace/name`) with their UIDs, without what Kubernetes itself puts into every
/// namespace, and without Events and Leases.
pub fn inventory(site: &Site) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for object in site.server.snapshot().objects() {
        let object = object.value;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (api_version, kind) = (text(&object["apiVersion"]), text(&object["kind"]));
        let (namespace, name) = (text(&object["metadata"]["namespace"]), text(&object["metadata"]["name"]));
        let group = api_version.rsplit_once('/').map_or("", |(group, _)| group);
        let incidental = match kind.as_str() {
            "Event" | "Lease" => true,
            "ServiceAccount" => name == "default",
            "ConfigMap" => name == "kube-root-ca.crt",
            _ => false,
        };
        if incidental {
            continue;
        }
        all.insert(format!("{kind}.{group} {namespace}/{name}"), text(&object["metadata"]["uid"]));
    }
    all
}

/// What `after` has and `before` has not.
pub fn added(before: &BTreeMap<String, String>, after: &BTreeMap<String, String>) -> Vec<String> {
    after.keys().filter(|key| !before.contains_key(*key)).cloned().collect()
}
