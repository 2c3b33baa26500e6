//! Two resources, one cluster: one of them installs, and takes away all that is its own and nothing else.

use std::time::Duration;

use serde_json::json;

use super::{east, find, left_behind, world};
use crate::runtime::run;
use crate::story::{SERVING, component, id, inventory, serving};

/// Two KnativeServings in namespaces of their own.
const A: (&str, &str, &str) = ("KnativeServing", "a", "serving");
const B: (&str, &str, &str) = ("KnativeServing", "b", "serving");

#[test]
fn w03_of_two_resources_for_one_cluster_the_deleted_one_takes_all_that_is_its_own_along() {
    run(|| async {
        let world = world(1);
        let before = inventory(&east(&world));
        let spec = &serving("1.23.0", Some("east"))["spec"];
        world.submit(component(A, spec));
        world.ready(A, "1.23.0").await;
        world.submit(component(B, spec));
        world.says(B, "TargetClusterResolved", "False", "TargetClusterInUse").await;
        // The other one must not fill the gap while we look.
        world.edit(&world.hub, id(B), |object| {
            object["metadata"]["annotations"]["operator.knative.dev/paused"] = json!("true");
        });
        world.delete(&world.hub, id(A));
        world.gone(A).await;
        assert_eq!(left_behind(&before, &east(&world)), [""; 0]);
        world.edit(&world.hub, id(B), |object| object["metadata"]["annotations"] = json!({}));
        world.ready(B, "1.23.0").await;
        assert!(find(&east(&world), "Deployment.apps b/activator").is_some());
    });
}

#[test]
fn w04_a_resource_that_loses_its_target_is_not_installed_on_the_hub() {
    run(|| async {
        let world = world(2);
        world.submit(serving("1.23.0", Some("east")));
        world.ready(SERVING, "1.23.0").await;
        let before = [inventory(&world.hub), inventory(&east(&world))];
        // The definition refuses such a change; an older one on the hub may not.
        world.edit(
            &world.hub,
            ("apiextensions.k8s.io", "CustomResourceDefinition", "", "knativeservings.operator.knative.dev"),
            |definition| {
                definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"] =
                    json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
            },
        );
        world.edit(&world.hub, id(SERVING), |object| {
            object.as_object_mut().expect("an object").remove("spec");
        });
        let text = world.says(SERVING, "TargetClusterResolved", "False", "TargetChanged").await;
        assert!(text.contains("fleet/east") && text.contains("the local cluster"), "{text}");
        world.pass(Duration::from_secs(300)).await;
        assert_eq!([inventory(&world.hub), inventory(&east(&world))], before);
    });
}

#[test]
fn w05_of_local_resources_only_the_oldest_is_installed_in_its_namespace_or_in_another() {
    run(|| async {
        let world = world(3);
        world.submit(component(A, &serving("1.23.0", None)["spec"]));
        world.ready(A, "1.23.0").await;
        world.create_namespace(&world.hub, B.1);
        world.pass(Duration::from_secs(900)).await;
        let before = inventory(&world.hub);
        for younger in [B, ("KnativeServing", A.1, "second")] {
            world.submit(component(younger, &serving("1.22.0", None)["spec"]));
            let text = world.says(younger, "TargetClusterResolved", "False", "TargetClusterInUse").await;
            assert!(text.contains("a/serving"), "{text}");
            world.pass(Duration::from_secs(120)).await;
            world.delete(&world.hub, id(younger));
            world.gone(younger).await;
        }
        world.pass(Duration::from_secs(120)).await;
        assert_eq!(inventory(&world.hub), before);
        world.ready(A, "1.23.0").await;
    });
}
