//! Owners, and what the garbage collector makes of them.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use super::*;
use crate::oracle::member::{key_of, owners, set_of};
use crate::runtime::run;
use crate::search::campaign::in_parallel;
use crate::story::{EVENTING, eventing};

/// What is wrong with the owners of the members of installations on a cluster, and how many members have one.
fn illegal_owners(site: &Site) -> (Vec<String>, usize) {
    let snapshot = site.server.snapshot();
    let by_uid: BTreeMap<_, _> =
        snapshot.objects().map(|o| (o.value["metadata"]["uid"].clone().to_string(), o)).collect();
    let mut wrong = Vec::new();
    let mut owned = 0;
    for member in snapshot.objects().filter(|object| set_of(object.value).is_some()) {
        for uid in owners(member.value) {
            owned += 1;
            let key = key_of(member.value);
            match by_uid.get(&json!(uid).to_string()) {
                None => wrong.push(format!("{key} is owned by {uid}, which does not exist")),
                // Owners in namespaces own in their namespace; cluster-scoped ones own everywhere.
                Some(owner) if !owner.namespace.is_empty() && owner.namespace != member.namespace => {
                    wrong.push(format!("{key} is owned by {}", key_of(owner.value)));
                }
                Some(_) => {}
            }
        }
    }
    (wrong, owned)
}

#[test]
fn br31_every_owner_of_everything_that_is_applied_is_legal() {
    run(|| async {
        let mut world = world(1);
        let istio = json!({"istio": {"enabled": true}, "kourier": {"enabled": true}});
        world.create_namespace(&spoke(&world, "east"), "istio-system");
        let mut remote = serving("1.23.0", Some("east"));
        remote["spec"]["ingress"] = istio;
        world.submit(remote);
        world.submit(eventing("1.23.0", Some("east")));
        let local = ("KnativeServing", "local", "knative");
        world.submit(another(local.1, local.2, &serving("1.23.0", None)["spec"]));
        world.ready(EVENTING, "1.23.0").await;
        world.ready(local, "1.23.0").await;
        // Istio's own kinds are not there.
        world.says(SERVING, "InstallSucceeded", "False", "ObjectsRejected").await;
        for site in [spoke(&world, "east"), world.hub.clone()] {
            let (wrong, owned) = illegal_owners(&site);
            assert_eq!(wrong, [""; 0], "on {}", site.name);
            assert!(owned > 25, "{owned} owned on {}", site.name);
        }
        world.stop_operator();
    });
}

/// Installs something small while the garbage collector is restarted at the `nth` request, and some more in the end.
/// Gives what survives.
fn survivors(nth: usize) -> Vec<String> {
    run(move || async move {
        let mut world = World::new(Options::new(Seed(2)));
        let east = world.add_spoke("east");
        let url = "https://example.org/a.yaml";
        world.files.put(url, map_and_role("a") + "---\n" + &config_maps("b", 5));
        world.submit(small(&[url]));
        let (count, server) = (AtomicUsize::new(0), east.server.clone());
        let sent = move |letter: &Letter| {
            if letter.address == address("east") && count.fetch_add(1, Relaxed) == nth {
                server.restart_gc(nth as u64);
            }
        };
        world.network.set_tap(Arc::new(Onlooker { sent, seen: |_: &Seen<'_>| {} }));
        world.start_operator();
        world.ready(SERVING, "1.23.0").await;
        for seed in 0..5 {
            east.server.restart_gc((nth as u64).wrapping_mul(10).wrapping_add(seed));
            world.pass(Duration::from_secs(1)).await;
        }
        inventory(&east).into_keys().collect()
    })
}

#[test]
fn br32_a_collector_that_restarts_at_any_request_and_looks_in_any_order_takes_nothing() {
    let usual = survivors(usize::MAX);
    assert_eq!(usual.iter().filter(|key| key.starts_with("ConfigMap. knative-serving/b-")).count(), 5);
    let different = Mutex::new(Vec::new());
    in_parallel(2, (0..40).collect::<Vec<_>>(), |nth| {
        if survivors(nth) != usual {
            different.lock().push(nth);
        }
    });
    assert_eq!(different.into_inner(), Vec::<usize>::new());
}

#[test]
fn br34_resource_and_anchor_that_come_back_under_their_names_own_everything_again_and_nothing_is_collected() {
    run(|| async {
        for paused in [true, false] {
            let mut world = installed(3, "1.23.0").await;
            let east = spoke(&world, "east");
            if paused {
                // Dependents of the old anchor are still there when the new one comes.
                east.server.pause_gc();
            }
            world.edit(&world.hub, id(SERVING), |object| object["metadata"]["finalizers"] = json!([]));
            world.delete(&world.hub, id(SERVING));
            world.submit(serving("1.23.0", Some("east")));
            world.delete(&east, config_map("knativeserving-knative-serving-root-owner"));
            world.pass(2 * MINUTE).await;
            east.server.resume_gc();
            world.pass(5 * MINUTE).await;
            world.ready(SERVING, "1.23.0").await;
            let anchor =
                find(&east, config_map("knativeserving-knative-serving-root-owner")).expect("made again");
            let snapshot = east.server.snapshot();
            let owned: Vec<_> = snapshot.objects().filter(|object| set_of(object.value).is_some()).collect();
            let others: Vec<_> = owned
                .iter()
                .flat_map(|object| owners(object.value))
                .filter(|uid| anchor["metadata"]["uid"] != *uid)
                .collect();
            assert_eq!(others, [""; 0]);
            // Finished Jobs go by themselves.
            world.pass(20 * MINUTE).await;
            let before = inventory(&east);
            east.server.restart_gc(1);
            world.pass(HOUR).await;
            assert_same(&before, &inventory(&east));
            world.stop_operator();
        }
    });
}
