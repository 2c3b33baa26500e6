//! Deleting a custom resource: nothing of it stays, nothing else goes.

use std::time::Duration;

use crate::network::Site;
use crate::runtime::run;
use crate::seed::Seed;
use crate::story::{EVENTING, SERVING, added, eventing, id, inventory, serving};
use crate::world::{Options, World, address};
use serde_json::json;

fn installed(seed: u64) -> World {
    let mut world = World::new(Options::new(Seed(seed)));
    world.add_spoke("east");
    world.start_operator();
    world
}

fn spoke(world: &World) -> Site {
    world.network.site(&address("east")).expect("added above")
}

/// What a removal may leave behind: definitions and their custom resources.
fn leftovers(before: &std::collections::BTreeMap<String, String>, site: &Site) -> Vec<String> {
    added(before, &inventory(site))
        .into_iter()
        .filter(|key| !key.starts_with("CustomResourceDefinition."))
        .collect()
}

#[test]
fn w19_a_deleted_component_leaves_nothing_but_definitions() {
    run(|| async {
        let world = installed(1);
        let before = inventory(&spoke(&world));
        world.submit(serving("1.23.0", Some("east")));
        world.ready(SERVING, "1.23.0").await;
        world.delete(&world.hub, id(SERVING));
        world.gone(SERVING).await;
        assert_eq!(leftovers(&before, &spoke(&world)), [""; 0]);
    });
}

#[test]
fn a_deleted_local_component_leaves_nothing_but_definitions() {
    run(|| async {
        let world = installed(2);
        world.create_namespace(&world.hub, "knative-serving");
        let before = inventory(&world.hub);
        world.submit(serving("1.23.0", None));
        world.ready(SERVING, "1.23.0").await;
        world.delete(&world.hub, id(SERVING));
        world.gone(SERVING).await;
        assert_eq!(leftovers(&before, &world.hub), [""; 0]);
    });
}

#[test]
fn w17_a_service_outside_the_namespace_of_the_anchor_goes_too() {
    run(|| async {
        let world = installed(3);
        world.create_namespace(&spoke(&world), "istio-system");
        let mut resource = serving("1.23.0", Some("east"));
        resource["spec"]["ingress"] = json!({"istio": {"enabled": true}});
        world.submit(resource);
        let gateway =
            |world: &World| spoke(world).server.get("", "Service", "istio-system", "knative-local-gateway");
        // Istio's own kinds are not there, so this one does not get Ready; that is no reason to leave anything behind.
        world.says(SERVING, "InstallSucceeded", "False", "ObjectsRejected").await;
        let owners = gateway(&world).expect("applied")["metadata"]["ownerReferences"].clone();
        assert_eq!(owners, json!(null), "an owner in another namespace would be invalid");
        world.delete(&world.hub, id(SERVING));
        world.gone(SERVING).await;
        assert!(gateway(&world).is_none());
    });
}

#[test]
fn objects_of_others_survive_the_removal_and_so_does_their_namespace() {
    run(|| async {
        let world = installed(4);
        world.create_namespace(&spoke(&world), "knative-serving");
        world.create(
            &spoke(&world),
            json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "theirs", "namespace": "knative-serving"}}),
        );
        let before = inventory(&spoke(&world));
        world.submit(serving("1.23.0", Some("east")));
        world.ready(SERVING, "1.23.0").await;
        world.delete(&world.hub, id(SERVING));
        world.gone(SERVING).await;
        assert_eq!(leftovers(&before, &spoke(&world)), [""; 0]);
        assert_eq!(added(&inventory(&spoke(&world)), &before), [""; 0]);
        let namespace = spoke(&world).server.get("", "Namespace", "", "knative-serving").expect("theirs");
        assert_eq!(
            namespace["metadata"]["labels"],
            json!({"kubernetes.io/metadata.name": "knative-serving"})
        );
    });
}

#[test]
fn what_serving_and_eventing_share_stays_as_long_as_one_of_them_does() {
    run(|| async {
        let world = installed(5);
        world.submit(serving("1.23.0", Some("east")));
        world.submit(eventing("1.23.0", Some("east")));
        world.ready(SERVING, "1.23.0").await;
        world.ready(EVENTING, "1.23.0").await;
        world.delete(&world.hub, id(SERVING));
        world.gone(SERVING).await;
        world.pass(Duration::from_secs(120)).await;
        world.ready(EVENTING, "1.23.0").await;
    });
}

#[test]
fn w20_a_deletion_waits_for_a_dead_spoke_says_so_and_ends_when_it_is_back() {
    run(|| async {
        let world = installed(6);
        let before = inventory(&spoke(&world));
        world.submit(serving("1.23.0", Some("east")));
        world.ready(SERVING, "1.23.0").await;
        spoke(&world).link.cut();
        world.delete(&world.hub, id(SERVING));
        let text = world.says(SERVING, "DeletionBlocked", "True", "RemoteClusterUnreachable").await;
        assert!(text.contains("fleet/east"), "{text}");
        world.pass(Duration::from_secs(3600)).await;
        assert!(world.component(SERVING).is_some());
        spoke(&world).link.heal();
        world.gone(SERVING).await;
        assert_eq!(leftovers(&before, &spoke(&world)), [""; 0]);
    });
}

#[test]
fn w02_a_deletion_goes_through_after_the_operator_was_restarted() {
    run(|| async {
        let mut world = installed(8);
        let before = inventory(&spoke(&world));
        world.submit(serving("1.23.0", Some("east")));
        world.ready(SERVING, "1.23.0").await;
        world.stop_operator();
        world.delete(&world.hub, id(SERVING));
        world.start_operator();
        world.gone(SERVING).await;
        assert_eq!(leftovers(&before, &spoke(&world)), [""; 0]);
    });
}

#[test]
fn a_deleted_profile_leaves_the_spoke_alone() {
    run(|| async {
        let world = installed(9);
        world.submit(serving("1.23.0", Some("east")));
        world.ready(SERVING, "1.23.0").await;
        // Finished Jobs go by themselves after ten minutes.
        world.pass(Duration::from_secs(900)).await;
        let before = inventory(&spoke(&world));
        world.delete(&world.hub, ("multicluster.x-k8s.io", "ClusterProfile", "fleet", "east"));
        world.says(SERVING, "TargetClusterResolved", "False", "ClusterProfileNotFound").await;
        world.pass(Duration::from_secs(600)).await;
        assert_eq!(inventory(&spoke(&world)), before);
        world.create_profile("east", &address("east"));
        world.ready(SERVING, "1.23.0").await;
    });
}

#[test]
fn w12_a_half_finished_install_is_removed_whole() {
    run(|| async {
        let world = installed(10);
        world.create_namespace(&spoke(&world), "istio-system");
        let before = inventory(&spoke(&world));
        let mut resource = serving("1.23.0", Some("east"));
        resource["spec"]["ingress"] = json!({"istio": {"enabled": true}});
        world.submit(resource);
        let text = world.says(SERVING, "InstallSucceeded", "False", "ObjectsRejected").await;
        assert!(text.contains("no matches for kind"), "{text}");
        world.delete(&world.hub, id(SERVING));
        world.gone(SERVING).await;
        assert_eq!(leftovers(&before, &spoke(&world)), [""; 0]);
    });
}

#[test]
fn w16_br16_removal_does_not_need_the_manifests_that_were_installed() {
    run(|| async {
        let mut world = installed(11);
        let before = inventory(&spoke(&world));
        let url = "https://example.org/extra.yaml";
        world.files.put(url, "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: extra}, rules: []}");
        let mut resource = serving("1.23.0", Some("east"));
        resource["spec"]["additionalManifests"] = json!([{"URL": url}]);
        world.submit(resource);
        world.ready(SERVING, "1.23.0").await;
        assert!(spoke(&world).server.get("rbac.authorization.k8s.io", "ClusterRole", "", "extra").is_some());
        world.files.remove(url);
        world.start_operator();
        world.delete(&world.hub, id(SERVING));
        world.gone(SERVING).await;
        assert_eq!(leftovers(&before, &spoke(&world)), [""; 0]);
    });
}

#[test]
fn w11_br60_a_refused_prune_is_reported_and_made_up_for() {
    use fake_apiserver::fault::{Action, Match, Rule};
    run(|| async {
        let world = installed(12);
        world.submit(serving("1.22.0", Some("east")));
        world.ready(SERVING, "1.22.0").await;
        let when = Match::method(http::Method::DELETE).path("*/deployments/domain-mapping");
        let rule = spoke(&world).link.add(Rule { when, then: Action::status(403, "Forbidden") });
        world.set_version(SERVING, "1.23.0");
        let text = world.says(SERVING, "InstallSucceeded", "False", "PruneFailed").await;
        assert!(text.contains("domain-mapping"), "{text}");
        spoke(&world).link.remove(rule);
        world.ready(SERVING, "1.23.0").await;
        assert!(
            spoke(&world).server.get("apps", "Deployment", "knative-serving", "domain-mapping").is_none()
        );
    });
}

#[test]
fn a_deletion_whose_profile_leads_to_another_cluster_touches_neither_and_says_so() {
    run(|| async {
        let mut world = installed(13);
        world.submit(serving("1.23.0", Some("east")));
        world.ready(SERVING, "1.23.0").await;
        let (old, new) = (spoke(&world), world.attach_spoke("east"));
        let before = [inventory(&old), inventory(&new)];
        world.delete(&world.hub, id(SERVING));
        let text = world.says(SERVING, "TargetClusterResolved", "False", "TargetChanged").await;
        assert!(text.contains("deletion-policy: orphan"), "{text}");
        assert_eq!(world.condition(SERVING, "Ready").0, "False");
        assert_eq!([inventory(&old), inventory(&new)], before);
    });
}
