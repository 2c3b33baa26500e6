//! The story whose traces are compared: it goes through every part of the operator and of the fake.

use std::time::Duration;

use crate::story::{EVENTING, SERVING, eventing, id, serving};
use crate::trace::Trace;
use crate::world::{Options, World};

/// Install, upgrade, token expiry, a partition, a repair and a removal, on two spokes. Returns the trace.
pub async fn reference(options: Options) -> Trace {
    let mut world = World::new(options);
    let east = world.add_spoke("east");
    world.add_spoke("west");
    world.start_operator();
    world.submit(serving("1.22", Some("east")));
    world.submit(eventing("1.23", Some("west")));
    let newest_of_22 = newest(&world, "1.22").await;
    world.ready(SERVING, &newest_of_22).await;
    world.set_version(SERVING, "1.23.0");
    world.pass(Duration::from_secs(3)).await;
    east.link.cut();
    world.pass(Duration::from_secs(45)).await;
    east.link.heal();
    world.ready(SERVING, "1.23.0").await;
    world.ready(EVENTING, "1.23.0").await;
    world.pass(Duration::from_secs(20 * 60)).await;
    world.delete(&east, ("apps", "Deployment", "knative-serving", "activator"));
    world.pass(Duration::from_secs(120)).await;
    world.ready(SERVING, "1.23.0").await;
    world.delete(&world.hub, id(SERVING));
    world.gone(SERVING).await;
    world.stop_operator();
    world.trace
}

/// The newest patch of a minor version in the world's bundle.
async fn newest(world: &World, minor: &str) -> String {
    use knative_operator::api::ComponentKind;
    use knative_operator::manifest::Catalog;

    let catalog = Catalog::new(std::sync::Arc::new(world.files.clone()), world.bundle_root());
    let releases = catalog.releases(ComponentKind::Serving).await.unwrap_or_default();
    let prefix = format!("{minor}.");
    releases.into_iter().find(|release| release.starts_with(&prefix)).unwrap_or_else(|| minor.to_owned())
}
