//! Many at a time: nobody waits for a spoke that is not theirs, and what is shared is shared.

use std::time::Duration;

use crate::issuer::Behaviour;
use crate::runtime::run;
use crate::seed::Seed;
use crate::story::{EVENTING, component, eventing, id, serving};
use crate::world::{Options, World, address};

/// Namespaces of the resources here, one for each spoke.
const NAMES: [&str; 12] = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"];

/// The Serving of a spoke.
fn key(name: &'static str) -> (&'static str, &'static str, &'static str) {
    ("KnativeServing", name, "serving")
}

/// A world with a Serving for each spoke, both versions in turn, and the operator not yet started.
fn fleet(seed: u64) -> World {
    let mut world = World::new(Options::new(Seed(seed)));
    for (i, name) in NAMES.iter().enumerate() {
        world.add_spoke(name);
        world.submit(component(key(name), &serving(version(i), Some(name))["spec"]));
    }
    world
}

fn version(i: usize) -> &'static str {
    if i.is_multiple_of(2) { "1.22.0" } else { "1.23.0" }
}

#[test]
fn w27_a_release_is_read_once_however_many_start_together_and_whoever_goes_meanwhile() {
    run(|| async {
        let mut world = fleet(1);
        world.start_operator();
        world.pass(Duration::from_secs(2)).await;
        for name in &NAMES[..4] {
            world.delete(&world.hub, id(key(name)));
        }
        for (i, name) in NAMES.iter().enumerate().skip(4) {
            world.ready(key(name), version(i)).await;
        }
        for name in &NAMES[..4] {
            world.gone(key(name)).await;
        }
        world.pass(Duration::from_secs(600)).await;
        let released: Vec<_> = world
            .files
            .reads()
            .into_iter()
            .filter(|(path, _)| path.starts_with("knative-serving/"))
            .collect();
        assert!(released.len() > 4, "{released:?}");
        assert!(released.iter().all(|(_, reads)| *reads == 1), "{released:?}");
    });
}

#[test]
fn w28_plugins_that_hang_hold_up_neither_healthy_spokes_nor_local_resources() {
    run(|| async {
        let mut world = fleet(2);
        for name in &NAMES[..10] {
            world.issuer.set(&address(name), Behaviour::Hang);
        }
        world.start_operator();
        world.pass(Duration::from_secs(60)).await;
        for (i, name) in NAMES.iter().enumerate().skip(10) {
            assert!(world.is_ready(key(name), version(i)), "{name} waits for others");
        }
        world.submit(eventing("1.23.0", None));
        let time = world.ready(EVENTING, "1.23.0").await;
        assert!(time < Duration::from_secs(30), "the local one took {time:?}");
        for name in &NAMES[..10] {
            world.says(key(name), "TargetClusterResolved", "False", "CredentialsFailed").await;
        }
    });
}
