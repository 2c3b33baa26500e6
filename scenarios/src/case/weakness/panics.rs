//! No input stops the operator: whatever one resource asks for, it gets an answer and the others are served.

use std::time::Duration;

use serde_json::{Value, json};

use super::world;
use crate::runtime::run;
use crate::story::{EVENTING, component, eventing, serving};
use crate::world::{FLEET, PROVIDER_FILE, World, address, profile, provider_file};

const URL: &str = "https://example.org/odd.yaml";
const ODD: (&str, &str, &str) = ("KnativeServing", "odd", "serving");

/// A Serving on a spoke of its own with an additional manifest, beside a healthy Eventing; what becomes of it.
async fn beside_a_healthy_one(manifest: &Value, change: impl FnOnce(&mut Value)) -> (String, String) {
    let mut world = world(1);
    world.add_spoke("odd");
    world.files.put(URL, manifest.to_string());
    let mut spec = serving("1.23.0", Some("odd"))["spec"].clone();
    spec["additionalManifests"] = json!([{"URL": URL}]);
    change(&mut spec);
    world.submit(component(ODD, &spec));
    world.submit(eventing("1.23.0", Some("east")));
    world.ready(EVENTING, "1.23.0").await;
    answer(&world).await
}

/// Status and message of `Ready` of the odd one, once it is known.
async fn answer(world: &World) -> (String, String) {
    let known = |world: &World| {
        let (status, reason, _) = world.condition(ODD, "Ready");
        matches!(&*status, "True" | "False") && reason != "NotReady"
    };
    assert!(world.until(Duration::from_secs(180), known).await.is_some(), "it got no answer");
    let (status, _, text) = world.condition(ODD, "Ready");
    (status, text)
}

fn object(api_version: &str, kind: &str, name: &str) -> Value {
    json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name}})
}

#[test]
fn w26_objects_with_missing_parts_and_short_names_are_installed() {
    run(|| async {
        let mut binding = object("rbac.authorization.k8s.io/v1", "RoleBinding", "nobody");
        binding["roleRef"] =
            json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"});
        for manifest in [
            object("v1", "ConfigMap", "foo"),
            binding,
            object("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "empty"),
        ] {
            let (ready, text) = beside_a_healthy_one(&manifest, |_| ()).await;
            assert_eq!(ready, "True", "{manifest}: {text}");
        }
    });
}

#[test]
fn w26_a_gateway_with_other_volumes_than_config_maps_is_installed() {
    run(|| async {
        let labels = json!({"app": "gateway"});
        let mut gateway = object("apps/v1", "Deployment", "3scale-kourier-gateway");
        gateway["spec"] = json!({
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {
                "containers": [{"name": "kourier-gateway", "image": "registry.example/gateway"}],
                "volumes": [{"name": "scratch", "emptyDir": {}}, {"name": "config-volume"}],
            }},
        });
        let (ready, text) = beside_a_healthy_one(&gateway, |spec| {
            spec["ingress"]["kourier"]["bootstrap-configmap"] = json!("mine");
        })
        .await;
        assert_eq!(ready, "True", "{text}");
    });
}

#[test]
fn w26_certificates_for_a_controller_without_containers_are_answered() {
    run(|| async {
        let mut controller = object("apps/v1", "Deployment", "controller");
        controller["spec"] = json!({"selector": {"matchLabels": {"app": "c"}},
            "template": {"metadata": {"labels": {"app": "c"}}, "spec": {"containers": []}}});
        let (ready, text) = beside_a_healthy_one(&controller, |spec| {
            spec["controller-custom-certs"] = json!({"type": "ConfigMap", "name": "certs"});
        })
        .await;
        assert_eq!(ready, "False");
        assert!(text.contains("Deployment.apps odd/controller"), "{text}");
    });
}

#[test]
fn w26_broker_defaults_without_a_default_for_the_cluster_are_installed() {
    run(|| async {
        let world = world(2);
        let mut resource = eventing("1.23.0", Some("east"));
        resource["spec"]["config"] = json!({"br-defaults": {"default-br-config": "namespaceDefaults: {}"}});
        world.submit(resource);
        world.ready(EVENTING, "1.23.0").await;
    });
}

#[test]
fn w26_an_empty_extension_of_a_profile_adds_nothing_and_stops_nobody() {
    run(|| async {
        let mut world = world(3);
        world.add_spoke("odd");
        let mut file = provider_file();
        file["providers"][0]["profileSourcedEnvVarsPolicy"] = json!("AppendIfNotExists");
        file["providers"][0]["execConfig"]["env"] = json!([{"name": "A", "value": "file"}]);
        world.files.put(PROVIDER_FILE, file.to_string());
        let mut odd = profile("odd", &address("odd"), "True");
        odd["status"]["accessProviders"][0]["cluster"]["extensions"] = json!([
            {"name": "clusterprofiles.multicluster.x-k8s.io/exec/additional-envs", "extension": "null"},
        ]);
        world.set_profile(&odd);
        world.submit(component(ODD, &serving("1.23.0", Some("odd"))["spec"]));
        world.submit(eventing("1.23.0", Some("east")));
        world.ready(EVENTING, "1.23.0").await;
        world.ready(ODD, "1.23.0").await;
        let runs = world.issuer.requests(&format!("{FLEET}/odd"));
        assert_eq!(runs[0].env, [("A".to_owned(), "file".to_owned())].into());
    });
}
