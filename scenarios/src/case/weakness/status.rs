//! The status tells what is, of every failure, and writes over nobody.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fake_apiserver::fault::{Action, Match, Rule};
use fake_apiserver::{FakeApiServer, Readiness};
use serde_json::{Value, json};

use super::{east, eventing_with_github, must_find, world};
use crate::runtime::run;
use crate::story::{EVENTING, SERVING, component, id, serving};
use crate::wire::{Letter, Seen, Tap};
use crate::world::{HUB, World};

/// One way in which an upgrade of a ready Serving fails: a file of the release that cannot be read, or a request that
/// is refused; and what the condition must name.
const FAILURES: &[(&str, &str, &str)] = &[
    ("file", "ingress/1.23/kourier/kourier.yaml", "ingress/1.23/kourier"),
    ("file", "security-guard/0.6/guard.yaml", "security-guard"),
    ("file", "knative-serving/1.23.0/2-serving-core.yaml", "1.23.0"),
    ("request", "/api/v1/namespaces/knative-serving/configmaps/knativeserving-*", "anchor"),
    ("request", "/api/v1/namespaces/knative-serving/configmaps/config-network", "config-network"),
    ("request", "/apis/apps/v1/deployments", "activator: cannot be listed"),
    ("request", "/apis/rbac.authorization.k8s.io/v1/clusterroles/*", "ClusterRole"),
];

#[test]
fn w09_whatever_fails_is_in_a_condition_and_no_stale_ready_stays() {
    run(|| async {
        for (what, place, named) in FAILURES {
            let world = world(1);
            world.submit(serving("1.22.0", Some("east")));
            world.ready(SERVING, "1.22.0").await;
            match *what {
                "file" => world.files.break_file(place, "no such disk"),
                _ => {
                    let when = Match::any().path(place);
                    east(&world).link.add(Rule { when, then: Action::status(403, "Forbidden") });
                }
            }
            world.edit(&world.hub, id(SERVING), |object| {
                object["spec"]["version"] = json!("1.23.0");
                object["spec"]["security"] = json!({"securityGuard": {"enabled": true}});
            });
            let told = |world: &World| {
                let (ready, _, text) = world.condition(SERVING, "Ready");
                ready == "False" && text.contains(named)
            };
            let found = world.until(Duration::from_secs(60), told).await;
            assert!(found.is_some(), "{place}: {:?}", world.condition(SERVING, "Ready"));
            assert_eq!(world.component(SERVING).expect("exists")["status"]["version"], "1.22.0", "{place}");
        }
    });
}

#[test]
fn w09_a_source_that_cannot_be_loaded_is_in_a_condition() {
    run(|| async {
        let world = world(2);
        world.files.break_file("eventing-source/1.23/github/github.yaml", "no such disk");
        world.submit(eventing_with_github(Some("east")));
        let text = world.says(EVENTING, "InstallSucceeded", "False", "Error").await;
        assert!(text.contains("eventing-source/1.23/github"), "{text}");
    });
}

#[test]
fn two_failures_at_once_are_told_once_and_the_cause_first() {
    run(|| async {
        let world = world(7);
        east(&world).server.workloads().script("activator", Readiness::Never);
        let when = Match::any().path("*/configmaps/config-network");
        east(&world).link.add(Rule { when, then: Action::status(403, "Forbidden") });
        world.submit(serving("1.23.0", Some("east")));
        world.pass(Duration::from_secs(60)).await;
        let (_, reason, text) = world.condition(SERVING, "Ready");
        assert!(reason == "ObjectsRejected" && text.contains("config-network"), "{reason}: {text}");
        let start = world.trace.len();
        world.pass(Duration::from_secs(600)).await;
        let told =
            world.trace.requests_since(start).into_iter().filter(|r| r.is_write() && r.cluster == "hub");
        assert_eq!(told.collect::<Vec<_>>(), []);
    });
}

#[test]
fn w37_a_resource_with_a_name_of_any_length_is_installed_and_removed() {
    run(|| async {
        let world = world(3);
        for name in ["n".repeat(64), "n".repeat(253)] {
            let name: &'static str = name.leak();
            let key = ("KnativeServing", "long", name);
            world.submit(component(key, &serving("1.23.0", Some("east"))["spec"]));
            world.ready(key, "1.23.0").await;
            let activator = must_find(&east(&world), "Deployment.apps long/activator");
            let owner = activator["metadata"]["ownerReferences"][0]["name"].as_str().expect("an anchor");
            let anchor = must_find(&east(&world), &format!("ConfigMap. long/{owner}"));
            let label =
                anchor["metadata"]["labels"]["operator.knative.dev/cr-name"].as_str().expect("a label");
            assert!(label.len() <= 63 && label.starts_with("nnnn"), "{label}");
            assert_eq!(anchor["metadata"]["annotations"]["operator.knative.dev/cr"], format!("long/{name}"));
            world.delete(&world.hub, id(key));
            world.gone(key).await;
        }
    });
}

#[test]
fn w44_a_list_shows_version_readiness_reason_and_target() {
    run(|| async {
        let world = world(4);
        world.submit(serving("1.23.0", Some("east")));
        world.ready(SERVING, "1.23.0").await;
        let request = http::Request::get("/apis/operator.knative.dev/v1beta1/knativeservings")
            .header("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
            .body(Vec::new())
            .expect("a request");
        let table =
            async || -> Value { world.hub.server.client().request(request.clone()).await.expect("a table") };
        let listed = table().await;
        let columns = listed["columnDefinitions"].as_array().expect("columns").iter();
        let names: Vec<_> = columns.filter_map(|column| column["name"].as_str()).collect();
        assert_eq!(names, ["Name", "Version", "Ready", "Reason", "Target Cluster", "Age"]);
        let cells = &listed["rows"][0]["cells"];
        assert_eq!((&cells[1], &cells[2], &cells[4]), (&json!("1.23.0"), &json!("True"), &json!("east")));
        world.set_version(SERVING, "1.99.0");
        world.says(SERVING, "VersionMigrationEligible", "False", "Error").await;
        let cells = &table().await["rows"][0]["cells"];
        assert_eq!((&cells[2], &cells[3]), (&json!("False"), &json!("Error")));
        let discovery: Value = {
            let request = http::Request::get("/apis/operator.knative.dev/v1beta1").body(Vec::new());
            world.hub.server.client().request(request.expect("a request")).await.expect("a list")
        };
        let resources = discovery["resources"].as_array().expect("resources").iter();
        let short: Vec<_> = resources.filter_map(|found| found["shortNames"][0].as_str()).collect();
        assert_eq!(short, ["kne", "kns"]);
    });
}

/// Somebody else who writes to the status just before the operator does, once.
struct OtherWriter {
    hub: FakeApiServer,
    done: AtomicBool,
}

impl Tap for OtherWriter {
    fn sent(&self, letter: &Letter) {
        let status = letter.path().contains("/knativeservings/knative-serving/status");
        if status
            && letter.json()["status"]["version"].is_string()
            && !self.done.swap(true, Ordering::Relaxed)
        {
            let (group, kind, namespace, name) = id(SERVING);
            let write = |object: &mut Value| {
                object["status"]["annotations"]["example.org/note"] = json!("theirs");
            };
            self.hub.edit_status(group, kind, namespace, name, write).expect("a valid status");
        }
    }

    fn seen(&self, _: &Seen<'_>) {}

    fn answered(&self, _: &Letter, _: u16) {}
}

#[test]
fn w49_who_writes_to_the_status_at_the_same_time_is_not_written_over() {
    run(|| async {
        let world = world(5);
        let other = Arc::new(OtherWriter { hub: world.hub.server.clone(), done: AtomicBool::new(false) });
        world.network.set_tap(other.clone());
        world.submit(serving("1.23.0", Some("east")));
        world.ready(SERVING, "1.23.0").await;
        assert!(other.done.load(Ordering::Relaxed), "nobody else wrote");
        let conflicts = world.trace.requests_since(0).iter().filter(|request| request.code == 409).count();
        assert!(conflicts > 0, "the write was not guarded");
        let component = world.component(SERVING).expect("exists");
        assert_eq!(component["status"]["annotations"]["example.org/note"], "theirs");
    });
}

#[test]
fn w49_a_stale_read_of_the_resource_never_brings_an_old_inventory_back() {
    run(|| async {
        let world = world(6);
        world.network.remember_answers();
        let inventory = |world: &World| {
            let component = world.component(SERVING).expect("exists");
            component["status"]["annotations"]["operator.knative.dev/inventory"].clone()
        };
        world.submit(serving("1.22.0", Some("east")));
        world.ready(SERVING, "1.22.0").await;
        world.pass(Duration::from_secs(120)).await;
        let old = inventory(&world);
        world.set_version(SERVING, "1.23.0");
        world.ready(SERVING, "1.23.0").await;
        world.pass(Duration::from_secs(30)).await;
        let new = inventory(&world);
        assert_ne!(new, old);
        for _ in 0..20 {
            world.network.serve_stale(HUB, 3);
            world.pass(Duration::from_secs(30)).await;
            assert_eq!(inventory(&world), new);
            assert_eq!(world.component(SERVING).expect("exists")["status"]["version"], "1.23.0");
        }
    });
}
