//! Namespaces on spokes: whose they are, and when they go.

use std::time::Duration;

use serde_json::json;

use crate::runtime::run;
use crate::seed::Seed;
use crate::story::{SERVING, id, inventory, serving};
use crate::world::{Options, World};

const NAMESPACE: (&str, &str, &str, &str) = ("", "Namespace", "", "knative-serving");

#[test]
fn a_spoke_that_is_replaced_in_the_middle_of_an_install_is_left_without_a_namespace_in_the_end() {
    // Every few requests of the first pass.
    for millis in (100..240).step_by(10) {
        run(move || async move {
            let mut world = World::new(Options::new(Seed(millis)));
            world.add_spoke("east");
            world.start_operator();
            world.submit(serving("1.23.0", Some("east")));
            world.pass(Duration::from_millis(millis)).await;
            let fresh = world.attach_spoke("east");
            let before = inventory(&fresh);
            world.ready(SERVING, "1.23.0").await;
            world.delete(&world.hub, id(SERVING));
            world.gone(SERVING).await;
            let left: Vec<_> =
                inventory(&fresh).into_keys().filter(|key| !before.contains_key(key)).collect();
            let definitions = left.iter().all(|key| key.starts_with("CustomResourceDefinition."));
            assert!(definitions, "replaced after {millis} ms: {left:?}");
        });
    }
}

#[test]
fn a_cluster_that_took_the_place_of_another_is_installed_and_an_event_says_so() {
    run(|| async {
        let mut world = World::new(Options::new(Seed(1)));
        world.add_spoke("east");
        world.start_operator();
        world.submit(serving("1.23.0", Some("east")));
        world.ready(SERVING, "1.23.0").await;
        let fresh = world.attach_spoke("east");
        let there =
            |_: &World| fresh.server.get("apps", "Deployment", "knative-serving", "activator").is_some();
        assert!(world.until(Duration::from_secs(180), there).await.is_some());
        world.ready(SERVING, "1.23.0").await;
        let events = world.hub.server.snapshot().list("", "Event", "knative-serving");
        let said: Vec<_> = events.iter().filter(|event| event["reason"] == "TargetReplaced").collect();
        assert_eq!(said.len(), 1, "{events:?}");
        let text = said[0]["message"].as_str().unwrap_or_default();
        let uid =
            fresh.server.get("", "Namespace", "", "kube-system").expect("always there")["metadata"]["uid"]
                .clone();
        assert!(text.contains(uid.as_str().unwrap_or_default()), "{text}");
    });
}

#[test]
fn a_namespace_that_was_there_before_gets_no_mark_and_one_that_was_not_does() {
    run(|| async {
        let mut world = World::new(Options::new(Seed(2)));
        let (east, west) = (world.add_spoke("east"), world.add_spoke("west"));
        world.create_namespace(&west, "other");
        world.start_operator();
        world.submit(serving("1.23.0", Some("east")));
        let mut second = serving("1.23.0", Some("west"));
        second["metadata"]["namespace"] = json!("other");
        world.submit(second);
        let other = ("KnativeServing", "other", "knative-serving");
        world.ready(SERVING, "1.23.0").await;
        world.ready(other, "1.23.0").await;
        let mark = |site: &crate::network::Site, name: &str| {
            let live = site.server.get(NAMESPACE.0, NAMESPACE.1, NAMESPACE.2, name).expect("installed");
            live["metadata"]["annotations"]["operator.knative.dev/created-for"].clone()
        };
        let uid = world.component(SERVING).expect("ready")["metadata"]["uid"].clone();
        assert_eq!(mark(&east, "knative-serving"), uid);
        assert_eq!(mark(&west, "other"), json!(null));
    });
}
