//! A dead spoke costs its own resources only.

use std::time::Duration;

use crate::runtime::run;
use crate::seed::Seed;
use crate::story::{component, serving};
use crate::world::{Options, World, address};

/// Time until `count` healthy spokes are ready, beside `dead` ones that never answer.
async fn time_to_ready(seed: u64, healthy: usize, dead: usize) -> Duration {
    let mut world = World::new(Options::new(Seed(seed)));
    for i in 0..healthy + dead {
        let name = format!("spoke-{i}");
        let spoke = world.add_spoke(&name);
        if i >= healthy {
            spoke.link.black_hole();
        }
        let spec = &serving("1.23.0", Some(&name))["spec"];
        let id = ("KnativeServing", &*format!("ks-{i}"), "ks");
        world.submit(component(id, spec));
    }
    world.start_operator();
    let all_ready = |world: &World| {
        (0..healthy).all(|i| world.is_ready(("KnativeServing", &format!("ks-{i}"), "ks"), "1.23.0"))
    };
    world.until(Duration::from_secs(600), all_ready).await.expect("healthy spokes get ready")
}

#[test]
fn w28_dead_spokes_do_not_delay_healthy_ones() {
    run(|| async {
        let alone = time_to_ready(1, 4, 0).await;
        let beside = time_to_ready(1, 4, 12).await;
        assert!(beside <= alone * 2, "alone {alone:?}, beside dead ones {beside:?}");
    });
}

#[test]
fn a_spoke_behind_a_new_address_is_found_without_a_restart() {
    run(|| async {
        let mut world = World::new(Options::new(Seed(2)));
        world.add_spoke("east");
        world.start_operator();
        world.submit(serving("1.23.0", Some("east")));
        world.ready(crate::story::SERVING, "1.23.0").await;
        let site = world.network.site(&address("east")).expect("added above");
        world.network.detach(&address("east"));
        world.network.attach("https://east-2", site);
        world.set_profile(&crate::world::profile("east", "https://east-2", "True"));
        world.set_version(crate::story::SERVING, "1.22.0");
        world.ready(crate::story::SERVING, "1.22.0").await;
    });
}
