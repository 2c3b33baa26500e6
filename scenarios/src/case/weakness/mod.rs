//! Weaknesses that operators of this kind are known for, each played by the steps that bring it out.
//!
//! A test `wNN_...` is about the weakness of that number in `COVERAGE.md`. Some live beside other stories, where they
//! read better; the families here hold the rest, and this file the words that they share.

mod authority;
mod fleet;
mod inventory;
mod manifests;
mod overrides;
mod owners;
mod panics;
mod removal;
mod rollout;
mod status;
mod targets;
mod versions;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::network::Site;
use crate::seed::Seed;
use crate::story::{added, definition, eventing, inventory};
use crate::trace::Exchange;
use crate::world::{OPERATOR, Options, World};

/// Kinds of Istio that its ingress plugin has objects of.
const ISTIO: [(&str, &str, &str); 2] = [
    ("networking.istio.io", "Gateway", "gateways"),
    ("security.istio.io", "PeerAuthentication", "peerauthentications"),
];

/// A world with the spoke `east` and an operator at work.
fn world(seed: u64) -> World {
    let mut world = World::new(Options::new(Seed(seed)));
    world.add_spoke("east");
    world.start_operator();
    world
}

/// The spoke of [`world`].
fn east(world: &World) -> Site {
    world.site("east").expect("every world here has it")
}

/// The parts of an identity as [`inventory`] writes it, `Kind.group namespace/name`: group, kind, namespace and name. A
/// cluster-scoped object has no namespace (`Kind.group /name`), the core no group (`Kind. namespace/name`).
fn parts(identity: &str) -> (&str, &str, &str, &str) {
    let (kind, name) = identity.split_once(' ').expect("kind and name");
    let (kind, group) = kind.split_once('.').expect("kind and group");
    let (namespace, name) = name.split_once('/').expect("namespace and name");
    (group, kind, namespace, name)
}

/// An object of a cluster by its identity.
fn find(site: &Site, identity: &str) -> Option<Arc<Value>> {
    let (group, kind, namespace, name) = parts(identity);
    site.server.get(group, kind, namespace, name)
}

/// An object that must be there.
#[track_caller]
fn must_find(site: &Site, identity: &str) -> Arc<Value> {
    find(site, identity).unwrap_or_else(|| panic!("{identity} is not on {}", site.name))
}

/// Which of these are on a cluster.
fn present<'a>(site: &Site, identities: &[&'a str]) -> Vec<&'a str> {
    identities.iter().copied().filter(|identity| find(site, identity).is_some()).collect()
}

/// What came to a cluster since `before`, without definitions, which stay for good.
fn left_behind(before: &BTreeMap<String, String>, site: &Site) -> Vec<String> {
    let mut left = added(before, &inventory(site));
    left.retain(|key| !key.starts_with("CustomResourceDefinition."));
    left
}

/// The objects of a kind (`Kind.group`) on the spoke.
fn all_of(world: &World, kind: &str) -> Vec<String> {
    let all = inventory(&east(world)).into_keys();
    all.filter(|identity| identity.split_once(' ').is_some_and(|(found, _)| found == kind)).collect()
}

/// Writes since the `start`th request, without those to the hub's Lease and Events.
fn writes(world: &World, start: usize) -> Vec<Exchange> {
    let mut sent = world.trace.requests_since(start);
    sent.retain(|request| request.is_write() && !request.path.contains("/events"));
    sent
}

/// Installs Istio's kinds and namespace on a cluster.
fn add_istio(world: &World, site: &Site) {
    for kind in ISTIO {
        world.create(site, definition(kind, "Namespaced"));
    }
    world.create_namespace(site, "istio-system");
}

/// Gives the operator rights on a cluster beyond those that it asks for, as an administrator does who lets it install
/// other kinds of objects.
fn permit(world: &World, site: &Site, group: &str, resources: &str) {
    let name = format!("installer-of-{resources}.{group}");
    let metadata = json!({"name": name});
    let api = "rbac.authorization.k8s.io";
    world.create(
        site,
        json!({"apiVersion": format!("{api}/v1"), "kind": "ClusterRole", "metadata": metadata,
               "rules": [{"apiGroups": [group], "resources": [resources], "verbs": ["*"]}]}),
    );
    world.create(
        site,
        json!({"apiVersion": format!("{api}/v1"), "kind": "ClusterRoleBinding", "metadata": metadata,
               "roleRef": {"apiGroup": api, "kind": "ClusterRole", "name": name},
               "subjects": [{"kind": "User", "name": OPERATOR, "apiGroup": api}]}),
    );
}

/// A KnativeEventing with the GitHub source.
fn eventing_with_github(spoke: Option<&str>) -> Value {
    let mut resource = eventing("1.23.0", spoke);
    let off = json!({"enabled": false});
    resource["spec"]["source"] = json!({"ceph": off, "github": {"enabled": true}, "gitlab": off, "kafka": off,
                                        "rabbitmq": off, "redis": off});
    resource
}
