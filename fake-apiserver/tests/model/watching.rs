//! Watches and lists at old versions tell the same story.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::Value;

use crate::bench::{Bench, config, version};
use crate::history::history;
use crate::shape::{KINDS, Kind};

/// The objects of a collection by name.
type Objects = BTreeMap<String, Value>;

fn name(object: &Value) -> String {
    object["metadata"]["name"].as_str().unwrap().to_owned()
}

/// An object as lists and events both show it: items of built-in lists have no type of their own.
fn plain(mut object: Value) -> Value {
    object.as_object_mut().unwrap().retain(|key, _| !matches!(key.as_str(), "kind" | "apiVersion"));
    object
}

fn list(bench: &Bench, kind: Kind, query: &str) -> Objects {
    let answer = bench.get(&format!("{}?{query}", kind.path()));
    assert_eq!(answer.code, 200, "{}", answer.body);
    let items = answer.body["items"].as_array().cloned().unwrap_or_default();
    items.into_iter().map(|item| (name(&item), plain(item))).collect()
}

/// Plays the events of a watch from `from` on over `objects`.
fn replay(
    bench: &Bench,
    kind: Kind,
    from: u64,
    query: &str,
    objects: &mut Objects,
) -> Result<(), TestCaseError> {
    let target = format!("{}?watch=true&timeoutSeconds=1&resourceVersion={from}&{query}", kind.path());
    let mut last = from;
    for event in bench.get(&target).body.as_array().unwrap() {
        let object = event["object"].clone();
        prop_assert!(version(&object) > last, "events come in order of their versions");
        last = version(&object);
        let there = objects.contains_key(&name(&object));
        match event["type"].as_str().unwrap() {
            "ADDED" => prop_assert!(!there && objects.insert(name(&object), plain(object)).is_none()),
            "MODIFIED" => prop_assert!(there && objects.insert(name(&object), plain(object)).is_some()),
            "DELETED" => prop_assert!(objects.remove(&name(&object)).is_some()),
            other => prop_assert!(false, "an event {}: {}", other, event),
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(config(40))]

    #[test]
    fn a_watch_from_any_version_makes_the_list_of_then_the_list_of_now(steps in history(30)) {
        let bench = Bench::quiet();
        // What every version was, as a list said at that time.
        let mut past = BTreeMap::new();
        for step in &steps {
            for kind in KINDS {
                past.insert((bench.cluster.revision(), kind), list(&bench, kind, ""));
            }
            bench.act(step);
        }
        for ((revision, kind), then) in past {
            let exact = format!("resourceVersion={revision}&resourceVersionMatch=Exact");
            prop_assert_eq!(&list(&bench, kind, &exact), &then);
            let mut objects = then;
            replay(&bench, kind, revision, "", &mut objects)?;
            prop_assert_eq!(objects, list(&bench, kind, ""));
        }
    }

    #[test]
    fn a_selective_watch_makes_the_selection_of_then_the_selection_of_now(steps in history(30)) {
        let bench = Bench::quiet();
        let selector = "labelSelector=l0%20in%20(x0,x1)";
        let mut past = BTreeMap::new();
        for step in &steps {
            past.insert((bench.cluster.revision(), step.kind), list(&bench, step.kind, selector));
            bench.act(step);
        }
        for ((revision, kind), mut objects) in past {
            replay(&bench, kind, revision, selector, &mut objects)?;
            prop_assert_eq!(objects, list(&bench, kind, selector));
        }
    }
}
