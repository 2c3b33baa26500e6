//! What is read from releases and from manifests of users: one object for each identity, blamed for itself, scoped as
//! the cluster says.

use std::time::Duration;

use serde_json::{Value, json};

use super::{
    all_of, east, eventing_with_github, find, left_behind, must_find, permit, present, world, writes,
};
use crate::runtime::run;
use crate::story::{EVENTING, SERVING, component, definition, eventing, id, inventory, serving};

/// Where the manifests of users are here.
const URL: &str = "https://example.org/extra.yaml";

#[test]
fn w07_objects_that_two_parts_of_a_release_define_are_written_once_and_keep_what_both_say() {
    run(|| async {
        let world = world(1);
        world.submit(eventing_with_github(None));
        world.ready(EVENTING, "1.23.0").await;
        world.pass(Duration::from_secs(60)).await;
        let logging = must_find(&world.hub, "ConfigMap. knative-eventing/config-logging");
        // The source says how its own adapter logs, and only the core knows the other.
        assert_eq!(logging["data"]["klog-verbosity"], "0");
        assert_eq!(logging["data"]["loglevel.webhook"], "debug");
        let start = world.trace.len();
        world.pass(Duration::from_secs(3600)).await;
        assert_eq!(writes(&world, start), []);
    });
}

#[test]
fn w15_an_additional_object_without_a_namespace_takes_the_place_of_its_twin() {
    run(|| async {
        let world = world(2);
        world.files.put(
            URL,
            "{apiVersion: v1, kind: ConfigMap, metadata: {name: config-network}, data: {mine: 'yes'}}",
        );
        let key = ("KnativeServing", "elsewhere", "serving");
        let mut spec = serving("1.23.0", Some("east"))["spec"].clone();
        spec["additionalManifests"] = json!([{"URL": URL}]);
        world.submit(component(key, &spec));
        world.ready(key, "1.23.0").await;
        world.pass(Duration::from_secs(60)).await;
        let network = must_find(&east(&world), "ConfigMap. elsewhere/config-network");
        assert_eq!(network["data"], json!({"mine": "yes"}));
        let start = world.trace.len();
        world.pass(Duration::from_secs(1800)).await;
        assert_eq!(writes(&world, start), []);
    });
}

#[test]
fn w25_a_manifest_that_cannot_be_read_any_more_stays_as_it_was_and_costs_nobody_else() {
    run(|| async {
        let mut world = world(3);
        let role = "ClusterRole.rbac.authorization.k8s.io /extra";
        world.files.put(
            URL,
            "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: extra}, rules: []}",
        );
        let mut resource = serving("1.23.0", Some("east"));
        resource["spec"]["additionalManifests"] = json!([{"URL": URL}]);
        world.submit(resource);
        world.ready(SERVING, "1.23.0").await;
        for broken in ["500 with an empty body", "kind: ["] {
            match broken {
                "kind: [" => world.files.put(URL, broken),
                _ => world.files.break_file(URL, broken),
            }
            let text = world.says(SERVING, "ManifestsCurrent", "False", "LastGoodCopy").await;
            assert!(text.contains(URL), "{text}");
            world.pass(Duration::from_secs(600)).await;
            assert!(find(&east(&world), role).is_some(), "{broken}");
            world.ready(SERVING, "1.23.0").await;
        }
        // Another operator has no copy: it says so, takes nothing away, and serves the others.
        world.start_operator();
        let text = world.says(SERVING, "InstallSucceeded", "False", "Error").await;
        assert!(text.contains(URL), "{text}");
        assert!(find(&east(&world), role).is_some());
        world.submit(eventing("1.23.0", Some("east")));
        world.ready(EVENTING, "1.23.0").await;
    });
}

#[test]
fn w29_an_additional_manifest_that_cannot_be_read_is_blamed_itself() {
    run(|| async {
        let world = world(4);
        let mut resource = serving("1.23.0", Some("east"));
        resource["spec"]["additionalManifests"] = json!([{"URL": URL}]);
        world.submit(resource);
        let text = world.says(SERVING, "InstallSucceeded", "False", "Error").await;
        assert!(text.contains(URL) && !text.contains("not available to this release"), "{text}");
    });
}

#[test]
fn w29_an_additional_manifest_of_another_product_may_have_a_version_of_its_own() {
    run(|| async {
        let world = world(5);
        world.files.put(
            URL,
            "{apiVersion: v1, kind: ConfigMap, metadata: {name: theirs, labels: {app.kubernetes.io/version: '2.1'}}}",
        );
        let mut resource = serving("1.23.0", Some("east"));
        resource["spec"]["additionalManifests"] = json!([{"URL": URL}]);
        world.submit(resource);
        world.ready(SERVING, "1.23.0").await;
        assert!(find(&east(&world), "ConfigMap. knative-serving/theirs").is_some());
    });
}

#[test]
fn w45_the_cluster_and_the_manifest_itself_say_which_kinds_have_a_namespace() {
    run(|| async {
        const CLUSTER_SCOPED: &[&str] = &[
            "ClusterIssuer.cert-manager.io /extra",
            "ClusterThing.example.org /extra",
            "IngressClass.networking.k8s.io /extra",
            "RuntimeClass.node.k8s.io /extra",
            "ValidatingAdmissionPolicy.admissionregistration.k8s.io /extra",
        ];
        // A name that sounds like a kind without a namespace.
        const NAMESPACED: &str = "Node.example.org knative-serving/extra";
        let world = world(6);
        let spoke = east(&world);
        world.create(&spoke, definition(("cert-manager.io", "ClusterIssuer", "clusterissuers"), "Cluster"));
        for (group, resources) in [
            ("cert-manager.io", "clusterissuers"),
            ("example.org", "clusterthings"),
            ("example.org", "nodes"),
            ("networking.k8s.io", "ingressclasses"),
            ("node.k8s.io", "runtimeclasses"),
            ("admissionregistration.k8s.io", "validatingadmissionpolicies"),
        ] {
            permit(&world, &spoke, group, resources);
        }
        let before = inventory(&spoke);
        let object = |api: &str, kind: &str, spec: Value| {
            let mut object = spec;
            object["apiVersion"] = json!(api);
            object["kind"] = json!(kind);
            object["metadata"] = json!({"name": "extra"});
            object
        };
        let expression = json!([{"expression": "true"}]);
        let rules = json!([{"apiGroups": ["none"], "apiVersions": ["v1"], "operations": ["CREATE"],
                            "resources": ["none"]}]);
        let documents = [
            definition(("example.org", "ClusterThing", "clusterthings"), "Cluster"),
            definition(("example.org", "Node", "nodes"), "Namespaced"),
            object("example.org/v1", "ClusterThing", json!({})),
            object("example.org/v1", "Node", json!({})),
            object("cert-manager.io/v1", "ClusterIssuer", json!({})),
            object(
                "networking.k8s.io/v1",
                "IngressClass",
                json!({"spec": {"controller": "example.org/none"}}),
            ),
            object("node.k8s.io/v1", "RuntimeClass", json!({"handler": "none"})),
            object(
                "admissionregistration.k8s.io/v1",
                "ValidatingAdmissionPolicy",
                json!({"spec": {"matchConstraints": {"resourceRules": rules}, "validations": expression}}),
            ),
        ];
        world.files.put(URL, documents.map(|document| document.to_string()).join("\n---\n"));
        let mut resource = serving("1.23.0", Some("east"));
        resource["spec"]["additionalManifests"] = json!([{"URL": URL}]);
        world.submit(resource);
        world.ready(SERVING, "1.23.0").await;
        assert_eq!(present(&spoke, CLUSTER_SCOPED), CLUSTER_SCOPED);
        for identity in CLUSTER_SCOPED {
            let metadata = &must_find(&spoke, identity)["metadata"];
            assert_eq!(metadata["ownerReferences"], json!(null), "{identity}");
        }
        let owner = &must_find(&spoke, NAMESPACED)["metadata"]["ownerReferences"][0];
        assert_eq!(owner["kind"], "ConfigMap");
        world.delete(&world.hub, id(SERVING));
        world.gone(SERVING).await;
        assert_eq!(left_behind(&before, &spoke), [""; 0]);
    });
}

#[test]
fn w54_certificates_that_a_user_adds_stay_without_encryption() {
    run(|| async {
        let world = world(7);
        let spoke = east(&world);
        for (kind, plural) in [("Issuer", "issuers"), ("Certificate", "certificates")] {
            world.create(&spoke, definition(("cert-manager.io", kind, plural), "Namespaced"));
        }
        permit(&world, &spoke, "cert-manager.io", "issuers");
        world.files.put(URL, "{apiVersion: cert-manager.io/v1, kind: Issuer, metadata: {name: mine}}");
        let mut resource = eventing("1.23.0", Some("east"));
        resource["spec"]["additionalManifests"] = json!([{"URL": URL}]);
        world.submit(resource);
        world.ready(EVENTING, "1.23.0").await;
        let issuer = "Issuer.cert-manager.io knative-eventing/mine";
        let uid = must_find(&spoke, issuer)["metadata"]["uid"].clone();
        world.edit(&world.hub, id(EVENTING), |object| {
            object["spec"]["config"] = json!({"features": {"kreference-group": "enabled"}});
        });
        world.pass(Duration::from_secs(600)).await;
        world.ready(EVENTING, "1.23.0").await;
        assert_eq!(must_find(&spoke, issuer)["metadata"]["uid"], uid);
        // The release's own certificates are another matter.
        let certificates = all_of(&world, "Certificate.cert-manager.io");
        assert_eq!(certificates, [""; 0]);
        world.edit(&world.hub, id(EVENTING), |object| {
            object["spec"]["config"] = json!({"features": {"transport-encryption": "strict"}});
        });
        world.pass(Duration::from_secs(60)).await;
        world.ready(EVENTING, "1.23.0").await;
        assert_eq!(all_of(&world, "Certificate.cert-manager.io").len(), 3);
        assert_eq!(must_find(&spoke, issuer)["metadata"]["uid"], uid);
    });
}
