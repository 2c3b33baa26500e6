//! What is installed is known, whatever was meant to be: nothing that was ever applied is forgotten.

use fake_apiserver::Readiness;
use fake_apiserver::fault::{Action, Match, Rule};
use serde_json::json;
use std::time::Duration;

use super::{add_istio, east, find, left_behind, present, world};
use crate::runtime::run;
use crate::story::{SERVING, id, inventory, serving};

/// What only the Istio plugin installs.
const NET_ISTIO: &[&str] = &[
    "Deployment.apps knative-serving/net-istio-controller",
    "Deployment.apps knative-serving/net-istio-webhook",
    "ClusterRole.rbac.authorization.k8s.io /knative-serving-istio",
    "Gateway.networking.istio.io knative-serving/knative-ingress-gateway",
    "ValidatingWebhookConfiguration.admissionregistration.k8s.io /config.webhook.istio.networking.internal.knative.dev",
    "MutatingWebhookConfiguration.admissionregistration.k8s.io /webhook.istio.networking.internal.knative.dev",
    "Service. istio-system/knative-local-gateway",
];
/// What only the security guard installs.
const GUARD: &[&str] = &[
    "ClusterRole.rbac.authorization.k8s.io /guardian-service",
    "ClusterRoleBinding.rbac.authorization.k8s.io /guardian-admin",
    "Deployment.apps knative-serving/guard-service",
    "ServiceAccount. knative-serving/guard-service-account",
];

#[test]
fn w10_the_former_ingress_goes_however_long_the_new_one_takes_to_roll_out() {
    run(|| async {
        let world = world(1);
        add_istio(&world, &east(&world));
        let mut resource = serving("1.23.0", Some("east"));
        resource["spec"]["ingress"] = json!({"istio": {"enabled": true}});
        world.submit(resource);
        world.ready(SERVING, "1.23.0").await;
        assert_eq!(present(&east(&world), NET_ISTIO), NET_ISTIO);
        let slow = Readiness::After(Duration::from_secs(90));
        east(&world).server.workloads().script("3scale-kourier-gateway", slow);
        world.edit(&world.hub, id(SERVING), |object| {
            object["spec"]["ingress"] = json!({"kourier": {"enabled": true}});
        });
        world.pass(Duration::from_secs(80)).await;
        assert_eq!(present(&east(&world), NET_ISTIO), NET_ISTIO, "gone before its successor serves");
        world.ready(SERVING, "1.23.0").await;
        assert_eq!(present(&east(&world), NET_ISTIO), [""; 0]);
    });
}

#[test]
fn w12_what_a_failed_upgrade_brought_goes_when_the_old_version_is_asked_for_again() {
    run(|| async {
        let world = world(2);
        world.submit(serving("1.22.0", Some("east")));
        world.ready(SERVING, "1.22.0").await;
        let before = inventory(&east(&world));
        // The upgrade stops half way: what comes after the new ConfigMap is refused.
        let when = Match::any().path("*/deployments/controller");
        let refusal = Rule { when, then: Action::status(403, "Forbidden") };
        let refusal = east(&world).link.add(refusal);
        world.set_version(SERVING, "1.23.0");
        world.says(SERVING, "InstallSucceeded", "False", "ObjectsRejected").await;
        assert!(find(&east(&world), "ConfigMap. knative-serving/config-certmanager").is_some());
        world.set_version(SERVING, "1.22.0");
        world.pass(Duration::from_secs(30)).await;
        east(&world).link.remove(refusal);
        world.ready(SERVING, "1.22.0").await;
        let mut left = left_behind(&before, &east(&world));
        // A Job of another content is another Job.
        left.retain(|key| !key.starts_with("Job."));
        assert_eq!(left, [""; 0]);
    });
}

#[test]
fn w13_a_guard_that_is_switched_off_leaves_nothing_behind() {
    run(|| async {
        let world = world(3);
        let guard = |enabled: bool| json!({"securityGuard": {"enabled": enabled}});
        let mut resource = serving("1.23.0", Some("east"));
        resource["spec"]["security"] = guard(true);
        world.submit(resource);
        world.ready(SERVING, "1.23.0").await;
        assert_eq!(present(&east(&world), GUARD), GUARD);
        world.edit(&world.hub, id(SERVING), |object| object["spec"]["security"] = guard(false));
        world.pass(Duration::from_secs(30)).await;
        world.ready(SERVING, "1.23.0").await;
        assert_eq!(present(&east(&world), GUARD), [""; 0]);
    });
}

#[test]
fn w13_a_guard_goes_with_its_resource() {
    run(|| async {
        let world = world(4);
        let before = inventory(&east(&world));
        let mut resource = serving("1.23.0", Some("east"));
        resource["spec"]["security"] = json!({"securityGuard": {"enabled": true}});
        world.submit(resource);
        world.ready(SERVING, "1.23.0").await;
        world.delete(&world.hub, id(SERVING));
        world.gone(SERVING).await;
        assert_eq!(left_behind(&before, &east(&world)), [""; 0]);
    });
}

#[test]
fn w16_an_additional_manifest_that_is_nowhere_to_be_read_any_more_can_be_dropped() {
    run(|| async {
        let mut world = world(5);
        let (url, extra) = ("https://example.org/extra.yaml", "ClusterRole.rbac.authorization.k8s.io /extra");
        world.files.put(
            url,
            "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: extra}, rules: []}",
        );
        let mut resource = serving("1.23.0", Some("east"));
        resource["spec"]["additionalManifests"] = json!([{"URL": url}]);
        world.submit(resource);
        world.ready(SERVING, "1.23.0").await;
        assert!(find(&east(&world), extra).is_some());
        world.files.remove(url);
        world.start_operator();
        world.edit(&world.hub, id(SERVING), |object| object["spec"]["additionalManifests"] = json!([]));
        world.pass(Duration::from_secs(60)).await;
        world.ready(SERVING, "1.23.0").await;
        assert!(find(&east(&world), extra).is_none());
    });
}

#[test]
fn w16_removal_does_not_need_the_release_that_was_installed() {
    run(|| async {
        let mut world = world(8);
        let before = inventory(&east(&world));
        world.submit(serving("1.22.0", Some("east")));
        world.ready(SERVING, "1.22.0").await;
        // Another image of the operator, without that release.
        let read = world.files.reads().into_keys().filter(|path| path.contains("1.22"));
        let read: Vec<_> = read.collect();
        assert!(read.len() > 4, "{read:?}");
        read.iter().for_each(|path| world.files.break_file(path, "not in this image"));
        world.change_image();
        world.start_operator();
        world.says(SERVING, "InstallSucceeded", "False", "Error").await;
        world.delete(&world.hub, id(SERVING));
        world.gone(SERVING).await;
        assert_eq!(left_behind(&before, &east(&world)), [""; 0]);
    });
}

#[test]
fn a_release_that_brings_no_namespace_leaves_that_of_the_release_before() {
    run(|| async {
        let world = world(7);
        world.submit(serving("1.23.0", None));
        world.ready(SERVING, "1.23.0").await;
        let namespace = find(&world.hub, "Namespace. /knative-serving").expect("it holds the resource");
        let url = "https://example.org/serving-1.23.1.yaml";
        world.files.put(
            url,
            "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: one}, rules: []}",
        );
        world.edit(&world.hub, id(SERVING), |object| {
            object["spec"] = json!({"version": "1.23.1", "manifests": [{"URL": url}], "ingress": {}});
        });
        world.ready(SERVING, "1.23.1").await;
        let now = find(&world.hub, "Namespace. /knative-serving").expect("still there");
        assert_eq!(
            (&now["metadata"]["uid"], &now["status"]),
            (&namespace["metadata"]["uid"], &namespace["status"])
        );
        assert!(find(&world.hub, "Deployment.apps knative-serving/activator").is_none());
    });
}

#[test]
fn w53_an_ingress_that_a_release_of_ones_own_does_not_find_is_not_recorded() {
    run(|| async {
        let world = world(6);
        let before = inventory(&east(&world));
        // A release that the operator does not have, without a word about an ingress: Istio's is looked for in vain.
        let url = "https://example.org/serving-1.24.0.yaml";
        world.files.put(
            url,
            "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: one}, rules: []}\n---\n\
             {apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: two}, rules: []}",
        );
        let mut resource = serving("1.24.0", Some("east"));
        resource["spec"] = json!({"version": "1.24.0", "manifests": [{"URL": url}],
                                  "clusterProfileRef": resource["spec"]["clusterProfileRef"]});
        world.submit(resource);
        world.ready(SERVING, "1.24.0").await;
        let component = world.component(SERVING).expect("exists");
        assert_eq!(component["status"]["manifests"], json!([url]));
        world.files.put(
            url,
            "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: two}, rules: []}",
        );
        world.pass(Duration::from_secs(120)).await;
        let roles = ["one", "two"].map(|name| format!("ClusterRole.rbac.authorization.k8s.io /{name}"));
        assert_eq!(roles.map(|role| find(&east(&world), &role).is_some()), [false, true]);
        world.delete(&world.hub, id(SERVING));
        world.gone(SERVING).await;
        assert_eq!(left_behind(&before, &east(&world)), [""; 0]);
    });
}
