//! Whatever a resource or a manifest says: what holds of every plan.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

mod generate;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use generate::{Wish, acceptable, disturbed, elements, objects, resource, tree, valid};
use knative_operator::api::{Component, ComponentKind, Status, cluster_profile::ClusterProfile};
use knative_operator::manifest::{Object, ObjectKey, Part, Release, Role, parse_yaml, version};
use knative_operator::plan::{Facts, Owner, Plan, PlanError, plan};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json};

fn planned(component: &Component, parts: Vec<Part>) -> Result<Plan, PlanError> {
    let release = Release { target_version: "1.23.0".into(), sources: Vec::new(), parts, stale: Vec::new() };
    let owner = Some(Owner::component(component));
    plan(component, &release, &Facts { namespace: "ns".into(), owner, ..Facts::default() })
}

fn plan_of(wish: &Wish) -> Result<Plan, PlanError> {
    planned(&Component::from_value(&wish.resource()).unwrap(), wish.released.0.clone())
}

/// What a plan says, in no particular order.
fn content(plan: &Plan) -> (BTreeMap<ObjectKey, &Object>, BTreeSet<&String>) {
    (plan.objects().map(|object| (object.key(), object)).collect(), plan.unknown_names.iter().collect())
}

fn remove(map: &mut Value, field: &str) {
    map.as_object_mut().unwrap().remove(field);
}

/// Moves elements to positions that the numbers choose.
fn shuffle<T>(list: &mut [T], by: &[Index]) {
    for (i, index) in (0..list.len()).zip(by.iter().cycle()) {
        list.swap(i, index.index(list.len()));
    }
}

fn few(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(few(256))]

    #[test]
    fn anything_may_be_read(value in tree(), bytes in vec(any::<u8>(), 0..200), text in ".{0,20}") {
        let _ = Component::from_value(&value);
        for kind in ComponentKind::ALL {
            let _ = Component::from_value(&resource(kind, &value));
        }
        let status = Status::from_value(&value);
        prop_assert_eq!(&Status::from_value(&serde_json::to_value(&status).unwrap()), &status);
        let _ = ClusterProfile::from_value(&value);
        let _ = parse_yaml(&bytes);
        let _ = parse_yaml(text.as_bytes());
        let _ = version::parse(&text);
        let _ = version::target(&text, false, std::slice::from_ref(&text));
    }

    #[test]
    fn what_the_schema_admits_can_be_read(wish in valid()) {
        if let Err(error) = Component::from_value(&wish.resource()) {
            return Err(TestCaseError::fail(error.to_string()));
        }
    }
}

proptest! {
    #![proptest_config(few(96))]

    #[test]
    fn any_spec_and_any_manifest_give_one_plan_or_an_error(wish in disturbed(), own in objects()) {
        let component = Component::from_value(&wish.resource()).unwrap();
        let own = Part { role: Role::Additional, objects: Arc::new(own) };
        let parts: Vec<_> = wish.released.0.iter().cloned().chain([own]).collect();
        let (first, second) = (planned(&component, parts.clone()), planned(&component, parts));
        if let Ok(plan) = &first {
            let keys: Vec<_> = plan.objects().map(Object::key).collect();
            prop_assert_eq!(keys.iter().collect::<BTreeSet<_>>().len(), keys.len(), "an identity twice");
            prop_assert!(plan.objects().all(|object| object.label("app.kubernetes.io/name").is_some()));
        }
        let text = |error: PlanError| error.to_string();
        prop_assert_eq!(first.map_err(text), second.map_err(text));
    }
}

proptest! {
    #![proptest_config(few(48))]

    #[test]
    fn what_is_not_refused_on_purpose_is_planned(wish in acceptable()) {
        if let Err(error) = plan_of(&wish) {
            return Err(TestCaseError::fail(format!("{error}: {:?}", std::error::Error::source(&error))));
        }
    }

    #[test]
    fn planning_what_was_planned_changes_nothing(mut wish in acceptable()) {
        // These append to what was released, or are made from it, on purpose.
        remove(&mut wish.spec, "controller-custom-certs");
        for field in ["default", "imagePullSecrets"] {
            wish.spec.get_mut("registry").into_iter().for_each(|registry| remove(registry, field));
        }
        // A list of variables with one name twice means one thing to a container with variables, another to one without.
        for field in ["workloads", "deployments"] {
            for env in elements(&mut wish.spec, field).flat_map(|wanted| elements(wanted, "env")) {
                let mut seen = BTreeSet::new();
                if let Some(Value::Array(variables)) = env.get_mut("envVars") {
                    variables.retain(|variable| seen.insert(variable["name"].to_string()));
                }
            }
        }
        let first = plan_of(&wish).unwrap();
        let objects: Vec<_> = first.objects().filter(|object| object.kind() != "Job").cloned().collect();
        let component = Component::from_value(&wish.resource()).unwrap();
        let again = planned(&component, vec![Part { role: Role::Core, objects: Arc::new(objects.clone()) }]).unwrap();
        for (object, again) in objects.iter().zip(again.objects()) {
            prop_assert_eq!(again, object);
        }
    }

    #[test]
    fn the_order_of_a_release_decides_only_the_order_of_the_plan(wish in acceptable(), by in vec(any::<Index>(), 20)) {
        let mut shuffled = wish.clone();
        for part in &mut shuffled.released.0 {
            shuffle(Arc::make_mut(&mut part.objects).as_mut_slice(), &by);
        }
        let (plan, other) = (plan_of(&wish).unwrap(), plan_of(&shuffled).unwrap());
        prop_assert_eq!(content(&plan), content(&other));
    }

    #[test]
    fn the_order_of_overrides_of_different_names_does_not_matter(mut wish in acceptable(), by in vec(any::<Index>(), 5)) {
        let mut shuffled = wish.clone();
        for field in ["workloads", "deployments", "services", "podDisruptionBudgets", "resources"] {
            let Some(Value::Array(list)) = wish.spec.get_mut(field) else { continue };
            let mut seen = BTreeSet::new();
            list.retain(|entry| seen.insert(entry.get("name").or(entry.get("container")).map(ToString::to_string)));
            let mut list = list.clone();
            shuffle(&mut list, &by);
            shuffled.spec[field] = list.into();
        }
        let (plan, other) = (plan_of(&wish).unwrap(), plan_of(&shuffled).unwrap());
        prop_assert_eq!(content(&plan), content(&other));
    }

    #[test]
    fn names_that_are_nowhere_change_nothing_and_are_reported(wish in acceptable(), name in "zz-[a-z]{1,9}") {
        let mut asking = wish.clone();
        let workload = json!({"name": name, "replicas": 3, "hostNetwork": true});
        let container = json!({"container": name, "limits": {"cpu": "1"}});
        let additions = [
            ("config", json!({name.clone(): {"a": "b"}})),
            ("workloads", json!([workload.clone()])),
            ("deployments", json!([workload])),
            ("services", json!([{"name": name, "labels": {"a": "b"}}])),
            ("podDisruptionBudgets", json!([{"name": name, "minAvailable": 1}])),
            ("resources", json!([container])),
            ("registry", json!({"override": {name.clone(): "example.org/a"}})),
        ];
        for (field, addition) in additions {
            merge(&mut asking.spec[field], addition);
        }
        let (plan, other) = (plan_of(&wish).unwrap(), plan_of(&asking).unwrap());
        prop_assert_eq!(&plan.phases, &other.phases);
        let (known, reported) = (content(&plan).1, content(&other).1);
        let new: Vec<_> = reported.difference(&known).collect();
        prop_assert_eq!(new.len(), 7, "{:?}", new);
        prop_assert!(new.iter().all(|line| line.ends_with(&name)));
    }
}

/// Adds entries of maps and elements of lists.
fn merge(into: &mut Value, addition: Value) {
    match (into, addition) {
        (Value::Object(into), Value::Object(addition)) => {
            for (key, value) in addition {
                merge(into.entry(key).or_insert(Value::Null), value);
            }
        }
        (Value::Array(into), Value::Array(addition)) => into.extend(addition),
        (into, addition) => *into = addition,
    }
}
