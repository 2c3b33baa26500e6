//! What is left when owners go.

use std::collections::{BTreeMap, BTreeSet};

use fake_apiserver::Controllers;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::bench::{Bench, config};
use crate::shape::Kind;

/// How many objects there are.
const COUNT: usize = 8;

/// The owners of each object, all older than itself, and whether it holds them up.
type Graph = Vec<BTreeMap<usize, bool>>;

/// An owner that goes, and what is to become of its dependents.
type Removal = (usize, &'static str);

fn graph() -> impl Strategy<Value = Graph> {
    let owners = |index: usize| prop::collection::btree_map(0..index.max(1), any::<bool>(), 0..=index.min(3));
    (0..COUNT).map(owners).collect::<Vec<_>>()
}

fn removals() -> impl Strategy<Value = Vec<Removal>> {
    let policy = prop::sample::select(&["Background", "Foreground", "Orphan"][..]);
    prop::collection::vec((0..COUNT, policy), 1..5)
}

/// A cluster with the graph in it.
fn build(graph: &Graph) -> Bench {
    let bench = Bench::new(Controllers { garbage_collector: true, ..Controllers::none() });
    let mut uids: Vec<Value> = Vec::new();
    for (index, owners) in graph.iter().enumerate() {
        let references: Vec<Value> = owners
            .iter()
            .map(|(owner, blocks)| {
                json!({
                    "apiVersion": "v1", "kind": "ConfigMap", "name": format!("o{owner}"), "uid": uids[*owner],
                    "blockOwnerDeletion": blocks,
                })
            })
            .collect();
        let object = bench.cluster.create(json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": { "name": format!("o{index}"), "namespace": "default", "ownerReferences": references },
        }));
        uids.push(object.unwrap()["metadata"]["uid"].clone());
    }
    bench.cluster.settle();
    bench
}

fn remove(bench: &Bench, (index, policy): Removal) {
    let target = format!("{}/o{index}", Kind::ConfigMap.path());
    bench.send("DELETE", &target, "application/json", &json!({ "propagationPolicy": policy }));
}

/// Who is left, with which owners.
fn left(bench: &Bench) -> BTreeMap<usize, BTreeSet<usize>> {
    let number = |value: &Value| value.as_str().unwrap()[1..].parse().unwrap();
    let objects = bench.cluster.snapshot().list("", "ConfigMap", "default");
    let entry = |object: &Value| {
        let owners = object["metadata"]["ownerReferences"].as_array().into_iter().flatten();
        (number(&object["metadata"]["name"]), owners.map(|owner| number(&owner["name"])).collect())
    };
    objects.iter().map(|object| entry(object)).collect()
}

/// The same by the rules: who has lost all owners goes too, unless they were orphaned.
fn by_the_rules(objects: &mut BTreeMap<usize, BTreeSet<usize>>, (index, policy): Removal) {
    if objects.remove(&index).is_none() {
        return;
    }
    let mut gone = vec![index];
    while let Some(owner) = gone.pop() {
        let dependents: Vec<usize> =
            objects.iter().filter(|(_, owners)| owners.contains(&owner)).map(|(index, _)| *index).collect();
        for dependent in dependents {
            let owners = objects.entry(dependent).or_default();
            owners.remove(&owner);
            if owners.is_empty() && policy != "Orphan" {
                objects.remove(&dependent);
                gone.push(dependent);
            }
        }
    }
}

proptest! {
    #![proptest_config(config(150))]

    #[test]
    fn what_is_left_follows_from_the_graph(graph in graph(), removals in removals()) {
        let bench = build(&graph);
        let mut expected: BTreeMap<_, BTreeSet<usize>> = BTreeMap::new();
        for (index, owners) in graph.iter().enumerate() {
            expected.insert(index, owners.keys().copied().collect());
        }
        for removal in removals {
            remove(&bench, removal);
            bench.cluster.settle();
            by_the_rules(&mut expected, removal);
            prop_assert_eq!(left(&bench), expected.clone(), "after {:?}", removal);
        }
    }

    #[test]
    fn nobody_is_left_waiting_or_with_owners_that_are_gone(graph in graph(), removals in removals()) {
        let bench = build(&graph);
        for removal in removals {
            // The collector has no time to act in between.
            remove(&bench, removal);
        }
        bench.cluster.settle();
        let left = left(&bench);
        for (index, owners) in &left {
            prop_assert!(owners.iter().all(|owner| left.contains_key(owner)), "o{} of {:?}", index, left);
            let object = bench.cluster.get("", "ConfigMap", "default", &format!("o{index}")).unwrap();
            prop_assert!(object["metadata"]["deletionTimestamp"].is_null(), "o{} waits", index);
        }
    }
}
