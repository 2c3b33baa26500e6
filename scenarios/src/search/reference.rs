//! What every installation looks like in the end: the same one, made in a world of its own in which nothing happens.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use knative_operator::manifest::{Library, ObjectKey};
use parking_lot::Mutex;
use serde_json::Value;

use super::cast::{ROLES, Shape};
use crate::oracle::member::{anchored_set, key_of, set_of};
use crate::seed::Seed;
use crate::story::component;
use crate::world::{Options, World, address};

/// An undisturbed installation.
#[derive(Clone, Debug, Default)]
pub struct Reference {
    /// Its members and its anchor, as [`likeness`].
    pub objects: BTreeMap<ObjectKey, Value>,
    /// How long it took to be Ready.
    pub ready: Duration,
}

type Known = BTreeMap<(usize, Shape), Arc<Reference>>;

/// References made so far, and releases parsed so far. A cheap handle, for all threads of a campaign.
#[derive(Clone, Default)]
pub struct References {
    known: Arc<Mutex<Known>>,
    library: Library,
}

impl References {
    /// The installation of a role with a shape.
    pub fn get(&self, role: usize, shape: Shape) -> Arc<Reference> {
        let shape = Shape { version: shape.version % 2, variant: shape.variant % super::cast::VARIANTS };
        if let Some(known) = self.known.lock().get(&(role, shape)) {
            return known.clone();
        }
        let options = Options { library: self.library.clone(), ..Options::new(Seed(0)) };
        let made = Arc::new(crate::runtime::run(move || make(role, shape, options)));
        self.known.lock().entry((role, shape)).or_insert(made).clone()
    }

    /// Parsed releases.
    pub fn library(&self) -> &Library {
        &self.library
    }

    /// How long the install of [`super::cast::CALM_ROLE`] takes when nothing happens.
    pub fn usual_millis(&self) -> u64 {
        let reference = self.get(super::cast::CALM_ROLE, Shape { version: 1, variant: 0 });
        u64::try_from(reference.ready.as_millis()).unwrap_or(u64::MAX)
    }
}

async fn make(role: usize, shape: Shape, options: Options) -> Reference {
    let actor = &ROLES[role];
    let mut world = World::new(options);
    if let Some(spoke) = actor.spoke {
        world.add_spoke(spoke);
    }
    world.start_operator();
    world.submit(component(actor.id, &actor.spec(shape)));
    let ready = world.ready(actor.id, shape.version()).await;
    world.pass(Duration::from_secs(60)).await;
    let at = actor.spoke.map_or_else(|| crate::world::HUB.into(), address);
    let objects = world.network.site(&at).map(|site| installed(&site.server.snapshot())).unwrap_or_default();
    Reference { objects, ready }
}

/// Members and anchors on a cluster. Definitions are compared too as long as they are wanted; Jobs are not, because
/// they go by themselves when they have run. What is being deleted is not there any more.
pub fn installed(cluster: &fake_apiserver::Snapshot) -> BTreeMap<ObjectKey, Value> {
    let ours = cluster.objects().filter(|object| {
        object.resource != "jobs.batch"
            && object.value["metadata"]["deletionTimestamp"].is_null()
            && (set_of(object.value).is_some() || anchored_set(object.value).is_some())
    });
    ours.filter(|object| !object.resource.starts_with("knative"))
        .map(|object| (key_of(object.value), likeness(object.value)))
        .collect()
}

/// An object without what differs between two clusters on which the same was installed: identities, times, versions,
/// status, what controllers fill in, and who wrote what.
pub fn likeness(object: &Value) -> Value {
    if object["kind"] == "Namespace" {
        // It may have been there before, and then it is somebody else's.
        return Value::Null;
    }
    let mut object = object.clone();
    if object["kind"] == "Deployment" && object["metadata"]["name"] == "pingsource-mt-adapter" {
        // Eventing's controller sets these, and the operator keeps what it finds, also from the version before.
        for field in ["/spec/replicas", "/spec/template/spec/containers/0/env"] {
            if let Some(value) = object.pointer_mut(field) {
                *value = Value::Null;
            }
        }
    }
    let aggregated = !object["aggregationRule"].is_null();
    if let Some(root) = object.as_object_mut() {
        root.remove("status");
        if aggregated {
            root.remove("rules");
        }
    }
    if let Some(metadata) = object["metadata"].as_object_mut() {
        for field in ["uid", "resourceVersion", "creationTimestamp", "generation", "managedFields"] {
            metadata.remove(field);
        }
        if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
            annotations
                .retain(|key, _| !key.ends_with("-uid") && !key.starts_with("deployment.kubernetes.io/"));
        }
        let owners = metadata.get_mut("ownerReferences").and_then(Value::as_array_mut);
        for owner in owners.into_iter().flatten() {
            owner["uid"] = Value::Null;
        }
    }
    if object["kind"] == "Service"
        && let Some(spec) = object["spec"].as_object_mut()
    {
        spec.remove("clusterIP");
        spec.remove("clusterIPs");
        let ports = spec.get_mut("ports").and_then(Value::as_array_mut);
        for port in ports.into_iter().flatten().filter_map(Value::as_object_mut) {
            port.remove("nodePort");
        }
    }
    object
}
