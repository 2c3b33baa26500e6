//! What people do on a spoke by hand, and what comes of it.

use crate::runtime::run;
use crate::seed::Seed;
use crate::story::{SERVING, serving};
use crate::world::{Options, World};

#[test]
fn a_namespace_that_somebody_deletes_drains_and_is_installed_again() {
    run(|| async {
        let mut world = World::new(Options::new(Seed(1)));
        let spoke = world.add_spoke("east");
        world.start_operator();
        world.submit(serving("1.23.0", Some("east")));
        world.ready(SERVING, "1.23.0").await;
        let uid = |world: &World| {
            let found = world.site("east").and_then(|s| s.server.get("", "Namespace", "", "knative-serving"));
            found.map(|namespace| namespace["metadata"]["uid"].clone())
        };
        let before = uid(&world);
        // Its certificates are admitted by a webhook that goes with the namespace, and refuses for ever.
        world.delete(&spoke, ("", "Namespace", "", "knative-serving"));
        world.says(SERVING, "InstallSucceeded", "False", "TargetNamespaceTerminating").await;
        world.ready(SERVING, "1.23.0").await;
        assert_ne!(uid(&world), before);
    });
}

#[test]
fn a_new_specification_is_never_called_ready_before_it_is_installed() {
    run(|| async {
        let mut world = World::new(Options::new(Seed(2)));
        world.add_spoke("east");
        world.start_operator();
        world.submit(serving("1.22.0", Some("east")));
        world.ready(SERVING, "1.22.0").await;
        world.set_version(SERVING, "1.23.0");
        for _ in 0..2_000 {
            world.pass(std::time::Duration::from_millis(10)).await;
            let component = world.component(SERVING).unwrap_or_default();
            let status = &component["status"];
            let current = status["observedGeneration"] == component["metadata"]["generation"];
            if current && world.condition(SERVING, "Ready").0 == "True" {
                assert_eq!(status["version"], "1.23.0");
            }
        }
        assert!(world.is_ready(SERVING, "1.23.0"));
    });
}

#[test]
fn what_a_release_drops_goes_also_when_somebody_took_its_label_off() {
    run(|| async {
        let mut world = World::new(Options::new(Seed(3)));
        let spoke = world.add_spoke("east");
        world.start_operator();
        world.submit(serving("1.22.0", Some("east")));
        world.ready(SERVING, "1.22.0").await;
        let dropped = ("apps", "Deployment", "knative-serving", "domain-mapping");
        let is_there = |world: &World| {
            let site = world.site("east");
            site.and_then(|site| site.server.get(dropped.0, dropped.1, dropped.2, dropped.3)).is_some()
        };
        assert!(is_there(&world));
        world.set_version(SERVING, "1.23.0");
        world.edit(&spoke, dropped, |object| object["metadata"]["labels"] = serde_json::json!({}));
        world.ready(SERVING, "1.23.0").await;
        assert!(!is_there(&world));
    });
}
