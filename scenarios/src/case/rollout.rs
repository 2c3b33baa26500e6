//! A newer release reaches the fleet in waves, if a ConfigMap says so.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};

use crate::runtime::run;
use crate::seed::Seed;
use crate::story::component;
use crate::world::{FLEET, LEASE, Options, PROFILE_GROUP, World};

const OLD: &str = "1.22.0";
const NEW: &str = "1.23.0";

/// Namespaces of the resources, and the stages of their clusters.
const FLEET_OF_SIX: [(&str, &str); 6] =
    [("a", "canary"), ("b", "canary"), ("c", "late"), ("d", "late"), ("e", "late"), ("f", "late")];

fn serving_in(namespace: &'static str) -> (&'static str, &'static str, &'static str) {
    ("KnativeServing", namespace, "ks")
}

fn configure(world: &World, data: &Value) {
    world.create_namespace(&world.hub, LEASE);
    let id = ("", "ConfigMap", LEASE, "config-rollout");
    if world.hub.server.get(id.0, id.1, id.2, id.3).is_some() {
        world.edit(&world.hub, id, |object| object["data"] = data.clone());
    } else {
        let metadata = json!({"name": "config-rollout", "namespace": LEASE});
        world.create(
            &world.hub,
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}),
        );
    }
}

/// Six clusters with the old release. None of the resources names it any more: what a new operator makes of an old fleet.
async fn fleet_behind(seed: u64, config: Option<Value>) -> World {
    let mut world = World::new(Options::new(Seed(seed)));
    for (name, stage) in FLEET_OF_SIX {
        world.add_spoke(name);
        world.edit(&world.hub, (PROFILE_GROUP, "ClusterProfile", FLEET, name), |profile| {
            profile["metadata"]["labels"] = json!({"stage": stage});
        });
        let spec = json!({"version": OLD, "ingress": {"kourier": {"enabled": true}},
                          "clusterProfileRef": {"namespace": FLEET, "name": name}});
        world.submit(component(serving_in(name), &spec));
    }
    world.start_operator();
    for (name, _) in FLEET_OF_SIX {
        world.ready(serving_in(name), OLD).await;
    }
    if let Some(config) = config {
        configure(&world, &config);
    }
    world.stop_operator();
    for (name, _) in FLEET_OF_SIX {
        let (kind, namespace, name) = serving_in(name);
        world.edit(&world.hub, ("operator.knative.dev", kind, namespace, name), |object| {
            if let Some(spec) = object["spec"].as_object_mut() {
                spec.remove("version");
            }
        });
    }
    world.start_operator();
    world
}

/// Who has the new release installed, or is on the way.
fn begun(world: &World) -> BTreeSet<&'static str> {
    let has = |name: &&str| {
        let site = world.site(name).expect("it was added");
        let activator = site.server.get("apps", "Deployment", "a", "activator");
        let activator = activator.or_else(|| site.server.get("apps", "Deployment", name, "activator"));
        activator.unwrap_or_default()["metadata"]["labels"]["app.kubernetes.io/version"] == NEW
    };
    FLEET_OF_SIX.into_iter().map(|(name, _)| name).filter(has).collect()
}

fn ready(world: &World) -> BTreeSet<&'static str> {
    let names = FLEET_OF_SIX.into_iter().map(|(name, _)| name);
    names.filter(|name| world.is_ready(serving_in(name), NEW)).collect()
}

#[test]
fn w51_without_a_configuration_the_whole_fleet_moves_at_once() {
    run(|| async {
        let world = fleet_behind(1, None).await;
        world.until(Duration::from_secs(60), |world| ready(world).len() == 6).await.expect("all move");
    });
}

#[test]
fn w51_waves_move_one_after_the_other_and_never_more_than_may_be_unavailable() {
    run(|| async {
        let waves = "- {name: canary, selector: {matchLabels: {stage: canary}}}\n";
        let world = fleet_behind(2, Some(json!({"waves": waves, "max-unavailable": "1"}))).await;
        let mut most = 0;
        let moved = world.until(Duration::from_secs(900), |world| {
            let (begun, ready) = (begun(world), ready(world));
            let under_way = begun.difference(&ready).count();
            most = most.max(under_way);
            let late_began = begun.iter().any(|name| !matches!(*name, "a" | "b"));
            assert!(!late_began || (ready.contains("a") && ready.contains("b")), "{begun:?} {ready:?}");
            assert!(under_way <= 1, "{begun:?} {ready:?}");
            ready.len() == 6
        });
        let took = moved.await.expect("all move in the end");
        assert_eq!(most, 1, "they do not all move at once");
        assert!(took < Duration::from_secs(300), "{took:?}");
        for (name, _) in FLEET_OF_SIX {
            assert_eq!(world.condition(serving_in(name), "UpgradeHeld").0, "");
        }
    });
}

#[test]
fn w51_a_pause_holds_everybody_where_they_are_and_in_shape_until_it_ends() {
    run(|| async {
        let world = fleet_behind(3, Some(json!({"paused": "true"}))).await;
        let text = world.says(serving_in("c"), "UpgradeHeld", "True", "RolloutHeld").await;
        assert_eq!(text, "1.22.0 stays, 1.23.0 waits: the rollout is paused");
        let east = world.site("c").expect("it was added");
        world.delete(&east, ("apps", "Deployment", "c", "activator"));
        world.pass(Duration::from_secs(300)).await;
        assert!(world.is_ready(serving_in("c"), OLD));
        assert!(east.server.get("apps", "Deployment", "c", "activator").is_some(), "repaired meanwhile");
        assert_eq!(begun(&world), BTreeSet::new());
        let start = world.trace.len();
        world.pass(Duration::from_secs(300)).await;
        assert!(world.trace.requests_since(start).iter().all(|request| request.method == "GET"));
        configure(&world, &json!({"paused": "false"}));
        world.until(Duration::from_secs(180), |world| ready(world).len() == 6).await.expect("all move");
    });
}

#[test]
fn w51_a_configuration_that_cannot_be_read_holds_everybody_and_says_why() {
    run(|| async {
        let world = fleet_behind(4, Some(json!({"max-unavailable": "few"}))).await;
        let text = world.says(serving_in("a"), "UpgradeHeld", "True", "RolloutHeld").await;
        assert!(text.contains("max-unavailable: \"few\" is neither"), "{text}");
        world.pass(Duration::from_secs(120)).await;
        assert_eq!(begun(&world), BTreeSet::new());
    });
}

#[test]
fn w51_a_bad_release_stops_at_the_first_wave_even_if_the_operator_restarts() {
    run(|| async {
        let waves = "- {name: canary, selector: {matchLabels: {stage: canary}}}\n";
        let mut world = fleet_behind(5, Some(json!({"waves": waves}))).await;
        for (name, _) in FLEET_OF_SIX {
            let site = world.site(name).expect("it was added");
            site.server.workloads().script("*", fake_apiserver::Readiness::Never);
        }
        world.start_operator();
        for _ in 0..5 {
            world.pass(Duration::from_secs(100)).await;
            world.start_operator();
        }
        assert!(begun(&world).is_subset(&["a", "b"].into()), "{:?}", begun(&world));
        assert_eq!(ready(&world), BTreeSet::new());
    });
}

#[test]
fn w51_who_names_a_version_is_in_no_wave() {
    run(|| async {
        let world = fleet_behind(6, Some(json!({"paused": "true"}))).await;
        world.says(serving_in("f"), "UpgradeHeld", "True", "RolloutHeld").await;
        let (kind, namespace, name) = serving_in("f");
        world.edit(&world.hub, ("operator.knative.dev", kind, namespace, name), |object| {
            object["spec"]["version"] = json!(NEW);
        });
        let moved = |world: &World| world.is_ready(serving_in("f"), NEW);
        world.until(Duration::from_secs(60), moved).await.expect("it moves");
        assert_eq!(world.condition(serving_in("f"), "UpgradeHeld").0, "");
        assert_eq!(begun(&world), ["f"].into());
    });
}
