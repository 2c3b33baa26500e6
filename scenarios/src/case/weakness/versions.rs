//! Which release may follow which: also by what is on the cluster, where a status knows nothing of it.

use fake_apiserver::fault::{Action, Match, Rule};
use serde_json::{Value, json};

use super::{east, find, must_find, parts, world};
use crate::runtime::run;
use crate::story::{EVENTING, SERVING, component, definition, eventing, id, serving};
use crate::world::World;

/// A release that is not bundled: one definition, by URL. Returns the `spec` that asks for it.
fn release(world: &World, group: &str, kind: &str, version: &str) -> Value {
    let plural = format!("{}s", kind.to_lowercase());
    let mut definition = definition((group, kind, &plural), "Namespaced");
    definition["metadata"]["labels"] = json!({"app.kubernetes.io/version": version});
    let url = format!("https://example.org/{version}.yaml");
    world.files.put(&url, definition.to_string());
    json!({"version": version, "manifests": [{"URL": url}], "ingress": {},
           "clusterProfileRef": {"namespace": "fleet", "name": "east"}})
}

#[test]
fn w38_definitions_that_outlived_a_resource_still_say_what_may_follow_them() {
    run(|| async {
        let world = world(1);
        let old = release(&world, "serving.knative.dev", "Service", "1.20.0");
        world.submit(component(SERVING, &old));
        world.ready(SERVING, "1.20.0").await;
        world.delete(&world.hub, id(SERVING));
        world.gone(SERVING).await;
        world.submit(serving("1.23.0", Some("east")));
        let text = world.says(SERVING, "VersionMigrationEligible", "False", "Error").await;
        assert!(text.contains("v1.20.0") && text.contains("services.serving.knative.dev"), "{text}");
        let definition = "CustomResourceDefinition.apiextensions.k8s.io /services.serving.knative.dev";
        let label = &must_find(&east(&world), definition)["metadata"]["labels"]["app.kubernetes.io/version"];
        assert_eq!(label, "1.20.0");
        assert!(find(&east(&world), "Namespace. /knative-serving").is_none(), "something was written");
        // Who has nothing to lose deletes them.
        let (group, kind, namespace, name) = parts(definition);
        world.delete(&east(&world), (group, kind, namespace, name));
        world.ready(SERVING, "1.23.0").await;
    });
}

#[test]
fn w38_a_half_done_upgrade_cannot_be_followed_by_a_release_two_minors_below_it() {
    run(|| async {
        let world = world(2);
        world.submit(serving("1.22.0", Some("east")));
        world.ready(SERVING, "1.22.0").await;
        let when = Match::any().path("*/deployments/controller");
        let refusal = east(&world).link.add(Rule { when, then: Action::status(403, "Forbidden") });
        world.set_version(SERVING, "1.23.0");
        world.says(SERVING, "InstallSucceeded", "False", "ObjectsRejected").await;
        let below = release(&world, "serving.knative.dev", "Service", "1.21.0");
        world.edit(&world.hub, id(SERVING), |object| object["spec"] = below);
        let text = world.says(SERVING, "VersionMigrationEligible", "False", "Error").await;
        assert!(text.contains("v1.23.0"), "{text}");
        east(&world).link.remove(refusal);
        let back = serving("1.22.0", Some("east"))["spec"].clone();
        world.edit(&world.hub, id(SERVING), |object| object["spec"] = back);
        world.ready(SERVING, "1.22.0").await;
    });
}

#[test]
fn w38_the_message_names_the_component_it_is_about() {
    run(|| async {
        let world = world(3);
        world.submit(eventing("1.23.0", Some("east")));
        world.ready(EVENTING, "1.23.0").await;
        world.set_version(EVENTING, "1.19.0");
        let text = world.says(EVENTING, "VersionMigrationEligible", "False", "Error").await;
        assert!(text.contains("KnativeEventing") && !text.contains("KnativeServing"), "{text}");
    });
}
