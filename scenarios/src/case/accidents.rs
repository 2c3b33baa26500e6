//! What can happen to anchors and to the clusters around them: deleted, forged, restored from a backup; a hub restored; two
//! hubs that mean the same installation.

use std::collections::BTreeMap;
use std::time::Duration;

use knative_operator::manifest::ObjectKey;
use serde_json::{Value, json};

use crate::network::Site;
use crate::runtime::run;
use crate::search::reference::installed;
use crate::seed::Seed;
use crate::story::{SERVING, id, inventory, serving};
use crate::world::{Options, World};

const ANCHOR: (&str, &str, &str, &str) =
    ("", "ConfigMap", "knative-serving", "knativeserving-knative-serving-root-owner");

/// A world in which Serving is installed on a spoke.
async fn with_serving(seed: u64) -> (World, Site) {
    let mut world = World::new(Options::new(Seed(seed)));
    let spoke = world.add_spoke("east");
    world.start_operator();
    world.submit(serving("1.23.0", Some("east")));
    world.ready(SERVING, "1.23.0").await;
    (world, spoke)
}

fn shape(site: &Site) -> BTreeMap<ObjectKey, Value> {
    installed(&site.server.snapshot())
}

fn anchor(site: &Site) -> Option<Value> {
    site.server.get(ANCHOR.0, ANCHOR.1, ANCHOR.2, ANCHOR.3).map(|found| (*found).clone())
}

/// What a removal may not leave behind.
fn leftovers(site: &Site) -> Vec<ObjectKey> {
    shape(site).into_keys().filter(|key| key.kind.kind != "CustomResourceDefinition").collect()
}

/// UIDs of the anchors that own something.
fn owners(site: &Site) -> Vec<Value> {
    let snapshot = site.server.snapshot();
    let owners = snapshot.objects().flat_map(|object| {
        let owners = object.value["metadata"]["ownerReferences"].as_array().cloned();
        owners
            .into_iter()
            .flatten()
            .filter(|owner| owner["name"] == ANCHOR.3)
            .map(|owner| owner["uid"].clone())
    });
    let mut owners: Vec<_> = owners.collect();
    owners.dedup();
    owners
}

/// What a backup holds of an object: nothing that the cluster itself decided.
fn saved(mut object: Value) -> Value {
    if let Some(metadata) = object["metadata"].as_object_mut() {
        for decided in ["uid", "resourceVersion", "creationTimestamp", "generation", "managedFields"] {
            metadata.remove(decided);
        }
    }
    object
}

#[test]
fn an_anchor_restored_from_a_backup_owns_everything_again() {
    run(|| async {
        let (world, spoke) = with_serving(1).await;
        let (wanted, backup) = (shape(&spoke), saved(anchor(&spoke).expect("installed")));
        world.delete(&spoke, ANCHOR);
        world.create(&spoke, backup);
        world.pass(Duration::from_secs(180)).await;
        world.ready(SERVING, "1.23.0").await;
        assert_eq!(shape(&spoke), wanted);
        assert_eq!(owners(&spoke), [anchor(&spoke).expect("restored")["metadata"]["uid"].clone()]);
    });
}

#[test]
fn an_anchor_without_its_identity_is_given_it_back() {
    run(|| async {
        let (world, spoke) = with_serving(2).await;
        let before = anchor(&spoke).expect("installed");
        world.edit(&spoke, ANCHOR, |anchor| {
            anchor["metadata"]["annotations"] = json!({});
            anchor["metadata"]["labels"] = json!({});
        });
        world.pass(Duration::from_secs(120)).await;
        let after = anchor(&spoke).expect("still there");
        assert_eq!(after["metadata"]["annotations"], before["metadata"]["annotations"]);
        assert_eq!(after["metadata"]["labels"], before["metadata"]["labels"]);
        assert_eq!(after["metadata"]["uid"], before["metadata"]["uid"]);
    });
}

#[test]
fn an_anchor_that_somebody_forges_stops_everything_until_the_user_says_whose_it_is() {
    run(|| async {
        let (world, spoke) = with_serving(3).await;
        world.edit(&spoke, ANCHOR, |anchor| {
            anchor["metadata"]["annotations"]["operator.knative.dev/hub-uid"] = json!("another-hub");
        });
        let text = world.says(SERVING, "TargetClusterResolved", "False", "AnchorOwnedElsewhere").await;
        assert!(text.contains("another-hub"), "{text}");
        let before = inventory(&spoke);
        world.delete(&world.hub, id(SERVING));
        world.says(SERVING, "DeletionBlocked", "True", "AnchorOwnedElsewhere").await;
        world.pass(Duration::from_secs(120)).await;
        assert_eq!(inventory(&spoke), before, "neither side's objects are touched");
        let uid = anchor(&spoke).expect("not deleted")["metadata"]["uid"].clone();
        world.edit(&world.hub, id(SERVING), |object| {
            object["metadata"]["annotations"]["operator.knative.dev/adopt"] = uid;
        });
        world.gone(SERVING).await;
        assert_eq!(leftovers(&spoke), []);
    });
}

#[test]
fn an_anchor_on_its_way_out_is_waited_for_and_takes_nothing_new_along() {
    run(|| async {
        let (world, spoke) = with_serving(8).await;
        let wanted = shape(&spoke);
        spoke.server.pause_gc();
        world.delete(&world.hub, id(SERVING));
        world.pass(Duration::from_secs(10)).await;
        let policy = json!({"operator.knative.dev/deletion-policy": "orphan"});
        world.edit(&world.hub, id(SERVING), |object| object["metadata"]["annotations"] = policy);
        world.gone(SERVING).await;
        let old = anchor(&spoke).expect("the garbage collector rests")["metadata"]["uid"].clone();
        world.submit(serving("1.23.0", Some("east")));
        world.says(SERVING, "InstallSucceeded", "False", "AnchorTerminating").await;
        spoke.server.resume_gc();
        world.ready(SERVING, "1.23.0").await;
        assert_ne!(anchor(&spoke).expect("a new one")["metadata"]["uid"], old);
        assert_eq!(shape(&spoke), wanted);
    });
}

#[test]
fn a_spoke_restored_from_a_backup_becomes_what_it_was() {
    run(|| async {
        let (mut world, spoke) = with_serving(4).await;
        let wanted = shape(&spoke);
        let backup: Vec<Value> =
            spoke.server.snapshot().objects().map(|object| saved((**object.value).clone())).collect();
        let restored = world.attach_spoke("east");
        let order = ["CustomResourceDefinition", "Namespace"];
        let rank =
            |object: &Value| order.iter().position(|kind| object["kind"] == *kind).unwrap_or(order.len());
        let mut backup = backup;
        backup.sort_by_key(rank);
        for object in backup {
            // What is made for every namespace is there already.
            drop(restored.server.create(object));
        }
        world.pass(Duration::from_secs(300)).await;
        world.ready(SERVING, "1.23.0").await;
        assert_eq!(shape(&restored), wanted);
        assert_eq!(owners(&restored).len(), 1);
    });
}

#[test]
fn a_restored_hub_goes_on_with_what_is_there() {
    run(|| async {
        let (mut world, spoke) = with_serving(5).await;
        world.pass(Duration::from_secs(900)).await;
        let before = inventory(&spoke);
        world.stop_operator();
        // The custom resource comes back with another UID and without a status.
        let backup = saved((*world.component(SERVING).expect("ready")).clone());
        world.edit(&world.hub, id(SERVING), |object| object["metadata"]["finalizers"] = json!([]));
        world.delete(&world.hub, id(SERVING));
        let mut backup = backup;
        backup["status"] = json!({});
        backup["metadata"]["finalizers"] = json!([]);
        world.create(&world.hub, backup);
        world.start_operator();
        world.ready(SERVING, "1.23.0").await;
        world.pass(Duration::from_secs(120)).await;
        // Whether a Job has run is known from the status alone, so that they run once more.
        let mut after = inventory(&spoke);
        after.retain(|key, _| !key.starts_with("Job."));
        assert_eq!(after, before, "nothing was deleted or made again");
        let uid = world.component(SERVING).expect("ready")["metadata"]["uid"].clone();
        assert_eq!(
            anchor(&spoke).expect("kept")["metadata"]["annotations"]["operator.knative.dev/cr-uid"],
            uid
        );
        world.delete(&world.hub, id(SERVING));
        world.gone(SERVING).await;
        assert_eq!(leftovers(&spoke), [], "the namespace that the first one created goes too");
    });
}

#[test]
fn of_two_hubs_with_the_same_resource_the_second_is_refused_and_its_removal_harms_nothing() {
    run(|| async {
        let (first, spoke) = with_serving(6).await;
        first.pass(Duration::from_secs(900)).await;
        let before = inventory(&spoke);
        let mut second = World::new(Options::new(Seed(7)));
        second.network.attach(&crate::world::address("east"), spoke.clone());
        second.create_profile("east", &crate::world::address("east"));
        second.start_operator();
        second.submit(serving("1.22.0", Some("east")));
        let text = second.says(SERVING, "TargetClusterResolved", "False", "AnchorOwnedElsewhere").await;
        assert!(text.contains("knative-serving/knative-serving"), "{text}");
        second.delete(&second.hub, id(SERVING));
        second.gone(SERVING).await;
        first.pass(Duration::from_secs(120)).await;
        assert_eq!(inventory(&spoke), before);
        first.ready(SERVING, "1.23.0").await;
    });
}
