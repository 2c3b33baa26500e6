//! Credentials, endpoints and the clients that are made of them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use fake_apiserver::fault::{Action, Match, Rule};

use super::*;
use crate::issuer::Behaviour;
use crate::runtime::run;

const URL: &str = "https://example.org/many.yaml";

/// Installs 300 objects over five minutes with tokens that live for two, and kills the token of the `nth` request to the spoke.
/// Gives how long that took and how many requests were refused.
fn slow_install(nth: usize) -> (Duration, usize) {
    run(move || async move {
        let mut world = World::new(Options::new(Seed(1)));
        let east = world.add_spoke("east");
        world.issuer.set_default(Behaviour::Issue(2 * MINUTE));
        let when = Match::method(http::Method::PATCH);
        east.link.add(Rule { when, then: Action::Delay(Duration::from_secs(8)) });
        world.files.put(URL, config_maps("m", 300));
        world.submit(small(&[URL]));
        let (count, server) = (AtomicUsize::new(0), east.server.clone());
        let sent = move |letter: &Letter| {
            if letter.address == address("east") && count.fetch_add(1, Relaxed) == nth {
                server.tokens().revoke(letter.token());
            }
        };
        world.network.set_tap(Arc::new(Onlooker { sent, seen: |_: &Seen<'_>| {} }));
        world.start_operator();
        let ready = |world: &World| world.is_ready(SERVING, "1.23.0");
        let time = world.until(HOUR, ready).await;
        let time = time.unwrap_or_else(|| unreachable!("{}", conditions(&world, SERVING)));
        (time, world.trace.requests_since(0).iter().filter(|request| request.code == 401).count())
    })
}

#[test]
fn br20_tokens_that_die_during_an_install_of_300_objects_cost_one_refusal_for_each_request_on_its_way() {
    let (usual, refused) = slow_install(usize::MAX);
    assert!(usual > 4 * MINUTE && refused == 0, "{usual:?}, {refused} refused though none died early");
    for nth in (1..320).step_by(53) {
        let (time, refused) = slow_install(nth);
        // Eight requests are on their way to a cluster at a time.
        assert!(refused <= 8, "{refused} refused after request {nth}");
        assert!(time <= usual + Duration::from_secs(10), "{time:?} instead of {usual:?}");
    }
}

#[test]
fn br21_a_day_of_refused_tokens_costs_bounded_lines_events_clients_and_attempts() {
    run(|| async {
        let (_guard, log) = listen();
        let mut world = installed(2, "1.23.0").await;
        let dead = Behaviour::Overstate { said: 15 * MINUTE, real: Duration::ZERO };
        world.issuer.set_default(dead);
        world.issuer.revoke_all(&address("east"));
        world.says(SERVING, "TargetClusterResolved", "False", "CredentialsRejected").await;
        let (runs, lines, start) = (world.issuer.runs(), log.lines().len(), world.trace.len());
        let told = events(&world, "InternalError").len();
        world.pass(24 * HOUR).await;
        let attempts = requests(&world, start, "hub", "/clusterprofiles/east");
        assert!((600..=750).contains(&attempts), "{attempts} attempts in a day, one every two minutes");
        assert!(world.issuer.runs() - runs <= 2 * attempts + 2);
        assert!(log.lines().len() - lines <= attempts + 2, "{} lines", log.lines().len() - lines);
        assert_eq!(events(&world, "InternalError").len(), told, "the same is not told again");
        assert!(world.network.clients() <= 1);
        world.issuer.recover();
        world.ready(SERVING, "1.23.0").await;
        world.stop_operator();
    });
}

#[test]
fn br23_after_500_rotations_of_its_access_a_spoke_has_one_client() {
    run(|| async {
        let mut world = world(3);
        world.files.put(URL, map_and_role("a"));
        world.submit(small(&[URL]));
        world.ready(SERVING, "1.23.0").await;
        let mut connected = profile("east", &address("east"), "True");
        let start = world.trace.len();
        for serial in 0..500 {
            let authority = BASE64_STANDARD.encode(format!("authority {serial}"));
            connected["status"]["accessProviders"][0]["cluster"]["certificate-authority-data"] =
                json!(authority);
            world.set_profile(&connected);
            world.pass(Duration::from_millis(500)).await;
            assert!(world.network.clients() <= 1, "{} clients", world.network.clients());
        }
        // Each was used: the operator asked who is there.
        assert!(requests(&world, start, "east", "/namespaces/kube-system") >= 500);
        world.ready(SERVING, "1.23.0").await;
        world.stop_operator();
    });
}

#[test]
fn br24_tokens_without_expiry_that_die_a_minute_after_their_rotation_never_show() {
    run(|| async {
        let mut world = world(4);
        let spoken = Behaviour::Overstate { said: 1000 * HOUR, real: 11 * MINUTE };
        world.issuer.set_default(spoken);
        world.submit(serving("1.23.0", Some("east")));
        world.ready(SERVING, "1.23.0").await;
        for _ in 0..24 {
            world.pass(5 * MINUTE).await;
            assert!(world.is_ready(SERVING, "1.23.0"), "{}", conditions(&world, SERVING));
        }
        let sent = world.trace.requests_since(0);
        let died = sent.iter().filter(|request| request.code == 401).count();
        assert!((10..40).contains(&died), "{died} refused in two hours: they die, and few requests notice");
        assert_eq!(events(&world, "InternalError").len(), 0);
        world.stop_operator();
    });
}

#[test]
fn br27_what_a_plugin_complains_of_is_shown_and_no_token_goes_to_another_cluster() {
    run(|| async {
        let mut world = World::new(Options::new(Seed(5)));
        for name in ["east", "west"] {
            world.add_spoke(name);
        }
        let tokens: Arc<Mutex<BTreeMap<String, BTreeSet<String>>>> = Arc::default();
        let heard = tokens.clone();
        let sent = move |letter: &Letter| {
            heard.lock().entry(letter.address.clone()).or_default().insert(letter.token().to_owned());
        };
        world.network.set_tap(Arc::new(Onlooker { sent, seen: |_: &Seen<'_>| {} }));
        world.start_operator();
        world.issuer.set(&address("west"), Behaviour::Fail("exit code 1: no account for west".into()));
        let west = ("KnativeServing", "team-b", "west");
        world.submit(serving("1.23.0", Some("east")));
        world.submit(another(west.1, west.2, &serving("1.23.0", Some("west"))["spec"]));
        let text = world.says(west, "TargetClusterResolved", "False", "CredentialsFailed").await;
        assert!(text.contains("no account for west") && text.contains("fleet/west"), "{text}");
        world.ready(SERVING, "1.23.0").await;
        world.issuer.recover();
        world.ready(west, "1.23.0").await;
        world.pass(HOUR).await;
        let tokens = tokens.lock();
        let (east, west) = (&tokens[&address("east")], &tokens[&address("west")]);
        assert!(east.len() > 3 && west.len() > 3 && east.is_disjoint(west));
        world.network.clear_company();
    });
}

/// Every value in a document, by JSON pointer.
fn pointers(value: &Value, at: &str) -> Vec<String> {
    let below: Vec<_> = match value {
        Value::Object(map) => map.iter().map(|(key, v)| (key.replace('/', "~1"), v)).collect(),
        Value::Array(list) => list.iter().enumerate().map(|(i, v)| (i.to_string(), v)).collect(),
        _ => Vec::new(),
    };
    let below = below.into_iter().flat_map(|(key, value)| pointers(value, &format!("{at}/{key}")));
    std::iter::once(at.to_owned()).chain(below).collect()
}

/// A document with each of its values missing, null, empty or of another type.
fn mutilated(whole: &Value) -> Vec<Value> {
    let mut all = Vec::new();
    for pointer in pointers(whole, "").into_iter().filter(|pointer| !pointer.is_empty()) {
        for other in [json!(null), json!(""), json!({}), json!([]), json!(7), json!("no such thing")] {
            let mut copy = whole.clone();
            *copy.pointer_mut(&pointer).expect("it is from there") = other;
            all.push(copy);
        }
        let mut copy = whole.clone();
        let (parent, key) = pointer.rsplit_once('/').expect("it begins with one");
        match copy.pointer_mut(parent) {
            Some(Value::Object(map)) => drop(map.remove(key)),
            Some(Value::Array(list)) => list.clear(),
            _ => {}
        }
        all.push(copy);
    }
    all
}

#[test]
fn br28_every_profile_with_something_missing_or_odd_gets_a_condition_and_no_panic() {
    run(|| async {
        let (_guard, log) = listen();
        let mut world = world(6);
        let definition = "clusterprofiles.multicluster.x-k8s.io";
        world.edit(&world.hub, ("apiextensions.k8s.io", "CustomResourceDefinition", "", definition), |crd| {
            crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"] =
                json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        });
        world.files.put(URL, map_and_role("a"));
        world.submit(small(&[URL]));
        world.ready(SERVING, "1.23.0").await;
        let mut whole = profile("east", &address("east"), "True");
        let cluster = &mut whole["status"]["accessProviders"][0]["cluster"];
        cluster["certificate-authority-data"] = json!("YQ==");
        cluster["extensions"] =
            json!([{"name": "client.authentication.k8s.io/exec", "extension": {"a": "b"}}]);
        let (mut refused, mut fine) = (BTreeSet::new(), 0);
        let odd = mutilated(&whole["status"]);
        assert!(odd.len() > 100);
        for status in odd {
            world.set_profile(&json!({"metadata": {"name": "east"}, "status": status}));
            world.pass(Duration::from_secs(2)).await;
            let (resolved, reason, text) = world.condition(SERVING, "TargetClusterResolved");
            match resolved.as_str() {
                "True" => fine += 1,
                _ => assert!(!text.is_empty(), "{status}"),
            }
            refused.insert(reason);
        }
        assert_eq!(log.panics(), [""; 0]);
        for reason in ["ClusterProfileNotReady", "AccessProviderFailed", "RemoteClientCreationFailed"] {
            assert!(refused.contains(reason), "{refused:?}");
        }
        assert!(fine > 20, "most fields do not matter");
        world.set_profile(&whole);
        world.ready(SERVING, "1.23.0").await;
        world.stop_operator();
    });
}

#[test]
fn br29_an_open_watch_of_the_hub_may_end_in_any_way() {
    run(|| async {
        let (_guard, log) = listen();
        let mut world = installed(7, "1.22.0").await;
        let watch = Match { watch: Some(true), times: Some(6), ..Match::any() };
        let refusals =
            [(401, "Unauthorized"), (403, "Forbidden"), (410, "Expired"), (429, "TooManyRequests")];
        let failures = [(500, "InternalError"), (503, "ServiceUnavailable")];
        let mut faults: Vec<_> =
            refusals.into_iter().chain(failures).map(|(code, reason)| Action::status(code, reason)).collect();
        faults.push(Action::CutBody { after: 40 });
        for (turn, fault) in faults.into_iter().enumerate() {
            let rule = world.hub.link.add(Rule { when: watch.clone(), then: fault.clone() });
            world.hub.link.drop_connections();
            world.hub.server.compact();
            let version = ["1.23.0", "1.22.0"][turn % 2];
            world.set_version(SERVING, version);
            world.ready(SERVING, version).await;
            // The next turn begins with open watches.
            world.pass(5 * MINUTE).await;
            assert_eq!(world.hub.link.hits(rule), 6, "{fault:?}");
        }
        assert_eq!(log.panics(), [""; 0]);
        world.stop_operator();
    });
}
