//! Watches, half-open connections and restarts.

use fake_apiserver::fault::{Action, Match, Rule};
use knative_operator::target::stack::WATCH_SILENCE;
use rand::RngExt;

use super::*;
use crate::runtime::run;
use crate::search::campaign::in_parallel;

const URL: &str = "https://example.org/a.yaml";

#[test]
fn br50_what_happens_while_the_hub_is_silent_is_noticed_though_its_watches_never_end() {
    run(|| async {
        let mut world = world(1);
        world.files.put(URL, map_and_role("a"));
        world.add_spoke("west");
        world.submit(small(&[URL]));
        world.ready(SERVING, "1.23.0").await;
        let hub = world.hub.link.clone();
        hub.black_hole();
        // Nobody but a watch tells of a new resource.
        let second = ("KnativeServing", "team-b", "second");
        let mut spec = small(&[URL])["spec"].clone();
        spec["clusterProfileRef"]["name"] = json!("west");
        world.submit(another(second.1, second.2, &spec));
        world.pass(10 * MINUTE).await;
        assert!(world.component(second).expect("submitted")["status"].is_null());
        // The way is open again, but the old connections are forgotten.
        hub.strand_connections();
        hub.heal();
        let limit = WATCH_SILENCE + MINUTE;
        let noticed = world.until(limit, |world| world.is_ready(second, "1.23.0")).await;
        assert!(noticed.is_some(), "not within {limit:?}");
        // Once more, with nothing wrong but the connections.
        hub.strand_connections();
        world.delete(&world.hub, id(second));
        let gone = world.until(limit, |world| world.component(second).is_none()).await;
        assert!(gone.is_some(), "not within {limit:?}");
        world.stop_operator();
    });
}

/// Times until a healthy spoke, and one whose connection hangs in the middle of a write, are ready.
async fn two_spokes(hanging: bool) -> (Duration, Duration) {
    let mut world = World::new(Options::new(Seed(2)));
    for name in ["east", "west"] {
        world.add_spoke(name);
    }
    if hanging {
        let when = Match::method(http::Method::PATCH).path("*/deployments/activator").times(1);
        spoke(&world, "west").link.add(Rule { when, then: Action::BlackHole });
    }
    let west = ("KnativeServing", "team-b", "west");
    world.submit(serving("1.23.0", Some("east")));
    world.submit(another(west.1, west.2, &serving("1.23.0", Some("west"))["spec"]));
    world.start_operator();
    let mut healthy = None;
    let both = |world: &World| {
        if healthy.is_none() && world.is_ready(SERVING, "1.23.0") {
            healthy = Some(world.clock.millis());
        }
        healthy.is_some() && world.is_ready(west, "1.23.0")
    };
    let slow = world.until(10 * MINUTE, both).await.expect("both get ready");
    world.stop_operator();
    (Duration::from_millis(healthy.unwrap_or_default() as u64), slow)
}

#[test]
fn br51_a_write_that_is_never_answered_costs_its_deadline_and_other_spokes_nothing() {
    run(|| async {
        let (usual, both) = two_spokes(false).await;
        let (healthy, hanging) = two_spokes(true).await;
        // No more than the jitter between two looks.
        assert!(healthy <= usual + Duration::from_millis(1_250), "{healthy:?} instead of {usual:?}");
        let delay = hanging.saturating_sub(both);
        assert!(delay >= Duration::from_secs(9) && delay < Duration::from_secs(25), "{delay:?}");
    });
}

#[test]
fn br53_thirty_times_all_watches_end_at_once_and_each_time_what_is_new_is_noticed() {
    run(|| async {
        let mut world = world(3);
        world.files.put(URL, map_and_role("a"));
        for turn in 0..30 {
            world.hub.link.drop_connections();
            if turn % 2 == 0 {
                world.submit(small(&[URL]));
                world.ready(SERVING, "1.23.0").await;
            } else {
                world.delete(&world.hub, id(SERVING));
                world.gone(SERVING).await;
            }
            assert_eq!(world.component(SERVING).is_some(), turn % 2 == 0);
        }
        world.stop_operator();
    });
}

/// Creates, deletes and restarts at random every 100 ms. Gives what is wrong a while after.
fn traffic(seed: u64) -> Option<String> {
    run(move || async move {
        let mut world = World::new(Options::new(Seed(seed)));
        let east = world.add_spoke("east");
        let before = inventory(&east);
        world.files.put(URL, map_and_role("a"));
        world.start_operator();
        let mut random = Seed(seed).child("traffic");
        for _ in 0..25 {
            world.pass(Duration::from_millis(100)).await;
            match random.random_range(0..4) {
                0 | 1 if world.component(SERVING).is_none() => world.submit(small(&[URL])),
                2 => world.delete(&world.hub, id(SERVING)),
                3 => world.start_operator(),
                _ => {}
            }
        }
        let wanted = world.component(SERVING).is_some_and(|c| c["metadata"]["deletionTimestamp"].is_null());
        let settled = |world: &World| match wanted {
            true => world.is_ready(SERVING, "1.23.0"),
            false => world.component(SERVING).is_none() && leftovers(&before, &east).is_empty(),
        };
        let converged = world.until(2 * MINUTE, settled).await;
        world.stop_operator();
        let text = || {
            format!(
                "wanted: {wanted}, left: {:?}, {}",
                leftovers(&before, &east),
                conditions(&world, SERVING)
            )
        };
        converged.is_none().then(text)
    })
}

#[test]
fn br55_after_random_traffic_of_60_seeds_with_restarts_everything_converges() {
    let stuck = Mutex::new(Vec::new());
    in_parallel(2, (0..60).collect::<Vec<_>>(), |seed| {
        stuck.lock().extend(traffic(seed).map(|text| (seed, text)));
    });
    assert_eq!(stuck.into_inner(), []);
}
