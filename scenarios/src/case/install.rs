//! Installing, upgrading, and what stands in the way.

use std::time::Duration;

use crate::runtime::run;
use crate::seed::Seed;
use crate::story::{EVENTING, SERVING, component, eventing, inventory, serving};
use crate::world::{Options, World};
use serde_json::json;

fn world(seed: u64) -> World {
    World::new(Options::new(Seed(seed)))
}

#[test]
fn a_serving_reaches_a_spoke_becomes_ready_and_is_upgraded() {
    run(|| async {
        let mut world = world(1);
        let spoke = world.add_spoke("east");
        world.start_operator();
        world.submit(serving("1.22.0", Some("east")));
        world.ready(SERVING, "1.22.0").await;
        let activator = || spoke.server.get("apps", "Deployment", "knative-serving", "activator");
        let image = |d: &serde_json::Value| d["spec"]["template"]["spec"]["containers"][0]["image"].clone();
        let before = image(&activator().expect("installed"));
        world.set_version(SERVING, "1.23.0");
        world.ready(SERVING, "1.23.0").await;
        assert_ne!(image(&activator().expect("still installed")), before);
        // An object that only the old version has is pruned, one that only the new version has is there.
        assert!(spoke.server.get("apps", "Deployment", "knative-serving", "domain-mapping").is_none());
        assert!(spoke.server.get("", "ConfigMap", "knative-serving", "config-certmanager").is_some());
        // Nothing of it is on the hub.
        assert!(world.hub.server.get("apps", "Deployment", "knative-serving", "activator").is_none());
    });
}

#[test]
fn an_eventing_reaches_a_spoke_and_becomes_ready() {
    run(|| async {
        let mut world = world(2);
        let spoke = world.add_spoke("east");
        world.start_operator();
        world.submit(eventing("1.23.0", Some("east")));
        world.ready(EVENTING, "1.23.0").await;
        assert!(spoke.server.get("apps", "Deployment", "knative-eventing", "eventing-controller").is_some());
    });
}

#[test]
fn a_local_component_is_installed_on_the_hub_and_touches_no_spoke() {
    run(|| async {
        let mut world = world(3);
        let spoke = world.add_spoke("east");
        let before = inventory(&spoke);
        world.start_operator();
        world.submit(serving("1.23.0", None));
        world.ready(SERVING, "1.23.0").await;
        let activator =
            world.hub.server.get("apps", "Deployment", "knative-serving", "activator").expect("installed");
        assert_eq!(activator["metadata"]["ownerReferences"][0]["kind"], "KnativeServing");
        assert_eq!(inventory(&spoke), before);
    });
}

#[test]
fn an_unknown_version_and_a_jump_over_two_minors_are_told_apart() {
    run(|| async {
        let mut world = world(4);
        world.add_spoke("east");
        world.start_operator();
        world.submit(serving("1.99.0", Some("east")));
        let text = world.says(SERVING, "InstallSucceeded", "False", "Error").await;
        assert!(text.contains("1.99.0 are not available"), "{text}");
        world.set_version(SERVING, "1.23.0");
        world.ready(SERVING, "1.23.0").await;
        world.set_version(SERVING, "1.20.0");
        let text = world.says(SERVING, "VersionMigrationEligible", "False", "Error").await;
        assert!(
            text.contains("not supported to upgrade or downgrade across multiple MINOR versions"),
            "{text}"
        );
    });
}

#[test]
fn a_malformed_resource_is_reported_and_does_not_hide_the_others() {
    run(|| async {
        let mut world = world(5);
        world.add_spoke("east");
        world.start_operator();
        // The definition would refuse this one; an older definition on the hub may not.
        world.edit(
            &world.hub,
            ("apiextensions.k8s.io", "CustomResourceDefinition", "", "knativeservings.operator.knative.dev"),
            |crd| {
                crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"] =
                    json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
            },
        );
        let broken = ("KnativeServing", "broken", "broken");
        world.submit(component(broken, &json!({"workloads": "none"})));
        world.submit(eventing("1.23.0", Some("east")));
        let text = world.says(broken, "InstallSucceeded", "False", "Error").await;
        assert!(text.contains("spec.workloads"), "{text}");
        world.ready(EVENTING, "1.23.0").await;
    });
}

#[test]
fn w22_a_stalled_rollout_is_not_ready_and_says_which() {
    run(|| async {
        let mut world = world(6);
        let spoke = world.add_spoke("east");
        spoke.server.workloads().script("activator", fake_apiserver::Readiness::Never);
        world.start_operator();
        world.submit(serving("1.23.0", Some("east")));
        let text = world.says(SERVING, "DeploymentsAvailable", "False", "NotReady").await;
        world.pass(Duration::from_secs(60)).await;
        let (status, _, now) = world.condition(SERVING, "DeploymentsAvailable");
        assert_eq!(
            (status.as_str(), now.as_str()),
            ("False", "Waiting on deployments: activator"),
            "first: {text}"
        );
        assert_eq!(world.component(SERVING).expect("exists")["status"]["version"], json!(null));
    });
}

#[test]
fn w26_a_missing_release_directory_is_named_and_stops_nobody() {
    run(|| async {
        let bundle = crate::files::Bundle::Directory("/no/such/directory".into());
        let mut world = World::new(Options { bundle, ..Options::new(Seed(7)) });
        world.add_spoke("east");
        world.start_operator();
        let mut resource = serving("", Some("east"));
        resource["spec"]["version"] = json!(null);
        world.submit(resource);
        let text = world.says(SERVING, "InstallSucceeded", "False", "Error").await;
        assert!(text.contains("/no/such/directory/knative-serving"), "{text}");
        let url = "https://example.org/eventing.yaml";
        world.files.put(url, "{apiVersion: v1, kind: ConfigMap, metadata: {name: one}}");
        let mut other = eventing("1.23.0", Some("east"));
        other["spec"]["manifests"] = json!([{"URL": url}]);
        world.submit(other);
        world.ready(EVENTING, "1.23.0").await;
    });
}

#[test]
fn a_malformed_release_is_named_with_its_file_and_mended_without_a_restart() {
    run(|| async {
        let mut world = world(8);
        let spoke = world.add_spoke("east");
        let file = "knative-serving/1.23.0/3-serving-hpa.yaml";
        world.files.put(file, "kind: [");
        world.start_operator();
        world.submit(serving("1.23.0", Some("east")));
        let text = world.says(SERVING, "InstallSucceeded", "False", "Error").await;
        assert!(text.contains("1.23.0"), "{text}");
        assert!(spoke.server.get("", "Namespace", "", "knative-serving").is_none(), "something was written");
        world.files.remove(file);
        world.ready(SERVING, "1.23.0").await;
    });
}
