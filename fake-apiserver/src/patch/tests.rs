//! The three pure patch types.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{PatchError, json as json_patch, merge, strategic};
use crate::schema::{MergeType, builtin_merge_type, cases};

#[track_caller]
fn strategic_deployment(object: Value, patch: Value, expect: Value) {
    let types = builtin_merge_type("apps", "Deployment");
    let pod = |spec: Value| json!({"spec": {"template": {"spec": spec}}});
    assert_eq!(strategic(&pod(object), &pod(patch), &types).unwrap(), pod(expect));
}

#[test]
fn replace_of_an_absent_member_adds_it_but_of_an_absent_item_fails() {
    let object = json!({"data": {"k": "v"}, "list": [1]});
    let added = json_patch(&object, &json!([{"op": "replace", "path": "/data/n", "value": "1"}])).unwrap();
    assert_eq!(added["data"], json!({"k": "v", "n": "1"}));
    let refused = json_patch(&object, &json!([{"op": "replace", "path": "/list/3", "value": 1}]));
    assert!(matches!(refused, Err(PatchError::Unprocessable(_))));
}

#[test]
fn copies_of_copies_are_refused_before_they_fill_memory_or_stack() {
    let copy = json!({"op": "copy", "from": "/a", "path": "/a/x"});
    let patch = Value::from(vec![copy; 600]);
    assert!(matches!(json_patch(&json!({"a": {}}), &patch), Err(PatchError::Unprocessable(_))));
    let wide = json!([{"op": "copy", "from": "/a", "path": "/a/-"}]);
    let patch = Value::from(vec![wide[0].clone(); 60]);
    assert!(matches!(json_patch(&json!({"a": ["x"]}), &patch), Err(PatchError::Unprocessable(_))));
    let long = Value::from(vec![json!({"op": "test", "path": "", "value": {}}); 10_001]);
    assert!(matches!(json_patch(&json!({}), &long), Err(PatchError::TooLarge(_))));
}

#[test]
fn a_json_patch_that_is_no_list_is_malformed() {
    let Err(PatchError::Malformed(message)) = json_patch(&json!({}), &json!({"op": "add"})) else {
        panic!("it is refused");
    };
    assert_eq!(
        message,
        "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp"
    );
}

#[test]
fn a_new_item_goes_before_the_servers_and_a_known_one_keeps_its_place() {
    strategic_deployment(
        json!({"containers": [{"name": "a", "image": "1"}, {"name": "b"}]}),
        json!({"containers": [{"name": "a", "image": "2"}, {"name": "c"}]}),
        json!({"containers": [{"name": "a", "image": "2"}, {"name": "c"}, {"name": "b"}]}),
    );
}

#[test]
fn directives_delete_replace_retain_and_order() {
    strategic_deployment(
        json!({"volumes": [{"name": "v", "emptyDir": {}}, {"name": "w", "secret": {}}], "containers": [{"name": "a"}]}),
        json!({
            "volumes": [{"name": "w", "$patch": "delete"}, {"name": "v", "$retainKeys": ["name", "nfs"], "nfs": {"x": null}}],
            "containers": [{"$patch": "replace"}, {"name": "b"}],
        }),
        json!({"volumes": [{"name": "v", "nfs": {}}], "containers": [{"name": "b"}]}),
    );
    strategic_deployment(
        json!({"containers": [{"name": "a"}, {"name": "b"}], "tolerations": [{"key": "x"}]}),
        json!({"$setElementOrder/containers": [{"name": "b"}, {"name": "a"}], "$setElementOrder/tolerations": []}),
        json!({"containers": [{"name": "b"}, {"name": "a"}], "tolerations": [{"key": "x"}]}),
    );
    let types = builtin_merge_type("", "ConfigMap");
    let object = json!({"metadata": {"finalizers": ["a", "b"]}});
    let patch = json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["a"], "$setElementOrder/finalizers": ["c", "b"], "finalizers": ["c"]}});
    assert_eq!(strategic(&object, &patch, &types).unwrap(), json!({"metadata": {"finalizers": ["c", "b"]}}));
}

#[test]
fn directives_and_nulls_are_not_stored_with_a_new_value() {
    let patch = json!({"data": {"$patch": "replace", "a": {"b": null, "$retainKeys": ["c"]}}, "new": {"x": null, "y": [{"$patch": "delete"}]}});
    let patched = strategic(&json!({"data": {"k": "v"}}), &patch, &MergeType::Deduced).unwrap();
    assert_eq!(patched, json!({"data": {"a": {}}, "new": {"y": []}}));
}

#[test]
fn an_item_without_its_merge_key_and_an_unknown_directive_are_refused() {
    let types = builtin_merge_type("", "Pod");
    let refused = |patch: Value| {
        strategic(&json!({"spec": {"containers": [{"name": "a"}]}}), &patch, &types).unwrap_err()
    };
    assert_eq!(
        refused(json!({"spec": {"containers": [{"image": "x"}]}})),
        PatchError::Internal("map: map[image:x] does not contain declared merge key: name".into())
    );
    assert_eq!(
        refused(json!({"spec": {"$patch": "frob"}})),
        PatchError::Internal("unknown patch type: frob in map: map[$patch:frob]".into())
    );
}

/// What the server fills in between the patch and the answer.
fn without_defaults(value: &Value) -> Value {
    const DEFAULTED: &[&str] = &[
        "imagePullPolicy",
        "resources",
        "terminationMessagePath",
        "terminationMessagePolicy",
        "protocol",
        "defaultMode",
        "lastTransitionTime",
        "lastUpdateTime",
    ];
    match value {
        Value::Object(fields) => fields
            .iter()
            .filter(|(name, _)| !DEFAULTED.contains(&name.as_str()))
            .map(|(name, value)| (name.clone(), without_defaults(value)))
            .collect(),
        Value::Array(items) => items.iter().map(without_defaults).collect(),
        Value::String(text) if text.is_empty() => Value::Null,
        scalar => scalar.clone(),
    }
}

/// Each step starts from the recorded result of the one before; only what its view shows takes part.
fn replay_strategic(case: &str, group: &str, kind: &str, only: &str, pointer: &str) {
    let types = builtin_merge_type(group, kind);
    let mut state = Value::Null;
    let mut patched = 0;
    for step in cases::steps(case).unwrap_or_default() {
        let request = &step["request"];
        if request["body"]["kind"] == kind {
            state = request["body"].pointer(pointer).cloned().unwrap_or_default();
        }
        let viewed =
            step["view"]["only"].as_array().is_some_and(|only| only.iter().any(|shown| shown == pointer));
        if !viewed {
            continue;
        }
        let after = step["expect"]["body"].get(pointer).unwrap_or(&Value::Null);
        let wrap = |value: &Value| {
            pointer
                .rsplit('/')
                .filter(|name| !name.is_empty())
                .fold(value.clone(), |inner, name| json!({name: inner}))
        };
        if request["method"] == "PATCH" && request["path"].as_str().is_some_and(|path| path.contains(only)) {
            let result = strategic(&wrap(&state), &request["body"], &types).unwrap();
            let result = result.pointer(pointer).unwrap_or(&Value::Null);
            assert_eq!(without_defaults(result), without_defaults(after), "{case} {}", step["id"]);
            patched += 1;
            state = after.clone();
        }
    }
    println!("{case}: {patched} steps replayed");
}

#[test]
fn strategic_patches_give_what_a_real_server_recorded() {
    let case = "patch-strategic-lists";
    replay_strategic(case, "", "ConfigMap", "/configmaps/", "/metadata/finalizers");
    replay_strategic(case, "", "Secret", "/secrets/", "/metadata/ownerReferences");
    replay_strategic(case, "apps", "Deployment", "/deployments/web", "/spec/template/spec/imagePullSecrets");
    replay_strategic(case, "apps", "Deployment", "/deployments/web", "/spec/template/spec/tolerations");
    replay_strategic(case, "apps", "Deployment", "/deployments/web", "/status/conditions");
}

#[test]
fn strategic_patches_of_containers_give_what_a_real_server_recorded() {
    let types = builtin_merge_type("apps", "Deployment");
    let mut state = Value::Null;
    for step in cases::steps("patch-strategic-containers").unwrap_or_default() {
        let request = &step["request"];
        if step["id"] == "create" {
            state = request["body"].clone();
        }
        let body = &step["expect"]["body"];
        if request["method"] != "PATCH" || body.get("/spec/template/spec/containers").is_none() {
            continue;
        }
        state = strategic(&state, &request["body"], &types).unwrap();
        for pointer in ["/spec/template/spec/containers", "/spec/template/spec/volumes"] {
            let after = state.pointer(pointer).unwrap_or(&Value::Null);
            let expect = without_defaults(&body[pointer]);
            // A host path gets an empty type from the server.
            let expect = expect.to_string().replace(",\"type\":null", "");
            assert_eq!(without_defaults(after).to_string(), expect, "{}", step["id"]);
        }
    }
}

#[test]
fn json_and_merge_patches_of_config_maps_give_what_a_real_server_recorded() {
    for case in ["patch-json", "patch-merge"] {
        let mut state = Value::Null;
        let mut compared = 0;
        for step in cases::steps(case).unwrap_or_default() {
            let (request, answer) = (&step["request"], &step["expect"]["body"]);
            let path = request["path"].as_str().unwrap();
            if !path.contains("/configmaps") || answer["kind"].is_null() || request["query"].is_object() {
                continue;
            }
            let body = &request["body"];
            let status = step["expect"]["status"].as_u64().unwrap();
            let content_type = request["headers"]["Content-Type"].as_str().unwrap_or_default();
            let result = match content_type {
                "application/json-patch+json" => json_patch(&state, body),
                "application/merge-patch+json" if body.is_object() => Ok(merge(&state, body)),
                _ => Ok(answer.clone()),
            };
            if answer["kind"] == "ConfigMap" {
                let result = result.unwrap();
                assert_eq!(result["data"], answer["data"], "{case} {}", step["id"]);
                assert_eq!(
                    result["metadata"]["labels"], answer["metadata"]["labels"],
                    "{case} {}",
                    step["id"]
                );
                state = answer.clone();
                compared += 1;
            } else if let Err(error) = result {
                let expected = if matches!(error, PatchError::Malformed(_)) { 400 } else { 422 };
                assert_eq!(status, expected, "{case} {}", step["id"]);
                assert_eq!(json!(error.to_string()), answer["message"], "{case} {}", step["id"]);
                compared += 1;
            }
        }
        println!("{case}: {compared} steps compared");
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (0..3_i64).prop_map(Value::from),
        "[a-c]{0,2}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-d]", inner, 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn merge_patch_agrees_with_the_reference_crate(object in any_json(), patch in any_json()) {
        let mut expect = object.clone();
        ::json_patch::merge(&mut expect, &patch);
        prop_assert_eq!(merge(&object, &patch), expect);
    }

    #[test]
    fn the_difference_of_two_values_as_a_json_patch_leads_from_one_to_the_other(from in any_json(), to in any_json()) {
        let patch = serde_json::to_value(::json_patch::diff(&from, &to)).unwrap();
        prop_assert_eq!(json_patch(&from, &patch).unwrap(), to);
    }

    #[test]
    fn no_strategic_patch_panics(object in any_json(), patch in any_json()) {
        let _ = strategic(&object, &patch, &MergeType::Deduced);
        let _ = strategic(&json!({"metadata": object}), &json!({"metadata": patch}), &builtin_merge_type("", "Pod"));
    }
}
