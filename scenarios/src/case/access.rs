//! Finding and reaching a spoke: every way in which that fails has its own reason, and ends by itself when its cause
//! does.

use std::time::Duration;

use crate::issuer::Behaviour;
use crate::runtime::run;
use crate::seed::Seed;
use crate::story::{SERVING, inventory, serving};
use crate::world::{Options, PROVIDER_FILE, World, address, profile};
use serde_json::json;

/// A world with a spoke and a resource for it; the operator is not started.
fn prepared(seed: u64) -> World {
    let mut world = World::new(Options::new(Seed(seed)));
    world.add_spoke("east");
    world.submit(serving("1.23.0", Some("east")));
    world
}

#[test]
fn a_spoke_with_too_old_a_kubernetes_is_left_alone_until_it_is_upgraded() {
    run(|| async {
        let mut world = World::new(Options::new(Seed(90)));
        let spoke = world.add_spoke("east");
        spoke.server.set_kubernetes("v1.32.9");
        let before = inventory(&spoke);
        world.start_operator();
        world.submit(serving("1.23.0", Some("east")));
        let text = world.says(SERVING, "TargetClusterResolved", "False", "KubernetesTooOld").await;
        assert!(text.contains("v1.32.9"), "{text}");
        assert_eq!(inventory(&spoke), before);
        spoke.server.set_kubernetes("v1.33.0");
        world.ready(SERVING, "1.23.0").await;
    });
}

#[test]
fn a_missing_profile_is_named_and_its_arrival_noticed() {
    run(|| async {
        let mut world = World::new(Options::new(Seed(1)));
        world.attach_spoke("east");
        world.submit(serving("1.23.0", Some("east")));
        world.start_operator();
        let text = world.says(SERVING, "TargetClusterResolved", "False", "ClusterProfileNotFound").await;
        assert!(text.contains("fleet/east"), "{text}");
        world.create_profile("east", &address("east"));
        world.ready(SERVING, "1.23.0").await;
    });
}

#[test]
fn w01_an_unhealthy_profile_stops_work_and_a_healthy_one_resumes_it() {
    run(|| async {
        let mut world = prepared(2);
        world.start_operator();
        world.ready(SERVING, "1.23.0").await;
        world.set_profile(&profile("east", &address("east"), "False"));
        world.says(SERVING, "TargetClusterResolved", "False", "ClusterProfileNotReady").await;
        assert_eq!(world.condition(SERVING, "InstallSucceeded").0, "True");
        world.set_profile(&profile("east", &address("east"), "True"));
        world.ready(SERVING, "1.23.0").await;
    });
}

#[test]
fn a_profile_that_no_provider_serves_is_named() {
    run(|| async {
        let mut world = prepared(3);
        let mut other = profile("east", &address("east"), "True");
        other["status"]["accessProviders"][0]["name"] = json!("someone-else");
        world.set_profile(&other);
        world.start_operator();
        let text = world.says(SERVING, "TargetClusterResolved", "False", "AccessProviderFailed").await;
        assert!(text.contains("someone-else"), "{text}");
    });
}

#[test]
fn an_unreadable_provider_file_is_reported_and_the_last_good_one_stays_in_force() {
    run(|| async {
        let mut world = prepared(4);
        let good = world.files.content(PROVIDER_FILE);
        world.files.break_file(PROVIDER_FILE, "permission denied");
        world.start_operator();
        world.says(SERVING, "TargetClusterResolved", "False", "AccessProviderFailed").await;
        world.files.put(PROVIDER_FILE, good);
        world.ready(SERVING, "1.23.0").await;
        world.files.put(PROVIDER_FILE, "{");
        world.pass(Duration::from_secs(300)).await;
        world.ready(SERVING, "1.23.0").await;
    });
}

#[test]
fn a_failing_and_a_hanging_plugin_have_their_own_reason_and_are_bounded() {
    run(|| async {
        let mut world = prepared(5);
        world.issuer.set_default(Behaviour::Fail("exit status 1: no such account".into()));
        world.start_operator();
        let text = world.says(SERVING, "TargetClusterResolved", "False", "CredentialsFailed").await;
        assert!(text.contains("no such account"), "{text}");
        world.issuer.set_default(Behaviour::Hang);
        world.pass(Duration::from_secs(300)).await;
        let (_, reason, text) = world.condition(SERVING, "TargetClusterResolved");
        assert!(reason == "CredentialsFailed" && text.contains("no answer within 10s"), "{reason}: {text}");
        world.issuer.set_default(Behaviour::Issue(Duration::from_secs(900)));
        world.ready(SERVING, "1.23.0").await;
    });
}

#[test]
fn w33_tokens_that_expire_or_die_early_never_show() {
    run(|| async {
        let mut world = prepared(6);
        let (said, real) = (Duration::from_secs(900), Duration::from_secs(2));
        world.issuer.set_default(Behaviour::Overstate { said, real });
        world.start_operator();
        world.ready(SERVING, "1.23.0").await;
        let unauthorized = world.trace.requests_since(0).iter().filter(|request| request.code == 401).count();
        assert!(unauthorized > 0, "no token died on the way");
        let events = world.hub.server.snapshot().list("", "Event", "knative-serving");
        let warnings: Vec<_> = events.iter().filter(|event| event["type"] == "Warning").collect();
        assert!(warnings.is_empty(), "{warnings:?}");
    });
}

#[test]
fn a_spoke_that_refuses_never_answers_or_stalls_after_the_headers_is_unreachable() {
    use fake_apiserver::fault::{Action, Match, Rule};
    run(|| async {
        for (seed, action) in [(7, Action::Refuse), (8, Action::BlackHole), (9, Action::StallBody)] {
            let mut world = prepared(seed);
            let spoke = world.network.site(&address("east")).expect("added above");
            let rule = spoke.link.add(Rule { when: Match::any(), then: action.clone() });
            world.start_operator();
            let text =
                world.says(SERVING, "TargetClusterResolved", "False", "RemoteClusterUnreachable").await;
            assert!(text.contains("fleet/east"), "{action:?}: {text}");
            assert!(spoke.link.hits(rule) > 0);
            spoke.link.remove(rule);
            world.ready(SERVING, "1.23.0").await;
        }
    });
}
