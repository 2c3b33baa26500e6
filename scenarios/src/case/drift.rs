//! Drift: repaired and counted, or reported and left alone.

use std::time::Duration;

use serde_json::{Value, json};

use crate::network::Site;
use crate::runtime::run;
use crate::seed::Seed;
use crate::story::{SERVING, id, serving};
use crate::world::{Options, World};

const ACTIVATOR: (&str, &str, &str, &str) = ("apps", "Deployment", "knative-serving", "activator");
const ROLE: (&str, &str, &str, &str) = ("", "ConfigMap", "knative-serving", "config-network");

/// A world with a settled installation.
async fn settled(seed: u64, annotations: Value) -> (World, Site) {
    let mut world = World::new(Options::new(Seed(seed)));
    let east = world.add_spoke("east");
    world.start_operator();
    let mut component = serving("1.23.0", Some("east"));
    component["metadata"]["annotations"] = annotations;
    world.submit(component);
    world.ready(SERVING, "1.23.0").await;
    world.pass(Duration::from_secs(70)).await;
    (world, east)
}

fn tally(world: &World) -> Value {
    let component = world.component(SERVING).expect("it is there");
    let text = component["status"]["annotations"]["operator.knative.dev/drift"].as_str().unwrap_or("{}");
    serde_json::from_str(text).expect("a JSON object")
}

/// Spoils one object and deletes another.
fn meddle(world: &World, east: &Site) {
    world.edit(east, ACTIVATOR, |object| {
        object["spec"]["template"]["spec"]["containers"][0]["image"] = json!("evil.test/activator");
    });
    world.delete(east, ROLE);
}

fn image(east: &Site) -> Value {
    let (group, kind, namespace, name) = ACTIVATOR;
    let activator = east.server.get(group, kind, namespace, name).expect("it is there");
    activator["spec"]["template"]["spec"]["containers"][0]["image"].clone()
}

fn writes_since(world: &World, start: usize) -> Vec<String> {
    let sent = world.trace.requests_since(start).into_iter();
    sent.filter(|request| request.method != "GET").map(|request| request.path).collect()
}

fn counted(world: &World, change: &str) -> u64 {
    let series = format!("knative_operator_objects_total{{change=\"{change}\"}} ");
    let text = world.metrics.text();
    let found = text.lines().find_map(|line| line.strip_prefix(&series)?.parse().ok());
    found.unwrap_or_default()
}

#[test]
fn drift_is_repaired_counted_and_shown_until_a_look_finds_none() {
    run(|| async {
        let (world, east) = settled(1, json!({})).await;
        assert_eq!((tally(&world), counted(&world, "repaired")), (json!({}), 0));
        let wanted = image(&east);
        meddle(&world, &east);
        let text = world.says(SERVING, "Drifted", "True", "ObjectsDrifted").await;
        assert!(text.contains("2 objects: "), "{text}");
        assert!(text.contains("activator") && text.contains("config-network"), "{text}");
        world.ready(SERVING, "1.23.0").await;
        assert_eq!(image(&east), wanted);
        assert_eq!((&tally(&world)["repaired"], counted(&world, "repaired")), (&json!(2), 2));
        world.pass(Duration::from_secs(140)).await;
        assert_eq!(world.condition(SERVING, "Drifted").0, "", "the condition speaks of the last look only");
        let start = world.trace.len();
        world.pass(Duration::from_secs(600)).await;
        assert_eq!(writes_since(&world, start), [""; 0]);
        assert_eq!(tally(&world)["repaired"], 2);
    });
}

#[test]
fn drift_counts_after_a_restart_of_the_operator_too_and_not_what_the_restart_itself_does() {
    run(|| async {
        let (mut world, east) = settled(2, json!({})).await;
        world.start_operator();
        world.pass(Duration::from_secs(140)).await;
        assert_eq!(tally(&world), json!({}));
        world.stop_operator();
        meddle(&world, &east);
        world.start_operator();
        world.pass(Duration::from_secs(140)).await;
        assert_eq!(tally(&world)["repaired"], 2);
    });
}

#[test]
fn an_upgrade_or_a_change_of_the_resource_is_no_drift() {
    run(|| async {
        let (world, _east) = settled(3, json!({})).await;
        world.set_version(SERVING, "1.22.0");
        world.ready(SERVING, "1.22.0").await;
        world.edit(&world.hub, id(SERVING), |object| {
            object["spec"]["config"] = json!({"network": {"a": "b"}});
        });
        world.pass(Duration::from_secs(140)).await;
        assert_eq!((tally(&world), counted(&world, "repaired")), (json!({}), 0));
    });
}

#[test]
fn a_deleted_anchor_is_one_drifted_object_and_not_all_that_it_owned() {
    run(|| async {
        let (world, east) = settled(4, json!({})).await;
        // Its objects follow it only later.
        east.server.pause_gc();
        let anchor = ("", "ConfigMap", "knative-serving", "knativeserving-knative-serving-root-owner");
        world.delete(&east, anchor);
        let text = world.says(SERVING, "Drifted", "True", "ObjectsDrifted").await;
        assert!(text.contains("1 object: ConfigMap knative-serving/knativeserving-"), "{text}");
        east.server.resume_gc();
        world.ready(SERVING, "1.23.0").await;
    });
}

#[test]
fn with_the_policy_report_drift_is_told_and_nothing_is_written_until_the_policy_goes() {
    run(|| async {
        let policy = json!({"operator.knative.dev/drift-policy": "report"});
        let (world, east) = settled(5, policy).await;
        meddle(&world, &east);
        let text = world.says(SERVING, "Drifted", "True", "DriftReported").await;
        assert!(text.contains("left so: 2 objects: "), "{text}");
        assert_eq!((tally(&world), counted(&world, "reported")), (json!({"reported": 2}), 2));
        let start = world.trace.len();
        world.pass(Duration::from_secs(600)).await;
        assert_eq!(writes_since(&world, start), [""; 0]);
        assert_eq!((image(&east), counted(&world, "reported")), (json!("evil.test/activator"), 2));
        assert!(world.is_ready(SERVING, "1.23.0"), "drift does not count for Ready");
        world.edit(&world.hub, id(SERVING), |object| object["metadata"]["annotations"] = json!({}));
        world.says(SERVING, "Drifted", "True", "ObjectsDrifted").await;
        world.pass(Duration::from_secs(140)).await;
        assert_eq!(
            (tally(&world)["repaired"].clone(), tally(&world)["reported"].clone()),
            (json!(2), json!(null))
        );
        assert_ne!(image(&east), json!("evil.test/activator"));
    });
}

#[test]
fn with_the_policy_report_what_the_resource_newly_asks_for_is_installed_all_the_same() {
    run(|| async {
        let policy = json!({"operator.knative.dev/drift-policy": "report"});
        let (world, east) = settled(6, policy).await;
        meddle(&world, &east);
        world.says(SERVING, "Drifted", "True", "DriftReported").await;
        world.set_version(SERVING, "1.22.0");
        world.ready(SERVING, "1.22.0").await;
        assert_ne!(image(&east), json!("evil.test/activator"));
        world.pass(Duration::from_secs(140)).await;
        assert_eq!((tally(&world), world.condition(SERVING, "Drifted").0), (json!({}), String::new()));
    });
}

#[test]
fn with_the_policy_report_a_lost_anchor_is_not_made_again_and_ready_says_so() {
    run(|| async {
        let policy = json!({"operator.knative.dev/drift-policy": "report"});
        let (world, east) = settled(7, policy).await;
        let anchor = ("", "ConfigMap", "knative-serving", "knativeserving-knative-serving-root-owner");
        world.delete(&east, anchor);
        world.says(SERVING, "InstallSucceeded", "False", "DriftReported").await;
        let start = world.trace.len();
        world.pass(Duration::from_secs(300)).await;
        assert_eq!(writes_since(&world, start), [""; 0]);
        let (group, kind, namespace, name) = anchor;
        assert!(east.server.get(group, kind, namespace, name).is_none());
        world.edit(&world.hub, id(SERVING), |object| object["metadata"]["annotations"] = json!({}));
        world.ready(SERVING, "1.23.0").await;
    });
}
