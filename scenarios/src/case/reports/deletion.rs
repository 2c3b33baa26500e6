//! Deleting what is on a cluster that is gone, cut off, swapped or half done.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use serde_json::json;

use super::*;
use crate::issuer::Behaviour;
use crate::runtime::run;
use crate::search::campaign::in_parallel;
use crate::strike::{Blow, Stroke};

#[test]
fn br01_a_deletion_whose_profile_is_gone_backs_off_for_an_hour_and_ends_by_the_users_word() {
    run(|| async {
        let world = installed(1, "1.23.0").await;
        delete_profile(&world, "east");
        world.delete(&world.hub, id(SERVING));
        let text = world.says(SERVING, "DeletionBlocked", "True", "ClusterProfileNotFound").await;
        assert!(text.contains("fleet/east"), "{text}");
        let start = world.trace.len();
        world.pass(HOUR).await;
        // 0.5 s, 1 s, 2 s ... 64 s, and from then on every two minutes.
        let attempts = requests(&world, start, "hub", "/clusterprofiles/east");
        assert!((20..=37).contains(&attempts), "{attempts} attempts in an hour");
        assert_eq!(writes(&world, start, "hub"), [], "what it says does not change");
        orphan(&world, SERVING);
        world.gone(SERVING).await;
    });
}

#[test]
fn br05_after_a_day_without_the_spoke_one_annotation_lets_the_resource_go_and_an_event_says_what_stays() {
    run(|| async {
        let world = installed(2, "1.23.0").await;
        spoke(&world, "east").link.black_hole();
        world.pass(HOUR).await;
        world.delete(&world.hub, id(SERVING));
        world.says(SERVING, "DeletionBlocked", "True", "RemoteClusterUnreachable").await;
        world.pass(23 * HOUR).await;
        assert!(world.component(SERVING).is_some());
        orphan(&world, SERVING);
        world.gone(SERVING).await;
        let told = events(&world, "Orphaned");
        let text = told.first().expect("an Event says so")["message"].as_str().unwrap_or_default();
        assert!(text.contains("ClusterProfile fleet/east") && text.contains("objects"), "{text}");
        assert!(find(&spoke(&world, "east"), deployment("activator")).is_some());
    });
}

#[test]
fn br08_after_a_partition_the_first_write_is_towards_the_last_specification_and_nothing_is_deleted() {
    run(|| async {
        let world = installed(3, "1.22.0").await;
        world.pass(15 * MINUTE).await;
        let (east, before) = (spoke(&world, "east"), inventory(&spoke(&world, "east")));
        east.link.cut();
        world.set_version(SERVING, "1.23.0");
        world.pass(5 * MINUTE).await;
        world.edit(&world.hub, id(SERVING), |object| {
            object["spec"]["version"] = json!("1.22.0");
            object["spec"]["config"] = json!({"network": {"domain-template": "last"}});
        });
        world.pass(5 * MINUTE).await;
        let start = world.trace.len();
        east.link.heal();
        world.pass(10 * MINUTE).await;
        world.ready(SERVING, "1.22.0").await;
        let sent = writes(&world, start, "east");
        assert!(sent[0].path.contains("/configmaps/config-network"), "{:?}", sent[0]);
        assert!(sent.iter().all(|request| request.method != "DELETE"), "{sent:#?}");
        assert_same(&before, &inventory(&east));
        assert_eq!(
            find(&east, config_map("config-network")).expect("installed")["data"]["domain-template"],
            "last"
        );
    });
}

#[test]
fn br09_removal_needs_no_kind_but_its_own() {
    run(|| async {
        let mut world = World::new(Options::new(Seed(4)));
        world.add_spoke("east");
        let definition = "knativeeventings.operator.knative.dev";
        world.delete(&world.hub, ("apiextensions.k8s.io", "CustomResourceDefinition", "", definition));
        world.start_operator();
        world.submit(serving("1.23.0", Some("east")));
        world.ready(SERVING, "1.23.0").await;
        world.delete(&world.hub, id(SERVING));
        world.gone(SERVING).await;
        assert!(find(&spoke(&world, "east"), deployment("activator")).is_none());
    });
}

/// Installs something small and deletes it at the `nth` request, before it arrives or after it took effect. Gives
/// how many requests there were, and what was wrong.
fn deleted_at(nth: usize, after: bool) -> (usize, Vec<String>) {
    run(move || async move {
        let mut world = World::new(Options::new(Seed(5)));
        let east = world.add_spoke("east");
        let before = inventory(&east);
        world.files.put("https://example.org/a.yaml", map_and_role("a") + "---\n" + &config_maps("b", 3));
        world.submit(small(&["https://example.org/a.yaml"]));
        let (count, late) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(Vec::new())));
        let hub = world.hub.server.clone();
        let strike = {
            let (count, hub) = (count.clone(), hub.clone());
            move |counts: bool| {
                if counts && count.fetch_add(1, Relaxed) == nth {
                    drop(hub.remove("operator.knative.dev", SERVING.0, SERVING.1, SERVING.2));
                }
            }
        };
        let seen = {
            let (late, strike) = (late.clone(), strike.clone());
            move |seen: &Seen<'_>| {
                strike(after);
                let gone = finalizers(&hub, SERVING).is_none();
                if gone && seen.site == "east" && seen.letter.is_write() {
                    late.lock().push(format!("{} {}", seen.letter.parts.method, seen.letter.path()));
                }
            }
        };
        let sent = move |letter: &Letter| strike(!after && !letter.is_watch());
        world.network.set_tap(Arc::new(Onlooker { sent, seen }));
        world.start_operator();
        world
            .until(3 * MINUTE, |world| count.load(Relaxed) > nth && world.component(SERVING).is_none())
            .await;
        world.pass(5 * MINUTE).await;
        let requests = count.load(Relaxed);
        if requests > nth && world.component(SERVING).is_some() {
            late.lock().push(conditions(&world, SERVING));
        }
        if requests > nth {
            late.lock().extend(leftovers(&before, &east));
        }
        let wrong = late.lock().clone();
        (requests, wrong)
    })
}

#[test]
fn br10_a_resource_deleted_at_any_request_of_its_install_leaves_nothing_and_is_not_written_for_again() {
    let (install, _) = deleted_at(usize::MAX, true);
    assert!(install > 20, "{install} requests");
    // A request that is held up and one that is answered are the two sides of every await.
    let sides = (0..60).map(|nth| (nth, nth % 2 == 1)).collect::<Vec<_>>();
    let wrong = Mutex::new(Vec::new());
    in_parallel(2, sides, |(nth, after)| {
        let (_, seen) = deleted_at(nth, after);
        wrong.lock().extend(seen.into_iter().map(|text| (nth, after, text)));
    });
    assert_eq!(wrong.into_inner(), []);
}

/// Starts with manifests A and B, asks for B alone at the first status write, and lets the operator die around its
/// `nth` write. Gives whether there was such a write, and whether A is still there.
fn shortened(nth: usize, blow: Blow) -> (bool, bool) {
    run(move || async move {
        let mut world = World::new(Options::new(Seed(6)));
        let east = world.add_spoke("east");
        let [a, b] = ["https://example.org/a.yaml", "https://example.org/b.yaml"];
        world.files.put(a, map_and_role("a"));
        world.files.put(b, map_and_role("b"));
        world.submit(small(&[a, b]));
        let hub = world.hub.server.clone();
        let shorter = small(&[b])["spec"].clone();
        let first = AtomicUsize::new(0);
        let sent = move |letter: &Letter| {
            if letter.is_write() && letter.path().contains("/status") && first.fetch_add(1, Relaxed) == 0 {
                let edited = hub.edit("operator.knative.dev", SERVING.0, SERVING.1, SERVING.2, |object| {
                    object["spec"] = shorter.clone();
                });
                assert!(edited.is_ok(), "{edited:?}");
            }
        };
        world.network.set_tap(Arc::new(Onlooker { sent, seen: |_: &Seen<'_>| {} }));
        world.network.strike.arm(&[Stroke { after: nth, blow }]);
        world.start_operator();
        for _ in 0..20 {
            world.pass(Duration::from_millis(500)).await;
            revive(&mut world).await;
        }
        world.ready(SERVING, "1.23.0").await;
        world.pass(2 * MINUTE).await;
        let there = |name| find(&east, config_map(name)).is_some();
        assert!(there("b"));
        let role = find(&east, ("rbac.authorization.k8s.io", "ClusterRole", "", "a")).is_some();
        (!world.network.strike.landed().is_empty(), there("a") || role)
    })
}

#[test]
fn br11_what_a_shortened_manifest_drops_goes_wherever_the_operator_dies() {
    let points = (0..60).step_by(2).flat_map(|nth| [(nth, Blow::CrashBefore), (nth + 1, Blow::CrashAfter)]);
    let (died, left) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    in_parallel(2, points.collect::<Vec<_>>(), |(nth, blow)| {
        let (landed, a_is_left) = shortened(nth, blow);
        died.fetch_add(usize::from(landed), Relaxed);
        if a_is_left {
            left.lock().push((nth, blow));
        }
    });
    assert_eq!(left.into_inner(), []);
    assert!(died.into_inner() > 40, "there are more requests than that");
}

#[test]
fn br12_a_restored_hub_whose_resources_have_no_status_adopts_what_is_there() {
    run(|| async {
        for recreated in [false, true] {
            let mut world = installed(7, "1.23.0").await;
            let before = inventory(&spoke(&world, "east"));
            world.stop_operator();
            if recreated {
                world.edit(&world.hub, id(SERVING), |object| object["metadata"]["finalizers"] = json!([]));
                world.delete(&world.hub, id(SERVING));
                world.submit(serving("1.23.0", Some("east")));
            } else {
                let (group, kind, namespace, name) = id(SERVING);
                let emptied = world.hub.server.edit_status(group, kind, namespace, name, |object| {
                    object["status"] = json!({});
                });
                assert!(emptied.is_ok(), "{emptied:?}");
            }
            world.start_operator();
            world.ready(SERVING, "1.23.0").await;
            assert_same(&before, &inventory(&spoke(&world, "east")));
        }
    });
}

/// Deletes resource, profile and cluster in this order, all at once.
async fn everything_goes(order: [usize; 3], policy: bool) -> World {
    let world = installed(8, "1.23.0").await;
    if policy {
        orphan(&world, SERVING);
    }
    for step in order {
        match step {
            0 => world.delete(&world.hub, id(SERVING)),
            1 => delete_profile(&world, "east"),
            _ => world.network.detach(&address("east")),
        }
    }
    world
}

#[test]
fn br13_resource_profile_and_cluster_may_go_at_once_in_any_order() {
    run(|| async {
        for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            let world = everything_goes(order, true).await;
            let time = world.gone(SERVING).await;
            assert!(time < MINUTE, "{order:?} took {time:?}");
            let world = everything_goes(order, false).await;
            let text = world.says(SERVING, "DeletionBlocked", "True", "ClusterProfileNotFound").await;
            assert!(text.contains("fleet/east"), "{order:?}: {text}");
            orphan(&world, SERVING);
            world.gone(SERVING).await;
        }
    });
}

const TEAM: Id = ("KnativeServing", "team", "knative");

/// A namespace with everything in it: the resource, the profile and the Secret from which the plugin makes credentials.
async fn team(seed: u64) -> World {
    let world = world(seed);
    profile_in(&world, "team", "east", &address("east"));
    let secret =
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": "team", "name": "access"}});
    world.create(&world.hub, secret);
    let mut spec = serving("1.23.0", Some("east"))["spec"].clone();
    spec["clusterProfileRef"]["namespace"] = json!("team");
    world.submit(another("team", "knative", &spec));
    world.ready(TEAM, "1.23.0").await;
    world
}

#[test]
fn br14_a_hub_namespace_with_resource_profile_and_secret_says_what_holds_it_and_drains() {
    run(|| async {
        let world = team(9).await;
        let failure = "exit status 1: secret team/access not found";
        world.issuer.set_default(Behaviour::Fail(failure.into()));
        world.delete(&world.hub, ("", "Secret", "team", "access"));
        world.delete(&world.hub, ("", "Namespace", "", "team"));
        let text = world.says(TEAM, "DeletionBlocked", "True", "ClusterProfileNotFound").await;
        assert!(text.contains("team/east"), "{text}");
        let namespace = find(&world.hub, ("", "Namespace", "", "team")).expect("held");
        assert!(namespace["status"]["conditions"].to_string().contains("NamespaceFinalizersRemaining"));
        orphan(&world, TEAM);
        let drained = |world: &World| find(&world.hub, ("", "Namespace", "", "team")).is_none();
        assert!(world.until(MINUTE, drained).await.is_some(), "{}", conditions(&world, TEAM));
    });
}

#[test]
fn br16_removal_works_from_the_record_when_every_source_of_manifests_is_gone() {
    run(|| async {
        let mut world = world(10);
        let before = inventory(&spoke(&world, "east"));
        let url = "https://example.org/extra.yaml";
        world.files.put(url, map_and_role("extra"));
        let mut resource = serving("1.23.0", Some("east"));
        resource["spec"]["additionalManifests"] = json!([{"URL": url}]);
        world.submit(resource);
        world.ready(SERVING, "1.23.0").await;
        world.files.remove(url);
        for file in ["1-serving-crds.yaml", "2-serving-core.yaml", "3-serving-hpa.yaml"] {
            world.files.break_file(&format!("knative-serving/1.23.0/{file}"), "no such file");
        }
        // Nothing that was read before is remembered.
        world.start_operator();
        world.delete(&world.hub, id(SERVING));
        world.gone(SERVING).await;
        assert_eq!(leftovers(&before, &spoke(&world, "east")), [""; 0]);
    });
}

#[test]
fn br17_without_the_secret_behind_its_credentials_a_deletion_is_blocked_and_no_old_token_is_used() {
    run(|| async {
        let world = installed(11, "1.23.0").await;
        world.issuer.set_default(Behaviour::Fail("exit status 1: secret not found".into()));
        world.issuer.revoke_all(&address("east"));
        world.delete(&world.hub, id(SERVING));
        let text = world.says(SERVING, "DeletionBlocked", "True", "CredentialsFailed").await;
        assert!(text.contains("secret not found"), "{text}");
        let start = world.trace.len();
        world.pass(HOUR).await;
        assert_eq!(requests(&world, start, "east", ""), 0, "a token that was refused is used again");
        orphan(&world, SERVING);
        world.gone(SERVING).await;
    });
}
