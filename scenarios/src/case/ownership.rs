//! Who owns an installation: one custom resource of a kind for each cluster, one hub for each anchor.

use std::time::Duration;

use crate::runtime::run;
use crate::seed::Seed;
use crate::story::{SERVING, component, id, inventory, serving};
use crate::world::{Options, World, address};
use serde_json::json;

const SECOND: (&str, &str, &str) = ("KnativeServing", "team-b", "second");

#[test]
fn w05_br79_a_second_resource_for_the_same_cluster_is_refused_even_under_another_profile() {
    run(|| async {
        let mut world = World::new(Options::new(Seed(1)));
        let spoke = world.add_spoke("east");
        world.create_profile("east-too", &address("east"));
        world.start_operator();
        world.submit(serving("1.23.0", Some("east")));
        world.ready(SERVING, "1.23.0").await;
        let before = inventory(&spoke);
        world.submit(component(SECOND, &serving("1.22.0", Some("east-too"))["spec"]));
        let text = world.says(SECOND, "TargetClusterResolved", "False", "TargetClusterInUse").await;
        assert!(text.contains("knative-serving/knative-serving"), "{text}");
        world.delete(&world.hub, id(SECOND));
        world.gone(SECOND).await;
        assert_eq!(inventory(&spoke), before);
    });
}

#[test]
fn the_second_resource_takes_its_turn_when_the_first_is_gone() {
    run(|| async {
        let mut world = World::new(Options::new(Seed(2)));
        world.add_spoke("east");
        world.start_operator();
        world.submit(serving("1.23.0", Some("east")));
        world.ready(SERVING, "1.23.0").await;
        world.submit(component(SECOND, &serving("1.23.0", Some("east"))["spec"]));
        world.says(SECOND, "TargetClusterResolved", "False", "TargetClusterInUse").await;
        world.delete(&world.hub, id(SERVING));
        world.ready(SECOND, "1.23.0").await;
    });
}

#[test]
fn w06_an_anchor_of_another_hub_is_refused_and_survives_our_deletion() {
    run(|| async {
        let mut world = World::new(Options::new(Seed(3)));
        let spoke = world.add_spoke("east");
        world.create_namespace(&spoke, "knative-serving");
        let anchor = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {
        "namespace": "knative-serving", "name": "knativeserving-knative-serving-root-owner",
        "annotations": {
            "operator.knative.dev/hub-uid": "another-hub",
            "operator.knative.dev/cr-uid": "theirs",
            "operator.knative.dev/cr": "knative-serving/knative-serving",
        }}});
        world.create(&spoke, anchor);
        let before = inventory(&spoke);
        world.start_operator();
        world.submit(serving("1.23.0", Some("east")));
        let text = world.says(SERVING, "TargetClusterResolved", "False", "AnchorOwnedElsewhere").await;
        assert!(text.contains("another-hub") && text.contains("operator.knative.dev/adopt"), "{text}");
        world.delete(&world.hub, id(SERVING));
        world.gone(SERVING).await;
        world.pass(Duration::from_secs(60)).await;
        assert_eq!(inventory(&spoke), before);
    });
}

#[test]
fn w04_a_changed_target_touches_neither_cluster() {
    run(|| async {
        let mut world = World::new(Options::new(Seed(4)));
        let east = world.add_spoke("east");
        let west = world.add_spoke("west");
        world.start_operator();
        world.submit(serving("1.23.0", Some("east")));
        world.ready(SERVING, "1.23.0").await;
        let before = (inventory(&east), inventory(&west));
        // The definition refuses such a change; a replaced definition may not.
        world.edit(
            &world.hub,
            ("apiextensions.k8s.io", "CustomResourceDefinition", "", "knativeservings.operator.knative.dev"),
            |crd| {
                crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"] =
                    json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
            },
        );
        world.edit(&world.hub, id(SERVING), |object| {
            object["spec"]["clusterProfileRef"]["name"] = json!("west")
        });
        world.says(SERVING, "TargetClusterResolved", "False", "TargetChanged").await;
        world.pass(Duration::from_secs(120)).await;
        assert_eq!((inventory(&east), inventory(&west)), before);
    });
}
