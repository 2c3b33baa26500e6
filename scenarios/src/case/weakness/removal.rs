//! Removal ends when everything is gone, and only then.

use std::time::Duration;

use fake_apiserver::fault::{Action, Match, Rule};
use serde_json::json;

use super::{ISTIO, add_istio, east, find, left_behind, world};
use crate::runtime::run;
use crate::story::{SERVING, id, inventory, serving};
use crate::world::{PROFILE_GROUP, address};

#[test]
fn w14_a_local_removal_is_complete_although_istio_went_first() {
    run(|| async {
        let mut world = world(1);
        add_istio(&world, &world.hub);
        world.create_namespace(&world.hub, "knative-serving");
        let before = inventory(&world.hub);
        let mut resource = serving("1.23.0", None);
        resource["spec"]["ingress"] = json!({"istio": {"enabled": true}});
        world.submit(resource);
        world.ready(SERVING, "1.23.0").await;
        for (group, _, plural) in ISTIO {
            let name = format!("{plural}.{group}");
            world.delete(&world.hub, ("apiextensions.k8s.io", "CustomResourceDefinition", "", &name));
        }
        // One that never saw Istio's kinds.
        world.start_operator();
        world.delete(&world.hub, id(SERVING));
        world.gone(SERVING).await;
        assert_eq!(left_behind(&before, &world.hub), [""; 0]);
    });
}

#[test]
fn w14_a_local_removal_goes_on_after_errors_and_keeps_the_finalizer_until_it_is_done() {
    run(|| async {
        let world = world(2);
        world.create_namespace(&world.hub, "knative-serving");
        let before = inventory(&world.hub);
        world.submit(serving("1.23.0", None));
        world.ready(SERVING, "1.23.0").await;
        let role = "ClusterRole.rbac.authorization.k8s.io /knative-serving-admin";
        assert!(find(&world.hub, role).is_some());
        let when = Match::method(http::Method::DELETE).path("*/services/activator-service");
        let rule = world.hub.link.add(Rule { when, then: Action::status(403, "Forbidden") });
        world.delete(&world.hub, id(SERVING));
        world.says(SERVING, "DeletionBlocked", "True", "DeletionFailed").await;
        world.pass(Duration::from_secs(120)).await;
        let others = find(&world.hub, "Deployment.apps knative-serving/controller");
        assert!(others.is_none(), "one refusal stopped the rest");
        assert!(world.component(SERVING).is_some() && find(&world.hub, role).is_some());
        world.hub.link.remove(rule);
        world.gone(SERVING).await;
        assert_eq!(left_behind(&before, &world.hub), [""; 0]);
    });
}

#[test]
fn w18_a_namespace_goes_with_the_resource_it_was_made_for() {
    run(|| async {
        let world = world(3);
        world.submit(serving("1.23.0", Some("east")));
        world.ready(SERVING, "1.23.0").await;
        let namespace = "Namespace. /knative-serving";
        assert!(find(&east(&world), namespace).is_some());
        world.delete(&world.hub, id(SERVING));
        world.gone(SERVING).await;
        assert!(find(&east(&world), namespace).is_none());
    });
}

#[test]
fn w19_a_resource_that_is_created_again_at_once_is_installed_whole() {
    run(|| async {
        let world = world(4);
        let bare = inventory(&east(&world));
        world.submit(serving("1.23.0", Some("east")));
        world.ready(SERVING, "1.23.0").await;
        let before = inventory(&east(&world));
        // Its collection takes longer than the user.
        east(&world).server.pause_gc();
        world.delete(&world.hub, id(SERVING));
        world.pass(Duration::from_secs(20)).await;
        assert!(world.component(SERVING).is_some(), "gone before its objects are");
        east(&world).server.resume_gc();
        world.gone(SERVING).await;
        world.submit(serving("1.23.0", Some("east")));
        world.ready(SERVING, "1.23.0").await;
        world.pass(Duration::from_secs(120)).await;
        world.ready(SERVING, "1.23.0").await;
        let after = inventory(&east(&world));
        assert_eq!(after.keys().collect::<Vec<_>>(), before.keys().collect::<Vec<_>>());
        let mut survivors = left_behind(&bare, &east(&world));
        survivors.retain(|key| after[key] == before[key]);
        assert_eq!(survivors, [""; 0], "taken over from the one that was deleted");
    });
}

#[test]
fn w20_a_deletion_without_its_profile_says_so_and_can_be_abandoned_with_a_list() {
    run(|| async {
        let world = world(5);
        world.submit(serving("1.23.0", Some("east")));
        world.ready(SERVING, "1.23.0").await;
        let before = inventory(&east(&world));
        world.delete(&world.hub, (PROFILE_GROUP, "ClusterProfile", "fleet", "east"));
        world.delete(&world.hub, id(SERVING));
        world.says(SERVING, "DeletionBlocked", "True", "ClusterProfileNotFound").await;
        assert_eq!(world.condition(SERVING, "Ready").0, "False");
        world.pass(Duration::from_secs(3600)).await;
        assert!(world.component(SERVING).is_some(), "released without a word of the user");
        world.edit(&world.hub, id(SERVING), |object| {
            object["metadata"]["annotations"]["operator.knative.dev/deletion-policy"] = json!("orphan");
        });
        world.gone(SERVING).await;
        let events = world.hub.server.snapshot().list("", "Event", "knative-serving");
        let told = events.iter().filter(|event| event["reason"] == "Orphaned");
        let told: Vec<_> = told.filter_map(|event| event["message"].as_str()).collect();
        for name in
            ["ClusterRole.rbac", "activator", "ValidatingWebhookConfiguration", "3scale-kourier-gateway"]
        {
            assert!(told.iter().any(|text| text.contains(name)), "{name} is not in {told:#?}");
        }
        let now = inventory(&east(&world));
        assert_eq!(
            now.keys().collect::<Vec<_>>(),
            before.keys().filter(|k| !k.starts_with("Job.")).collect::<Vec<_>>()
        );
        // A profile that comes back changes nothing any more.
        world.create_profile("east", &address("east"));
        world.pass(Duration::from_secs(60)).await;
        assert_eq!(inventory(&east(&world)), now);
    });
}
