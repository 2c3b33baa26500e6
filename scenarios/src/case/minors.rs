//! One minor version after the other, up and back by one: an installation that was upgraded is as one that was made anew.
//! With the releases in `KO_DATA_PATH` too.

use std::collections::BTreeMap;
use std::path::PathBuf;

use knative_operator::api::ComponentKind;
use knative_operator::manifest::{Catalog, ObjectKey, version};
use serde_json::Value;

use crate::files::Bundle;
use crate::network::Site;
use crate::runtime::run;
use crate::search::reference::installed;
use crate::seed::Seed;
use crate::story::{EVENTING, SERVING, added, eventing, id, inventory, serving};
use crate::world::{Options, World};

type Id = (&'static str, &'static str, &'static str);

fn world(bundle: &Bundle) -> (World, Site) {
    // The oldest releases come with the oldest Kubernetes that they ran on.
    let kubernetes_min_version = Some("v1.20.0".into());
    let bundle = bundle.clone();
    let mut world = World::new(Options { bundle, kubernetes_min_version, ..Options::new(Seed(7)) });
    let spoke = world.add_spoke("east");
    world.start_operator();
    (world, spoke)
}

fn bundles() -> Vec<Bundle> {
    let releases = std::env::var_os("KO_DATA_PATH").map(|path| Bundle::Directory(PathBuf::from(path)));
    if releases.is_none() {
        println!("SKIPPED real releases: KO_DATA_PATH is not set");
    }
    std::iter::once(Bundle::Embedded).chain(releases).collect()
}

/// The newest patch of every minor version, oldest first.
async fn newest_of_each_minor(world: &World, kind: ComponentKind) -> Vec<String> {
    let catalog = Catalog::new(std::sync::Arc::new(world.files.clone()), world.bundle_root());
    let mut releases = catalog.releases(kind).await.expect("the bundle can be read");
    releases.dedup_by_key(|release| version::minor(release));
    releases.reverse();
    releases
}

/// What a fresh install of a version looks like.
async fn fresh(bundle: &Bundle, of: Id, resource: Value, version: &str) -> BTreeMap<ObjectKey, Value> {
    let (world, spoke) = world(bundle);
    world.submit(resource);
    world.ready(of, version).await;
    settled(&world, &spoke).await
}

async fn settled(world: &World, spoke: &Site) -> BTreeMap<ObjectKey, Value> {
    world.pass(std::time::Duration::from_secs(180)).await;
    let mut objects = installed(&spoke.server.snapshot());
    // Definitions stay when a release drops them.
    objects.retain(|key, _| key.kind.kind != "CustomResourceDefinition");
    objects
}

async fn up_and_back_by_one(bundle: Bundle, kind: ComponentKind) {
    let (of, resource): (Id, fn(&str) -> Value) = match kind {
        ComponentKind::Serving => (SERVING, |version| serving(version, Some("east"))),
        ComponentKind::Eventing => (EVENTING, |version| eventing(version, Some("east"))),
    };
    let (world, spoke) = world(&bundle);
    let before = inventory(&spoke);
    let mut way = newest_of_each_minor(&world, kind).await;
    assert!(way.len() >= 2, "{way:?}");
    way.extend(way.iter().rev().nth(1).cloned());
    for (step, version) in way.iter().enumerate() {
        if step == 0 {
            world.submit(resource(version));
        } else {
            world.set_version(of, version);
        }
        world.ready(of, version).await;
        let (upgraded, anew) =
            (settled(&world, &spoke).await, fresh(&bundle, of, resource(version), version).await);
        let names = |objects: &BTreeMap<ObjectKey, Value>| objects.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&upgraded), names(&anew), "{way:?} at {version}");
        for (key, object) in &upgraded {
            assert_eq!(object, &anew[key], "{key} of {way:?} at {version}");
        }
    }
    world.delete(&world.hub, id(of));
    world.gone(of).await;
    let left = added(&before, &inventory(&spoke));
    assert!(left.iter().all(|key| key.starts_with("CustomResourceDefinition.")), "{left:?}");
}

#[test]
fn a_serving_that_went_through_every_minor_is_as_one_made_anew() {
    for bundle in bundles() {
        run(|| up_and_back_by_one(bundle, ComponentKind::Serving));
    }
}

#[test]
fn an_eventing_that_went_through_every_minor_is_as_one_made_anew() {
    for bundle in bundles() {
        run(|| up_and_back_by_one(bundle, ComponentKind::Eventing));
    }
}
