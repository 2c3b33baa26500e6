//! Laws that hold whatever is applied.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::writer;
use crate::apply::{FieldSet, apply, track_update};
use crate::schema::{MergeType, builtin_merge_type};

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![Just(Value::Null), (0..3_i64).prop_map(Value::from), "[a-b]{0,1}".prop_map(Value::from)]
}

fn free_form() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(3, 16, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map("[a-c]", inner, 0..3)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

/// Pods with keyed lists and a set; what merging takes for scalars is of any form.
fn pod() -> impl Strategy<Value = Value> {
    let container = (prop::option::of(free_form()), prop::collection::btree_set(0..3_u8, 0..3));
    let containers = prop::collection::btree_map("[a-c]", container, 0..3);
    let finalizers = prop::collection::btree_set("[a-c]", 0..3);
    (containers, finalizers, prop::option::of(free_form()), any::<bool>()).prop_map(
        |(containers, finalizers, extra, backwards)| {
            let mut containers: Vec<Value> = containers
                .into_iter()
                .map(|(name, (extra, ports))| {
                    let ports: Vec<Value> = ports.iter().map(|port| json!({"containerPort": port})).collect();
                    let mut container = json!({"name": name, "ports": ports});
                    if let Some(extra) = extra {
                        container["image"] = extra;
                    }
                    container
                })
                .collect();
            if backwards {
                containers.reverse();
            }
            let mut pod = json!({
                "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "finalizers": finalizers},
                "spec": {"containers": containers},
            });
            if let Some(extra) = extra {
                pod["spec"]["nodeName"] = extra;
            }
            pod
        },
    )
}

/// Puts the object under free-form facts as well, where everything is data.
fn facts() -> [std::sync::Arc<MergeType>; 2] {
    [builtin_merge_type("", "Pod"), MergeType::Deduced.into()]
}

proptest! {
    #[test]
    fn a_second_identical_apply_gives_an_equal_object(first in pod(), other in pod(), config in pod()) {
        for types in facts() {
            // An object that nobody owns anything of is given to `before-first-apply`, which is a change.
            let owner = json!({"metadata": {"labels": {"l": "1"}}});
            let live = apply(None, &owner, &types, &writer("gamma", "0"), true).unwrap();
            let live = apply(Some(&live), &first, &types, &writer("alpha", "1"), true).unwrap();
            let live = apply(Some(&live), &other, &types, &writer("beta", "2"), true).unwrap();
            let once = apply(Some(&live), &config, &types, &writer("alpha", "3"), true).unwrap();
            let twice = apply(Some(&once), &config, &types, &writer("alpha", "4"), false).unwrap();
            prop_assert_eq!(twice, once);
        }
    }

    #[test]
    fn the_only_applier_ends_with_what_it_applied_last(first in pod(), config in pod()) {
        let types = builtin_merge_type("", "Pod");
        let live = apply(None, &first, &types, &writer("alpha", "1"), false).unwrap();
        let fresh = apply(None, &config, &types, &writer("alpha", "2"), false).unwrap();
        let object = apply(Some(&live), &config, &types, &writer("alpha", "2"), false).unwrap();
        let fields = |object: &Value| {
            let entries = object["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
            entries.into_iter().find(|entry| entry["manager"] == "alpha").map(|entry| entry["fieldsV1"].clone())
        };
        prop_assert_eq!(fields(&object), fields(&fresh));
        let names = |object: &Value| -> Vec<Value> {
            let containers = object["spec"]["containers"].as_array().into_iter().flatten();
            containers.map(|container| container["name"].clone()).collect()
        };
        prop_assert_eq!(names(&object), names(&fresh));
    }

    #[test]
    fn whoever_forces_owns_what_it_applied_and_nobody_loses_the_rest(first in pod(), config in pod()) {
        let types = builtin_merge_type("", "Pod");
        let live = apply(None, &first, &types, &writer("alpha", "1"), false).unwrap();
        let object = apply(Some(&live), &config, &types, &writer("beta", "2"), true).unwrap();
        let again = apply(Some(&object), &config, &types, &writer("gamma", "3"), false);
        prop_assert!(again.is_ok(), "equal values never conflict: {:?}", again);
    }

    #[test]
    fn field_sets_survive_encoding(object in free_form()) {
        let mut pod = json!({"metadata": {"name": "a"}, "spec": object});
        track_update(None, &mut pod, &MergeType::Deduced, &writer("alpha", "1"));
        let encoded = &pod["metadata"]["managedFields"][0]["fieldsV1"];
        prop_assert_eq!(&FieldSet::decode(encoded).encode(), encoded);
    }

    #[test]
    fn set_algebra_is_consistent(left in free_form(), right in free_form()) {
        let set = |value: Value| {
            let mut object = json!({"spec": value});
            track_update(None, &mut object, &MergeType::Deduced, &writer("alpha", "1"));
            FieldSet::decode(&object["metadata"]["managedFields"][0]["fieldsV1"])
        };
        let (left, right) = (set(left), set(right));
        let both = left.intersection(&right);
        let mut only_left = left.clone();
        only_left.subtract(&right);
        prop_assert!(only_left.intersection(&right).is_empty());
        only_left.unite(both);
        prop_assert_eq!(only_left, left);
    }

    #[test]
    fn no_object_makes_tracking_panic(live in free_form(), new in free_form(), managed in free_form()) {
        for types in facts() {
            let live = json!({"metadata": {"managedFields": managed}, "spec": live});
            let mut new = json!({"metadata": new, "spec": new});
            track_update(Some(&live), &mut new, &types, &writer("alpha", "1"));
            let _ = apply(Some(&live), &new, &types, &writer("alpha", "1"), true);
        }
    }
}
