//! Ready means that what was asked for runs, and nothing that stands in the way stays there.

use std::time::Duration;

use fake_apiserver::Readiness;
use serde_json::json;

use super::{east, eventing_with_github, find, must_find, world};
use crate::runtime::run;
use crate::story::{EVENTING, SERVING, id, serving};
use crate::world::World;

#[test]
fn w21_a_deployment_that_vanishes_before_it_is_ready_is_waited_for_and_made_again() {
    run(|| async {
        let world = world(1);
        east(&world).server.workloads().script("activator", Readiness::After(Duration::from_secs(60)));
        world.submit(serving("1.23.0", Some("east")));
        world.says(SERVING, "DeploymentsAvailable", "False", "NotReady").await;
        world.delete(&east(&world), ("apps", "Deployment", "knative-serving", "activator"));
        // Everything else is ready long before the one that is made again.
        for _ in 0..50 {
            world.pass(Duration::from_secs(1)).await;
            assert_ne!(world.condition(SERVING, "InstallSucceeded").0, "True");
            assert_ne!(world.condition(SERVING, "Ready").0, "True");
        }
        assert!(find(&east(&world), "Deployment.apps knative-serving/activator").is_some());
        world.ready(SERVING, "1.23.0").await;
    });
}

#[test]
fn w21_an_anchor_that_goes_during_the_install_leaves_no_gap_behind_a_ready() {
    run(|| async {
        let world = world(2);
        world.submit(serving("1.23.0", Some("east")));
        world.says(SERVING, "DeploymentsAvailable", "False", "NotReady").await;
        let anchor = ("", "ConfigMap", "knative-serving", "knativeserving-knative-serving-root-owner");
        world.delete(&east(&world), anchor);
        for _ in 0..1_000 {
            world.pass(Duration::from_millis(100)).await;
            let runs = find(&east(&world), "Deployment.apps knative-serving/activator").is_some();
            assert!(runs || world.condition(SERVING, "Ready").0 != "True");
        }
        world.ready(SERVING, "1.23.0").await;
    });
}

#[test]
fn w22_old_pods_that_go_on_serving_do_not_make_an_upgrade_ready() {
    run(|| async {
        let world = world(3);
        world.submit(serving("1.22.0", Some("east")));
        world.ready(SERVING, "1.22.0").await;
        let controller = "Deployment.apps knative-serving/controller";
        let generation =
            |world: &World| must_find(&east(world), controller)["metadata"]["generation"].clone();
        let before = generation(&world);
        world.set_version(SERVING, "1.23.0");
        assert!(world.until(Duration::from_secs(5), |world| generation(world) != before).await.is_some());
        east(&world).server.workloads().script("controller", Readiness::Never);
        world.pass(Duration::from_secs(300)).await;
        assert_eq!(
            must_find(&east(&world), controller)["status"]["availableReplicas"],
            json!(1),
            "the old pods are gone"
        );
        let (status, _, text) = world.condition(SERVING, "DeploymentsAvailable");
        assert_eq!((&*status, &*text), ("False", "Waiting on deployments: controller"));
        assert_eq!(world.component(SERVING).expect("exists")["status"]["version"], "1.22.0");
        // What the old pods need is still there.
        assert!(find(&east(&world), "Deployment.apps knative-serving/domain-mapping").is_some());
        east(&world).server.workloads().script("controller", Readiness::After(Duration::from_secs(1)));
        world.ready(SERVING, "1.23.0").await;
        assert!(find(&east(&world), "Deployment.apps knative-serving/domain-mapping").is_none());
    });
}

#[test]
fn w22_stateful_sets_count_too() {
    run(|| async {
        let world = world(4);
        east(&world).server.workloads().script("github-controller-manager", Readiness::Never);
        world.submit(eventing_with_github(Some("east")));
        world.pass(Duration::from_secs(120)).await;
        let (status, _, text) = world.condition(EVENTING, "DeploymentsAvailable");
        assert_eq!((&*status, &*text), ("False", "Waiting on deployments: github-controller-manager"));
    });
}

#[test]
fn w36_a_namespace_on_its_way_out_is_said_and_waited_for_and_then_installed_again() {
    run(|| async {
        let world = world(5);
        world.submit(serving("1.23.0", Some("east")));
        world.ready(SERVING, "1.23.0").await;
        let held = ("", "ConfigMap", "knative-serving", "held");
        world.create(
            &east(&world),
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {
                "name": "held", "namespace": "knative-serving", "finalizers": ["example.org/hold"]}}),
        );
        world.delete(&east(&world), ("", "Namespace", "", "knative-serving"));
        let text = world.says(SERVING, "InstallSucceeded", "False", "TargetNamespaceTerminating").await;
        assert!(text.contains("knative-serving"), "{text}");
        world.pass(Duration::from_secs(900)).await;
        assert_eq!(world.condition(SERVING, "Ready").1, "TargetNamespaceTerminating");
        world.edit(&east(&world), held, |object| object["metadata"]["finalizers"] = json!([]));
        world.ready(SERVING, "1.23.0").await;
        let namespace = must_find(&east(&world), "Namespace. /knative-serving");
        assert_eq!(namespace["metadata"]["deletionTimestamp"], json!(null));
        assert!(find(&east(&world), "Deployment.apps knative-serving/activator").is_some());
    });
}

#[test]
fn w46_a_dead_webhook_does_not_keep_its_own_repair_out() {
    run(|| async {
        let world = world(6);
        let spoke = east(&world);
        world.submit(serving("1.23.0", Some("east")));
        world.ready(SERVING, "1.23.0").await;
        // Knative gives its webhook something to do, and then its pods die of a bad image.
        let configuration = (
            "admissionregistration.k8s.io",
            "ValidatingWebhookConfiguration",
            "",
            "config.webhook.serving.knative.dev",
        );
        world.edit(&spoke, configuration, |object| {
            object["webhooks"][0]["rules"] = json!([{"apiGroups": [""], "apiVersions": ["v1"],
                "operations": ["CREATE", "UPDATE"], "resources": ["configmaps"]}]);
            object["webhooks"][0].as_object_mut().expect("a webhook").remove("namespaceSelector");
            object["webhooks"][0].as_object_mut().expect("a webhook").remove("objectSelector");
        });
        spoke.server.workloads().script("webhook", Readiness::Never);
        let webhook = ("apps", "Deployment", "knative-serving", "webhook");
        world.delete(&spoke, webhook);
        world.says(SERVING, "DeploymentsAvailable", "False", "NotReady").await;
        // The user corrects the image, and changes a setting that the dead webhook would have to admit.
        world.edit(&world.hub, id(SERVING), |object| {
            object["spec"]["registry"] = json!({"override": {"webhook/webhook": "registry.example/good"}});
            object["spec"]["config"] = json!({"logging": {"loglevel.webhook": "debug"}});
        });
        let text = world.says(SERVING, "InstallSucceeded", "False", "ObjectsRejected").await;
        assert!(text.contains("config-logging") && text.contains("webhook"), "{text}");
        let repaired = must_find(&spoke, "Deployment.apps knative-serving/webhook");
        let image = &repaired["spec"]["template"]["spec"]["containers"][0]["image"];
        assert_eq!(image, "registry.example/good");
        spoke.server.workloads().script("webhook", Readiness::After(Duration::from_secs(2)));
        world.ready(SERVING, "1.23.0").await;
        let logging = must_find(&spoke, "ConfigMap. knative-serving/config-logging");
        assert_eq!(logging["data"]["loglevel.webhook"], "debug");
    });
}
