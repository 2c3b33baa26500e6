//! Who may have what installed where.

use std::time::Duration;

use knative_operator::target::grant::ProfileAccess;
use serde_json::json;

use super::{east, find, left_behind, must_find, parts, permit};
use crate::runtime::run;
use crate::seed::Seed;
use crate::story::{GRANTS, SERVING, component, definition, grant, id, inventory, serving};
use crate::world::{FLEET, Options, World};

const TEAM: (&str, &str, &str) = ("KnativeServing", "team-a", "serving");

/// A world whose profiles are for those who are let use them.
fn guarded(seed: u64) -> World {
    let access = ProfileAccess::Granted;
    let mut world = World::new(Options { access, ..Options::new(Seed(seed)) });
    world.add_spoke("east");
    world.start_operator();
    world
}

#[test]
fn w47_a_profile_of_another_namespace_is_refused_until_it_is_granted() {
    run(|| async {
        let world = guarded(1);
        world.create(&world.hub, definition(GRANTS, "Namespaced"));
        let before = inventory(&east(&world));
        world.submit(component(TEAM, &serving("1.23.0", Some("east"))["spec"]));
        // A grant for another kind is none.
        world.create(&world.hub, grant(("KnativeEventing", TEAM.1), "east"));
        let text = world.says(TEAM, "TargetClusterResolved", "False", "NotPermitted").await;
        assert!(text.contains("fleet/east") && text.contains("namespace team-a"), "{text}");
        world.pass(Duration::from_secs(300)).await;
        assert_eq!(inventory(&east(&world)), before);
        let asked = world.trace.requests_since(0).iter().filter(|request| request.cluster == "east").count();
        assert_eq!((asked, world.issuer.runs()), (0, 0), "the cluster of others was contacted");
        world.create(&world.hub, grant((TEAM.0, TEAM.1), "east"));
        world.ready(TEAM, "1.23.0").await;
    });
}

#[test]
fn w47_a_grant_that_is_withdrawn_leaves_the_installation_and_lets_it_be_removed() {
    run(|| async {
        let world = guarded(2);
        world.create(&world.hub, definition(GRANTS, "Namespaced"));
        let before = inventory(&east(&world));
        world.create(&world.hub, grant((TEAM.0, TEAM.1), "east"));
        world.submit(component(TEAM, &serving("1.23.0", Some("east"))["spec"]));
        world.ready(TEAM, "1.23.0").await;
        world.pass(Duration::from_secs(900)).await;
        let installed = inventory(&east(&world));
        world.delete(&world.hub, (GRANTS.0, GRANTS.1, FLEET, "team-a-knativeserving-east"));
        world.says(TEAM, "TargetClusterResolved", "False", "NotPermitted").await;
        world.pass(Duration::from_secs(300)).await;
        assert_eq!(inventory(&east(&world)), installed);
        world.delete(&world.hub, id(TEAM));
        world.gone(TEAM).await;
        assert_eq!(left_behind(&before, &east(&world)), [""; 0]);
    });
}

#[test]
fn w47_the_namespace_of_the_profiles_needs_no_grant_and_by_default_nobody_does() {
    run(|| async {
        let world = guarded(3);
        let own = ("KnativeServing", FLEET, "serving");
        world.submit(component(own, &serving("1.23.0", Some("east"))["spec"]));
        world.ready(own, "1.23.0").await;
        let world = super::world(4);
        world.submit(component(TEAM, &serving("1.23.0", Some("east"))["spec"]));
        world.ready(TEAM, "1.23.0").await;
    });
}

#[test]
fn w47_roles_that_are_installed_do_not_become_rights_of_the_operator() {
    run(|| async {
        let world = super::world(5);
        let url = "https://example.org/role.yaml";
        let rule = json!({"apiGroups": ["example.org"], "resources": ["treasures"], "verbs": ["*"]});
        let labels =
            json!({"serving.knative.dev/release": "devel", "app.kubernetes.io/name": "knative-serving"});
        world.files.put(
            url,
            json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
                   "metadata": {"name": "greedy", "labels": labels}, "rules": [rule]})
            .to_string(),
        );
        world.create(&east(&world), definition(("example.org", "Treasure", "treasures"), "Namespaced"));
        let mut resource = serving("1.23.0", Some("east"));
        resource["spec"]["additionalManifests"] = json!([{"URL": url}]);
        world.submit(resource);
        world.ready(SERVING, "1.23.0").await;
        world.files.put(
            "https://example.org/treasure.yaml",
            "{apiVersion: example.org/v1, kind: Treasure, metadata: {name: gold}}",
        );
        world.edit(&world.hub, id(SERVING), |object| {
            object["spec"]["additionalManifests"] =
                json!([{"URL": url}, {"URL": "https://example.org/treasure.yaml"}]);
        });
        let text = world.says(SERVING, "InstallSucceeded", "False", "ObjectsRejected").await;
        assert!(text.contains("treasures") && text.contains("403 Forbidden"), "{text}");
    });
}

#[test]
fn a_kind_that_may_not_be_seen_does_not_keep_the_others_from_being_upgraded_and_repaired() {
    run(|| async {
        let world = super::world(6);
        let url = "https://example.org/treasure.yaml";
        world.files.put(url, "{apiVersion: example.org/v1, kind: Treasure, metadata: {name: gold}}");
        world.create(&east(&world), definition(("example.org", "Treasure", "treasures"), "Namespaced"));
        let mut resource = serving("1.22.0", Some("east"));
        resource["spec"]["additionalManifests"] = json!([{"URL": url}]);
        world.submit(resource);
        let text = world.says(SERVING, "InstallSucceeded", "False", "ObjectsRejected").await;
        assert!(text.contains("Treasure.example.org knative-serving/gold"), "{text}");
        world.set_version(SERVING, "1.23.0");
        world.pass(Duration::from_secs(60)).await;
        let network = "ConfigMap. knative-serving/config-network";
        let version =
            must_find(&east(&world), network)["metadata"]["labels"]["app.kubernetes.io/version"].clone();
        assert_eq!(version, "1.23.0");
        world.delete(&east(&world), parts(network));
        world.pass(Duration::from_secs(120)).await;
        assert!(find(&east(&world), network).is_some());
        permit(&world, &east(&world), "example.org", "treasures");
        world.ready(SERVING, "1.23.0").await;
    });
}
