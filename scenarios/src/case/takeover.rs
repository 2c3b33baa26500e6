//! Clusters on which another operator has installed the same before, recorded from real ones (`TAKEOVER_OBJECTS`, with the
//! releases in `KO_DATA_PATH`): they are gone on with as they are.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

use crate::files::Bundle;
use crate::network::Site;
use crate::runtime::run;
use crate::seed::Seed;
use crate::story::{EVENTING, SERVING, id, inventory};
use crate::world::{Options, World};

const SPOKE: &str = "spoke-eu";

/// The objects in a recording.
fn recorded(directory: &std::path::Path, file: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(directory.join(file)).expect("the recording can be read");
    text.lines().map(|line| serde_json::from_str(line).expect("a line is an object")).collect()
}

/// A world whose spoke and custom resource are as they were recorded, with what was on the spoke before; nothing where
/// there are no recordings.
fn world(
    seed: u64,
    component: (&'static str, &'static str, &'static str),
    file: &str,
) -> Option<(World, Site, BTreeMap<String, String>)> {
    let (Some(objects), Some(releases)) =
        (std::env::var_os("TAKEOVER_OBJECTS"), std::env::var_os("KO_DATA_PATH"))
    else {
        println!("SKIPPED {file}: TAKEOVER_OBJECTS or KO_DATA_PATH is not set");
        return None;
    };
    let objects = PathBuf::from(objects);
    let bundle = Bundle::Directory(PathBuf::from(releases));
    // As the operator had it that was at work when this was recorded.
    let kubernetes_min_version = Some("v1.20.0".into());
    let mut world = World::new(Options { bundle, kubernetes_min_version, ..Options::new(Seed(seed)) });
    let spoke = world.add_spoke(SPOKE);
    let bare = inventory(&spoke);
    spoke.server.put_recorded(recorded(&objects, file)).expect("every kind is served");
    world.create_namespace(&world.hub, component.1);
    let resources =
        recorded(&objects, "hub.jsonl").into_iter().filter(|object| object["kind"] == component.0);
    world.hub.server.put_recorded(resources).expect("the hub knows the kind");
    Some((world, spoke, bare))
}

/// The specifications of all workloads.
fn specifications(site: &Site) -> BTreeMap<String, Value> {
    let snapshot = site.server.snapshot();
    let workloads = snapshot
        .objects()
        .filter(|object| ["Deployment", "StatefulSet"].iter().any(|kind| object.value["kind"] == *kind));
    workloads
        .map(|object| (format!("{}/{}", object.namespace, object.name), object.value["spec"].clone()))
        .collect()
}

/// Who claims fields of objects. Jobs are left out: they are replaced, never updated, so nothing will ever be dropped
/// from one.
fn managers(site: &Site) -> Vec<String> {
    let snapshot = site.server.snapshot();
    let lasting = snapshot.objects().filter(|object| object.value["kind"] != "Job");
    let entries = lasting
        .flat_map(|object| object.value["metadata"]["managedFields"].as_array().cloned().unwrap_or_default());
    let mut names: Vec<_> =
        entries.filter_map(|entry| entry["manager"].as_str().map(str::to_owned)).collect();
    names.sort();
    names.dedup();
    names
}

/// What was there and is not any more, or is another object now. Jobs go by themselves when they have run.
fn lost(before: &BTreeMap<String, String>, site: &Site) -> Vec<String> {
    let after = inventory(site);
    let same = |key: &String, uid: &String| after.get(key) == Some(uid) || key.starts_with("Job.");
    before.iter().filter(|(key, uid)| !same(key, uid)).map(|(key, _)| key.clone()).collect()
}

#[test]
fn a_finished_installation_is_taken_over_without_touching_what_runs_and_removed_whole() {
    run(|| async {
        let Some((mut world, spoke, bare)) = world(1, EVENTING, "spoke-eventing.jsonl") else { return };
        let (before, running) = (inventory(&spoke), specifications(&spoke));
        assert!(managers(&spoke).iter().any(|manager| manager == "manifestival"));
        world.start_operator();
        world.pass(Duration::from_secs(300)).await;
        world.ready(EVENTING, "1.22.2").await;
        assert_eq!(lost(&before, &spoke), [""; 0]);
        assert_eq!(specifications(&spoke), running, "nothing is rolled out anew");
        assert!(!managers(&spoke).iter().any(|manager| manager == "manifestival"), "{:?}", managers(&spoke));
        world.delete(&world.hub, id(EVENTING));
        world.gone(EVENTING).await;
        let recorded: Vec<_> = inventory(&spoke).into_keys().filter(|key| !bare.contains_key(key)).collect();
        let left: Vec<_> =
            recorded.into_iter().filter(|key| !key.starts_with("CustomResourceDefinition.")).collect();
        // Nobody says that the namespace was made for this.
        assert_eq!(left, ["Namespace. /knative-eventing"]);
    });
}

#[test]
fn an_installation_that_was_stuck_half_way_is_finished() {
    run(|| async {
        let Some((mut world, spoke, _)) = world(2, SERVING, "spoke-serving.jsonl") else { return };
        let before = inventory(&spoke);
        let certificate =
            ("networking.internal.knative.dev", "Certificate", SERVING.1, "routing-serving-certs");
        let find =
            |spoke: &Site| spoke.server.get(certificate.0, certificate.1, certificate.2, certificate.3);
        assert!(find(&spoke).is_none(), "its webhook never answered");
        world.start_operator();
        world.ready(SERVING, "1.22.1").await;
        assert!(find(&spoke).is_some());
        assert_eq!(lost(&before, &spoke), [""; 0]);
        world.pass(Duration::from_secs(300)).await;
        assert!(!managers(&spoke).iter().any(|manager| manager == "manifestival"), "{:?}", managers(&spoke));
    });
}
