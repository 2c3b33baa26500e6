//! Temporary.
use crate::runtime::run;
use crate::seed::Seed;
use crate::story::*;
use crate::world::*;
use std::time::Duration;
#[test]
fn smoke() {
    run(|| async {
        let mut world = World::new(Options::new(Seed(1)));
        world.add_spoke("east");
        world.start_operator();
        world.submit(serving("1.22.0", Some("east")));
        world.pass(Duration::from_secs(30)).await;
        for line in world.trace.lines() {
            println!("{line}");
        }
        println!("{:#}", world.component(SERVING).unwrap()["status"]);
    });
}
