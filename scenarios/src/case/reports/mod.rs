//! What people reported about systems that do the same or a neighbouring job, tried on this one: a test for each
//! report, named by its number in `COVERAGE.md`.
//!
//! Here are the words that the tests share.

mod collection;
mod credentials;
mod deletion;
mod doubles;
mod fields;
mod finalizers;
mod identity;
mod isolation;
mod status;
mod upgrade;
mod watches;
mod webhooks;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use fake_apiserver::FakeApiServer;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context, SubscriberExt};

use crate::network::Site;
use crate::seed::Seed;
use crate::story::{SERVING, added, component, id, inventory, serving};
use crate::trace::Exchange;
use crate::wire::{Letter, Seen, Tap};
use crate::world::{Options, PROFILE_GROUP, World, address, profile};

/// Kind, namespace and name of a custom resource on the hub.
type Id = (&'static str, &'static str, &'static str);

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);

/// A hub and the spoke `east`, with the operator running.
fn world(seed: u64) -> World {
    let mut world = World::new(Options::new(Seed(seed)));
    world.add_spoke("east");
    world.start_operator();
    world
}

/// The same with a Serving of this version installed on `east`.
async fn installed(seed: u64, version: &str) -> World {
    let world = world(seed);
    world.submit(serving(version, Some("east")));
    world.ready(SERVING, version).await;
    world
}

/// The cluster behind the address of a spoke.
fn spoke(world: &World, name: &str) -> Site {
    world.network.site(&address(name)).expect("it was added")
}

/// An object on a cluster.
fn find(site: &Site, (group, kind, namespace, name): (&str, &str, &str, &str)) -> Option<Arc<Value>> {
    site.server.get(group, kind, namespace, name)
}

fn deployment(name: &str) -> (&'static str, &'static str, &'static str, &str) {
    ("apps", "Deployment", "knative-serving", name)
}

fn config_map(name: &str) -> (&'static str, &'static str, &'static str, &str) {
    ("", "ConfigMap", "knative-serving", name)
}

/// A Serving on `east` whose release is what these URLs serve and nothing else: so little that every one of its
/// requests can be tried.
fn small(urls: &[&str]) -> Value {
    let urls: Vec<_> = urls.iter().map(|url| json!({"URL": url})).collect();
    let mut object = serving("1.23.0", Some("east"));
    object["spec"]["ingress"] = json!({"kourier": {"enabled": false}});
    object["spec"]["manifests"] = json!(urls);
    object
}

/// A manifest with so many ConfigMaps named `NAME-0`, `NAME-1`, ...
fn config_maps(name: &str, count: usize) -> String {
    let one =
        |i| format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}-{i}}}\ndata: {{a: b}}\n");
    (0..count).map(one).collect::<Vec<_>>().join("---\n")
}

/// A manifest with a ConfigMap and a ClusterRole of this name.
fn map_and_role(name: &str) -> String {
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\n---\n\
         apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {{name: {name}}}\nrules: []\n"
    )
}

/// Objects on a cluster that `before` has not, definitions left out.
fn leftovers(before: &BTreeMap<String, String>, site: &Site) -> Vec<String> {
    let left = added(before, &inventory(site)).into_iter();
    left.filter(|key| !key.starts_with("CustomResourceDefinition.")).collect()
}

/// Asserts that two inventories are the same, showing only what differs.
#[track_caller]
fn assert_same(before: &BTreeMap<String, String>, after: &BTreeMap<String, String>) {
    let missing: Vec<_> = before.iter().filter(|(key, uid)| after.get(*key) != Some(uid)).collect();
    let new: Vec<_> = after.iter().filter(|(key, uid)| before.get(*key) != Some(uid)).collect();
    assert!(missing.is_empty() && new.is_empty(), "gone or replaced: {missing:?}\nnew: {new:?}");
}

/// Writes that the operator has sent to a cluster.
fn writes(world: &World, since: usize, cluster: &str) -> Vec<Exchange> {
    let sent = world.trace.requests_since(since).into_iter();
    sent.filter(|request| request.cluster == cluster && request.is_write()).collect()
}

/// Requests that the operator has sent to a cluster, whose path contains this.
fn requests(world: &World, since: usize, cluster: &str, path: &str) -> usize {
    let sent = world.trace.requests_since(since).into_iter();
    sent.filter(|request| request.cluster == cluster && request.path.contains(path)).count()
}

/// Sets an annotation of a custom resource.
fn annotate(world: &World, component: Id, key: &str, value: &str) {
    world.edit(&world.hub, id(component), |object| object["metadata"]["annotations"][key] = json!(value));
}

/// Lets the objects of a custom resource go.
fn orphan(world: &World, component: Id) {
    annotate(world, component, "operator.knative.dev/deletion-policy", "orphan");
}

fn delete_profile(world: &World, name: &str) {
    world.delete(&world.hub, (PROFILE_GROUP, "ClusterProfile", "fleet", name));
}

/// Events on the hub with this reason.
fn events(world: &World, reason: &str) -> Vec<Arc<Value>> {
    let snapshot = world.hub.server.snapshot();
    let all = snapshot.objects().filter(|object| object.resource == "events");
    all.filter(|object| object.value["reason"] == reason).map(|object| object.value.clone()).collect()
}

/// A healthy profile in a namespace of its own choice.
fn profile_in(world: &World, namespace: &str, name: &str, server: &str) {
    world.create_namespace(&world.hub, namespace);
    let mut wanted = profile(name, server, "True");
    wanted["metadata"]["namespace"] = json!(namespace);
    world.create(&world.hub, wanted.clone());
    let status = wanted["status"].clone();
    let written = world.hub.server.edit_status(PROFILE_GROUP, "ClusterProfile", namespace, name, |object| {
        object["status"] = status;
    });
    assert!(written.is_ok(), "{written:?}");
}

/// The finalizers of a custom resource; `None` when it is gone.
fn finalizers(hub: &FakeApiServer, (kind, namespace, name): Id) -> Option<Vec<String>> {
    let object = hub.get("operator.knative.dev", kind, namespace, name)?;
    serde_json::from_value(object["metadata"]["finalizers"].clone()).unwrap_or_default()
}

/// Somebody on the wires who does something when a request is sent, and when a cluster has answered one.
struct Onlooker<S, A> {
    sent: S,
    seen: A,
}

impl<S, A> Tap for Onlooker<S, A>
where
    S: Fn(&Letter) + Send + Sync,
    A: Fn(&Seen<'_>) + Send + Sync,
{
    fn sent(&self, letter: &Letter) {
        (self.sent)(letter);
    }

    fn seen(&self, seen: &Seen<'_>) {
        (self.seen)(seen);
    }

    fn answered(&self, _: &Letter, _: u16) {}
}

/// Restarts an operator that a strike has killed.
async fn revive(world: &mut World) {
    while !world.network.strike.take_crashes().is_empty() {
        world.pass(Duration::from_secs(1)).await;
        world.start_operator();
    }
}

/// What a component's resource says of itself, for messages.
fn conditions(world: &World, component: Id) -> String {
    format!("{:#}", world.component(component).unwrap_or_default()["status"]["conditions"])
}

/// A Serving beside the usual one.
fn another(namespace: &str, name: &str, spec: &Value) -> Value {
    component(("KnativeServing", namespace, name), spec)
}

/// What the operator logs on this thread from now on, at `info` and above.
fn listen() -> (tracing::subscriber::DefaultGuard, Log) {
    let log = Log::default();
    let filter = tracing_subscriber::filter::LevelFilter::INFO;
    let subscriber = tracing_subscriber::registry().with(log.clone().with_filter(filter));
    (tracing::subscriber::set_default(subscriber), log)
}

/// Lines of a log.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    fn lines(&self) -> Vec<String> {
        self.0.lock().clone()
    }

    fn panics(&self) -> Vec<String> {
        self.lines().into_iter().filter(|line| line.contains("panicked")).collect()
    }
}

impl<S: tracing::Subscriber> Layer<S> for Log {
    fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
        struct Line(String);
        impl tracing::field::Visit for Line {
            fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn std::fmt::Debug) {
                self.0 += &format!("{field}={value:?} ");
            }
        }
        let mut line = Line(String::new());
        event.record(&mut line);
        self.0.lock().push(line.0);
    }
}
