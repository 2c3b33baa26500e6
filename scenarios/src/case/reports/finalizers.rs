//! Finalizers: ours among those of others, and what they hold up.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use fake_apiserver::fault::{Action, Match, Rule};
use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};

use super::*;
use crate::runtime::run;
use crate::search::campaign::in_parallel;
use crate::wire::Meddler;

const URL: &str = "https://example.org/a.yaml";
const OURS: &str = "knativeservings.operator.knative.dev";
const THEIRS: &str = "example.org/theirs";
const DEFINITION: (&str, &str, &str, &str) =
    ("apiextensions.k8s.io", "CustomResourceDefinition", "", "knativeservings.operator.knative.dev");

/// A world with something small to install; the operator is not started.
fn prepared(seed: u64) -> World {
    let mut world = World::new(Options::new(Seed(seed)));
    world.add_spoke("east");
    world.files.put(URL, map_and_role("a"));
    world.submit(small(&[URL]));
    world
}

/// Somebody adds a finalizer of their own when the `nth` request is sent, and takes it off `later` requests later.
/// Gives what was wrong.
fn second_writer(nth: usize, later: usize) -> Vec<String> {
    run(move || async move {
        let mut world = prepared(1);
        let (hub, count) = (world.hub.server.clone(), AtomicUsize::new(0));
        let wrong = Arc::new(Mutex::new(Vec::new()));
        let (seen_wrong, theirs) = (wrong.clone(), Arc::new(AtomicBool::new(false)));
        let holds = theirs.clone();
        let change = move |add: bool| {
            let edited = hub.edit("operator.knative.dev", SERVING.0, SERVING.1, SERVING.2, |object| {
                let mut list: Vec<Value> =
                    object["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
                list.retain(|finalizer| finalizer != THEIRS);
                if add {
                    // In front: positions mean nothing.
                    list.insert(0, json!(THEIRS));
                }
                object["metadata"]["finalizers"] = json!(list);
            });
            holds.store(add && edited.is_ok(), Relaxed);
        };
        let sent = move |_: &Letter| match count.fetch_add(1, Relaxed) {
            now if now == nth => change(true),
            now if now == nth + later => change(false),
            _ => {}
        };
        let hub = world.hub.server.clone();
        let seen = move |_: &Seen<'_>| {
            let Some(now) = finalizers(&hub, SERVING) else { return };
            let twice = now.iter().filter(|finalizer| *finalizer == OURS).count() > 1;
            if twice || theirs.load(Relaxed) != now.iter().any(|finalizer| finalizer == THEIRS) {
                seen_wrong.lock().push(format!("{now:?}"));
            }
        };
        world.network.set_tap(Arc::new(Onlooker { sent, seen }));
        world.start_operator();
        world.ready(SERVING, "1.23.0").await;
        world.delete(&world.hub, id(SERVING));
        world.pass(3 * MINUTE).await;
        if world.component(SERVING).is_some() {
            wrong.lock().push(conditions(&world, SERVING));
        }
        world.network.clear_company();
        wrong.lock().clone()
    })
}

#[test]
fn br35_a_second_writer_of_finalizers_at_any_request_neither_doubles_ours_nor_loses_theirs() {
    let wrong = Mutex::new(Vec::new());
    in_parallel(2, (0..44).collect::<Vec<_>>(), |nth| {
        let found = second_writer(nth, 1 + nth % 5);
        wrong.lock().extend(found.into_iter().map(|text| (nth, text)));
    });
    assert_eq!(wrong.into_inner(), []);
}

#[test]
fn br36_of_a_finalizer_and_a_deletion_whoever_comes_first_wins_alone() {
    run(|| async {
        let world = prepared(2);
        let kind = GroupVersionKind::gvk("operator.knative.dev", "v1beta1", "KnativeServing");
        let resource = ApiResource::from_gvk_with_plural(&kind, "knativeservings");
        let api: Api<DynamicObject> = Api::namespaced_with(world.hub.server.client(), SERVING.1, &resource);
        let finalizer = Patch::Merge(json!({"metadata": {"finalizers": [OURS]}}));
        let (deletion, patching) = (DeleteParams::default(), PatchParams::default());
        let delete = || api.delete(SERVING.2, &deletion);
        let patch = || api.patch(SERVING.2, &patching, &finalizer);
        patch().await.expect("it is there");
        delete().await.expect("it is there");
        let held = world.component(SERVING).expect("the finalizer holds it");
        assert!(held["metadata"]["deletionTimestamp"].is_string());
        world.edit(&world.hub, id(SERVING), |object| object["metadata"]["finalizers"] = json!([]));
        assert!(world.component(SERVING).is_none());
        world.submit(small(&[URL]));
        delete().await.expect("it is there");
        assert!(patch().await.is_err(), "what is gone cannot be held");
        assert!(world.component(SERVING).is_none());
    });
}

/// Says that the finalizer was written, while the resource is deleted instead.
struct FalseSuccess;

impl Meddler for FalseSuccess {
    fn outgoing(&self, letter: Letter) -> Vec<Letter> {
        let swallow = letter.is_write() && letter.json()["metadata"]["finalizers"].is_array();
        if swallow { Vec::new() } else { vec![letter] }
    }

    fn incoming(&self, letter: &Letter, answer: &mut Value) {
        // Reads show the finalizer too, as a stale cache would.
        if letter.path().contains("/knativeservings/") && answer["kind"] == "KnativeServing" {
            answer["metadata"]["finalizers"] = json!([OURS]);
        }
    }
}

#[test]
fn br36_a_spoke_is_not_touched_for_a_resource_that_vanished_though_its_finalizer_was_confirmed() {
    run(|| async {
        let mut world = prepared(3);
        world.network.set_meddler(Arc::new(FalseSuccess));
        let (hub, before) = (world.hub.server.clone(), inventory(&spoke(&world, "east")));
        let sent = move |letter: &Letter| {
            // The moment after everything about the resource was read.
            if letter.path().contains("/namespaces/kube-system") {
                drop(hub.remove("operator.knative.dev", SERVING.0, SERVING.1, SERVING.2));
            }
        };
        world.network.set_tap(Arc::new(Onlooker { sent, seen: |_: &Seen<'_>| {} }));
        world.start_operator();
        world.pass(10 * MINUTE).await;
        assert!(world.component(SERVING).is_none());
        assert_eq!(writes(&world, 0, "east"), []);
        assert_same(&before, &inventory(&spoke(&world, "east")));
        world.network.clear_company();
    });
}

#[test]
fn br38_deleting_the_definition_removes_what_is_installed_or_says_why_not() {
    run(|| async {
        let gone =
            |world: &World| world.component(SERVING).is_none() && find(&world.hub, DEFINITION).is_none();
        // Reachable.
        let world = installed(4, "1.23.0").await;
        let east = spoke(&world, "east");
        world.delete(&world.hub, DEFINITION);
        assert!(world.until(3 * MINUTE, gone).await.is_some(), "{}", conditions(&world, SERVING));
        assert!(find(&east, deployment("activator")).is_none());
        // Not reachable.
        let world = installed(5, "1.23.0").await;
        let east = spoke(&world, "east");
        east.link.cut();
        world.delete(&world.hub, DEFINITION);
        world.says(SERVING, "DeletionBlocked", "True", "RemoteClusterUnreachable").await;
        assert!(find(&world.hub, DEFINITION).is_some());
        east.link.heal();
        assert!(world.until(5 * MINUTE, gone).await.is_some(), "{}", conditions(&world, SERVING));
        // With nobody there to do it.
        let mut world = installed(6, "1.23.0").await;
        world.stop_operator();
        world.delete(&world.hub, DEFINITION);
        world.pass(HOUR).await;
        assert!(!gone(&world));
        world.start_operator();
        assert!(world.until(3 * MINUTE, gone).await.is_some(), "{}", conditions(&world, SERVING));
    });
}

/// Removes something small while the `nth` write of the removal meets a conflict. Gives whether there was such a write,
/// and what of it was still there when our finalizer went.
fn conflict_at(nth: u64) -> (bool, Vec<String>) {
    run(move || async move {
        let mut world = prepared(7);
        let east = spoke(&world, "east");
        let before = inventory(&east);
        world.start_operator();
        world.ready(SERVING, "1.23.0").await;
        world.pass(MINUTE).await;
        let left = Arc::new(Mutex::new(None));
        let (note, hub, at_spoke) = (left.clone(), world.hub.server.clone(), east.clone());
        let seen = move |_: &Seen<'_>| {
            if finalizers(&hub, SERVING).is_none() {
                note.lock().get_or_insert_with(|| leftovers(&before, &at_spoke));
            }
        };
        world.network.set_tap(Arc::new(Onlooker { sent: |_: &Letter| {}, seen }));
        let conflicts = [world.hub.clone(), east].map(|site| {
            let methods = vec![http::Method::PATCH, http::Method::DELETE, http::Method::PUT];
            let when = Match { methods, ..Match::any() }.nth(nth);
            (site.link.add(Rule { when, then: Action::status(409, "Conflict") }), site)
        });
        world.delete(&world.hub, id(SERVING));
        world.gone(SERVING).await;
        let hit = conflicts.iter().any(|(rule, site)| site.link.hits(*rule) > 0);
        world.network.clear_company();
        let left = left.lock().clone().expect("the finalizer went");
        (hit, left)
    })
}

#[test]
fn br41_a_conflict_at_any_step_of_a_removal_leaves_our_finalizer_to_the_end() {
    let outcomes: Vec<_> = (0..10).map(conflict_at).collect();
    assert!(outcomes.iter().all(|(_, left)| left.is_empty()), "{outcomes:?}");
    assert!(outcomes[..3].iter().all(|(hit, _)| *hit) && !outcomes[9].0, "{outcomes:?}");
}

#[test]
fn br42_removal_goes_on_in_a_terminating_namespace_and_creates_nothing_there() {
    run(|| async {
        let world = installed(8, "1.23.0").await;
        let east = spoke(&world, "east");
        let held = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {
            "namespace": "knative-serving", "name": "held", "finalizers": [THEIRS]}});
        world.create(&east, held);
        world.delete(&east, ("", "Namespace", "", "knative-serving"));
        world.says(SERVING, "InstallSucceeded", "False", "TargetNamespaceTerminating").await;
        let start = world.trace.len();
        world.pass(10 * MINUTE).await;
        let (_, _, text) = world.condition(SERVING, "InstallSucceeded");
        assert!(text.contains("example.org/theirs"), "it says what holds the namespace: {text}");
        world.delete(&world.hub, id(SERVING));
        let text = world.says(SERVING, "DeletionBlocked", "True", "DeletionFailed").await;
        assert!(text.contains("knative-serving") && text.contains("example.org/theirs"), "{text}");
        // Everything of ours is gone all the same.
        let ours = east.server.snapshot();
        let ours = ours.objects().filter(|object| crate::oracle::member::set_of(object.value).is_some());
        let ours: Vec<_> = ours.filter(|object| object.value["kind"] != "CustomResourceDefinition").collect();
        assert!(ours.iter().all(|object| object.name == "knative-serving"), "{} left", ours.len());
        let sent = writes(&world, start, "east");
        let made: Vec<_> = sent.iter().filter(|request| request.method != "DELETE").collect();
        assert!(made.is_empty(), "{made:?}");
        world.edit(&east, config_map("held"), |object| object["metadata"]["finalizers"] = json!([]));
        world.gone(SERVING).await;
        assert!(find(&east, ("", "Namespace", "", "knative-serving")).is_none());
    });
}
