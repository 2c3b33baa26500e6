//! At rest: nothing is written, and what others change is put back.

use std::time::Duration;

use crate::runtime::run;
use crate::seed::Seed;
use crate::story::{EVENTING, SERVING, eventing, id, serving};
use crate::trace::Exchange;
use crate::world::{Options, World, address};
use serde_json::json;

fn writes(world: &World, since: usize) -> Vec<Exchange> {
    world.trace.requests_since(since).into_iter().filter(Exchange::is_write).collect()
}

#[test]
fn an_hour_at_rest_takes_no_write_anywhere() {
    run(|| async {
        let mut world = World::new(Options::new(Seed(1)));
        world.add_spoke("east");
        world.start_operator();
        world.submit(serving("1.23.0", Some("east")));
        world.submit(eventing("1.23.0", Some("east")));
        world.ready(SERVING, "1.23.0").await;
        world.ready(EVENTING, "1.23.0").await;
        world.pass(Duration::from_secs(60)).await;
        let start = world.trace.len();
        world.pass(Duration::from_secs(3600)).await;
        assert_eq!(writes(&world, start), []);
        assert!(world.trace.len() > start + 100, "the operator does not look");
    });
}

#[test]
fn w23_an_edit_and_a_deletion_on_the_spoke_are_repaired_with_one_write_each() {
    run(|| async {
        let mut world = World::new(Options::new(Seed(2)));
        let spoke = world.add_spoke("east");
        world.start_operator();
        world.submit(serving("1.23.0", Some("east")));
        world.ready(SERVING, "1.23.0").await;
        world.pass(Duration::from_secs(60)).await;
        let deployment = ("apps", "Deployment", "knative-serving", "controller");
        let image = |world: &World| {
            let site = world.network.site(&address("east")).expect("added above");
            let found = site.server.get(deployment.0, deployment.1, deployment.2, deployment.3);
            found.expect("installed")["spec"]["template"]["spec"]["containers"][0]["image"].clone()
        };
        let before = image(&world);
        let start = world.trace.len();
        world.edit(&spoke, deployment, |object| {
            object["spec"]["template"]["spec"]["containers"][0]["image"] = json!("evil");
        });
        world.delete(&spoke, ("", "ConfigMap", "knative-serving", "config-network"));
        world.pass(Duration::from_secs(300)).await;
        assert_eq!(image(&world), before);
        assert!(spoke.server.get("", "ConfigMap", "knative-serving", "config-network").is_some());
        let on_spoke: Vec<_> = writes(&world, start).into_iter().filter(|w| w.cluster == "east").collect();
        assert_eq!(on_spoke.len(), 2, "{on_spoke:#?}");
    });
}

#[test]
fn a_restarted_operator_finds_everything_in_shape_without_writing() {
    run(|| async {
        let mut world = World::new(Options::new(Seed(3)));
        world.add_spoke("east");
        world.start_operator();
        world.submit(serving("1.23.0", Some("east")));
        world.ready(SERVING, "1.23.0").await;
        world.pass(Duration::from_secs(60)).await;
        world.stop_operator();
        let start = world.trace.len();
        world.start_operator();
        world.pass(Duration::from_secs(300)).await;
        assert_eq!(writes(&world, start), []);
    });
}

#[test]
fn w34_after_its_anchor_is_deleted_everything_comes_back_under_the_new_one() {
    run(|| async {
        let mut world = World::new(Options::new(Seed(4)));
        let spoke = world.add_spoke("east");
        world.start_operator();
        world.submit(serving("1.23.0", Some("east")));
        world.ready(SERVING, "1.23.0").await;
        let anchor = ("", "ConfigMap", "knative-serving", "knativeserving-knative-serving-root-owner");
        world.delete(&spoke, anchor);
        world.pass(Duration::from_secs(300)).await;
        world.ready(SERVING, "1.23.0").await;
        let anchor = spoke.server.get(anchor.0, anchor.1, anchor.2, anchor.3).expect("made again");
        let activator =
            spoke.server.get("apps", "Deployment", "knative-serving", "activator").expect("made again");
        assert_eq!(activator["metadata"]["ownerReferences"][0]["uid"], anchor["metadata"]["uid"]);
    });
}

#[test]
fn what_changes_during_a_pause_is_neither_installed_nor_called_ready_until_it_ends() {
    run(|| async {
        let mut world = World::new(Options::new(Seed(6)));
        world.add_spoke("east");
        world.start_operator();
        world.submit(serving("1.22.0", Some("east")));
        world.ready(SERVING, "1.22.0").await;
        let pause = |world: &World, paused: &str| {
            world.edit(&world.hub, id(SERVING), |object| {
                object["metadata"]["annotations"]["operator.knative.dev/paused"] = json!(paused);
            });
        };
        pause(&world, "true");
        world.says(SERVING, "Paused", "True", "PausedByAnnotation").await;
        let start = world.trace.len();
        world.set_version(SERVING, "1.23.0");
        world.pass(Duration::from_secs(300)).await;
        let component = world.component(SERVING).expect("nobody deletes it");
        assert_ne!(component["status"]["observedGeneration"], component["metadata"]["generation"]);
        assert!(writes(&world, start).iter().all(|write| write.cluster == "hub"));
        pause(&world, "false");
        world.ready(SERVING, "1.23.0").await;
    });
}
