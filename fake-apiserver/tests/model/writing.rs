//! What writes leave behind: the fields, who owns them, and versions.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use serde_json::Value;

use crate::bench::{Bench, config, version};
use crate::history::{Act, Step, history};
use crate::model::{Model, Outcome, Owner};
use crate::shape::{Kind, Leaf};

/// Who owns what, as the object says.
fn owned(kind: Kind, object: &Value) -> BTreeMap<Owner, BTreeSet<Leaf>> {
    let mut owned: BTreeMap<Owner, BTreeSet<Leaf>> = BTreeMap::new();
    for entry in object["metadata"]["managedFields"].as_array().into_iter().flatten() {
        let manager = entry["manager"].as_str().unwrap().trim_start_matches('m').parse().unwrap();
        let leaves = kind.owned(&entry["fieldsV1"]);
        if !leaves.is_empty() {
            owned.entry((manager, entry["operation"] == "Apply")).or_default().extend(leaves);
        }
    }
    owned
}

/// An object without its version and the times of its managers.
fn content(object: &Value) -> Value {
    let mut content = object.clone();
    content["metadata"]["resourceVersion"] = Value::Null;
    for entry in content["metadata"]["managedFields"].as_array_mut().into_iter().flatten() {
        entry["time"] = Value::Null;
    }
    content
}

/// Does a step in both worlds and compares them.
fn both(bench: &Bench, model: &mut Model, step: &Step) -> Result<Outcome, TestCaseError> {
    let outcome = model.step(step);
    let answer = bench.act(step);
    prop_assert_eq!(answer.code, outcome.code(), "{:?}: {}", step, answer.body);
    let live = bench.live(step.kind, step.name);
    let expected = model.objects.get(&(step.kind, step.name));
    prop_assert_eq!(
        live.as_ref().map(|live| step.kind.seen(live)),
        expected.map(|object| object.leaves.clone())
    );
    prop_assert_eq!(
        live.as_ref().map(|live| owned(step.kind, live)),
        expected.map(|object| object.owned.clone())
    );
    Ok(outcome)
}

proptest! {
    #![proptest_config(config(80))]

    #[test]
    fn fields_and_their_owners_are_those_of_the_model(steps in history(30)) {
        let (bench, mut model) = (Bench::quiet(), Model::default());
        for step in &steps {
            both(&bench, &mut model, step)?;
        }
    }

    #[test]
    fn a_change_is_the_next_revision_and_no_change_is_none(steps in history(30)) {
        let bench = Bench::quiet();
        for step in &steps {
            let (before, revision) = (bench.live(step.kind, step.name), bench.cluster.revision());
            bench.act(step);
            let after = bench.live(step.kind, step.name);
            let changed = before.as_ref().map(content) != after.as_ref().map(content);
            prop_assert_eq!(before != after, changed, "a version without a change");
            prop_assert_eq!(bench.cluster.revision(), revision + u64::from(changed), "{:?}", step);
            if let Some(after) = after.filter(|_| changed) {
                prop_assert_eq!(version(&after), revision + 1);
                prop_assert!(before.is_none_or(|before| version(&before) <= revision));
            }
        }
    }

    #[test]
    fn the_same_apply_again_changes_nothing(steps in history(30)) {
        let (bench, mut model) = (Bench::quiet(), Model::default());
        for step in &steps {
            let outcome = both(&bench, &mut model, step)?;
            if matches!(step.act, Act::Apply(..)) && outcome != Outcome::Conflict {
                let (live, revision) = (bench.live(step.kind, step.name), bench.cluster.revision());
                prop_assert_eq!(bench.act(step).code, 200);
                prop_assert_eq!(bench.live(step.kind, step.name), live);
                prop_assert_eq!(bench.cluster.revision(), revision);
            }
        }
    }
}
