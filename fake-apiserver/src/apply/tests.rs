//! Sentences about ownership, laws that hold for any object, and the recorded cases of a real server.

mod laws;
mod recorded;

use serde_json::{Value, json};

use super::{ApplyError, FieldSet, Writer, apply, conflict_message, keep_times, track_update};
use crate::schema::builtin_merge_type;

fn writer(manager: &str, time: &str) -> Writer {
    Writer { manager: manager.into(), api_version: "v1".into(), subresource: None, time: time.into() }
}

fn config_map(data: Value) -> Value {
    let mut object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
    object["data"] = data;
    object
}

/// Applies as `manager` at the time `1`.
fn applied(live: Option<&Value>, config: &Value, manager: &str) -> Result<Value, ApplyError> {
    apply(live, config, &builtin_merge_type("", "ConfigMap"), &writer(manager, "1"), false)
}

#[track_caller]
fn owned(object: &Value, manager: &str) -> Value {
    let entries = object["metadata"]["managedFields"].as_array().expect("the object has owners");
    let entry = entries.iter().find(|entry| entry["manager"] == manager);
    entry.map(|entry| entry["fieldsV1"].clone()).unwrap_or_default()
}

#[test]
fn an_applier_owns_the_leaves_it_applied_and_nothing_of_the_system() {
    let config = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "a", "labels": {"l": "1"}, "finalizers": ["x/y"]}, "data": {"k": "v"},
    });
    let object = applied(None, &config, "alpha").unwrap();
    assert_eq!(
        owned(&object, "alpha"),
        json!({"f:data": {"f:k": {}}, "f:metadata": {"f:finalizers": {"v:\"x/y\"": {}}, "f:labels": {"f:l": {}}}})
    );
}

#[test]
fn a_creator_owns_also_the_maps_that_hold_its_fields() {
    let mut object = config_map(json!({"k": "v"}));
    track_update(None, &mut object, &builtin_merge_type("", "ConfigMap"), &writer("alpha", "1"));
    assert_eq!(owned(&object, "alpha"), json!({"f:data": {".": {}, "f:k": {}}}));
}

#[test]
fn a_field_that_is_always_there_is_not_owned_by_who_fills_it() {
    let mut object = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"},
        "spec": {"strategy": {"rollingUpdate": {"maxSurge": 1}}, "template": {"spec": {"containers": [
            {"name": "m", "resources": {}, "image": "x"},
        ]}}},
        "status": {},
    });
    track_update(None, &mut object, &builtin_merge_type("apps", "Deployment"), &writer("alpha", "1"));
    assert_eq!(
        owned(&object, "alpha"),
        json!({"f:spec": {
            "f:strategy": {"f:rollingUpdate": {".": {}, "f:maxSurge": {}}},
            "f:template": {"f:spec": {"f:containers": {
                "k:{\"name\":\"m\"}": {".": {}, "f:image": {}, "f:name": {}, "f:resources": {}},
            }}},
        }})
    );
}

#[test]
fn another_value_conflicts_with_its_owner_and_force_takes_it_over() {
    let object = applied(None, &config_map(json!({"k": "1", "l": "1"})), "alpha").unwrap();
    let config = config_map(json!({"k": "2"}));
    let Err(ApplyError::Conflicts(conflicts)) = applied(Some(&object), &config, "beta") else {
        panic!("it conflicts");
    };
    assert_eq!(
        conflict_message(&conflicts),
        "Apply failed with 1 conflict: conflict with \"alpha\": .data.k"
    );
    let types = builtin_merge_type("", "ConfigMap");
    let forced = apply(Some(&object), &config, &types, &writer("beta", "2"), true).unwrap();
    assert_eq!(forced["data"], json!({"k": "2", "l": "1"}));
    assert_eq!(owned(&forced, "alpha"), json!({"f:data": {"f:l": {}}}));
    assert_eq!(owned(&forced, "beta"), json!({"f:data": {"f:k": {}}}));
}

#[test]
fn a_field_given_up_goes_unless_somebody_else_owns_it() {
    let object = applied(None, &config_map(json!({"k": "1", "l": "1"})), "alpha").unwrap();
    let shared = applied(Some(&object), &config_map(json!({"l": "1"})), "beta").unwrap();
    let less = applied(Some(&shared), &config_map(json!({})), "alpha").unwrap();
    assert_eq!(less["data"], json!({"l": "1"}));
    assert_eq!(owned(&less, "beta"), json!({"f:data": {"f:l": {}}}));
}

#[test]
fn an_object_without_owners_belongs_to_before_first_apply() {
    let mut object = config_map(json!({"z": "1"}));
    object["metadata"]["uid"] = json!("1");
    let mut updated = object.clone();
    track_update(Some(&object), &mut updated, &builtin_merge_type("", "ConfigMap"), &writer("editor", "1"));
    assert_eq!(updated, object);
    let object = applied(Some(&object), &config_map(json!({"z": "1"})), "alpha").unwrap();
    assert_eq!(owned(&object, "before-first-apply"), json!({"f:data": {".": {}, "f:z": {}}}));
}

#[test]
fn an_update_that_changes_nothing_keeps_the_object_byte_equal() {
    let object = applied(None, &config_map(json!({"k": "1"})), "alpha").unwrap();
    let mut same = object.clone();
    track_update(Some(&object), &mut same, &builtin_merge_type("", "ConfigMap"), &writer("editor", "2"));
    assert_eq!(same, object);
}

#[test]
fn the_object_itself_is_no_field() {
    assert!(FieldSet::decode(&json!({".": {}})).is_empty());
}

#[test]
fn one_empty_entry_resets_the_owners() {
    let mut object = applied(None, &config_map(json!({"k": "1"})), "alpha").unwrap();
    object["metadata"]["uid"] = json!("1");
    let mut reset = object.clone();
    reset["metadata"]["managedFields"] = json!([{}]);
    track_update(Some(&object), &mut reset, &builtin_merge_type("", "ConfigMap"), &writer("editor", "2"));
    assert_eq!(reset["metadata"].get("managedFields"), None);
}

#[test]
fn duplicate_keys_and_undeclared_fields_are_refused_in_the_servers_words() {
    let types = builtin_merge_type("apps", "Deployment");
    let config = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
        "spec": {"template": {"spec": {"containers": [{"name": "a"}, {"name": "a"}]}}},
    });
    assert_eq!(
        apply(None, &config, &types, &writer("alpha", "1"), false),
        Err(ApplyError::Invalid(
            "failed to create typed patch object (/web; apps/v1, Kind=Deployment): \
             .spec.template.spec.containers: duplicate entries for key [name=\"a\"]"
                .into()
        ))
    );
    let mut config = config_map(json!(["x"]));
    config["bogus"] = json!(1);
    assert_eq!(
        applied(None, &config, "alpha"),
        Err(ApplyError::Invalid(
            "failed to create typed patch object (/a; /v1, Kind=ConfigMap): errors:\n  .bogus: field not declared in \
             schema\n  .data: expected map, got [\"x\"]"
                .into()
        ))
    );
}

#[test]
fn the_oldest_updaters_are_merged_when_there_are_more_than_ten() {
    let types = builtin_merge_type("", "ConfigMap");
    let mut object = config_map(json!({}));
    for number in 0..13 {
        let mut next = object.clone();
        next["data"][format!("k{number}")] = json!("1");
        track_update(
            Some(&object),
            &mut next,
            &types,
            &writer(&format!("m{number}"), &format!("{number:02}")),
        );
        object = next;
    }
    assert_eq!(object["metadata"]["managedFields"].as_array().unwrap().len(), 10);
    assert_eq!(
        owned(&object, "ancient-changes"),
        json!({"f:data": {"f:k0": {}, "f:k1": {}, "f:k2": {}, "f:k3": {}}})
    );
}

#[test]
fn a_path_is_printed_as_the_server_prints_it() {
    let set = FieldSet::decode(&json!({"f:spec": {
        "f:m": {"k:{\"port\":80,\"name\":\"a\"}": {"f:v": {}}}, "f:s": {"v:\"x\"": {}}, "f:z": {}, "f:l": {"i:3": {}},
    }}));
    assert_eq!(set.paths(), [".spec.z", ".spec.l[3]", ".spec.m[name=\"a\",port=80].v", ".spec.s[=\"x\"]"]);
}
#[test]
fn a_write_that_comes_to_nothing_keeps_the_times_of_its_entries() {
    let live = applied(None, &config_map(json!({"k": "1"})), "alpha").unwrap();
    let mut new = live.clone();
    new["metadata"]["managedFields"][0]["time"] = json!("later");
    keep_times(&live, &mut new);
    assert_eq!(new, live);
    new["metadata"]["managedFields"][0]["time"] = json!("later");
    new["data"]["k"] = json!("2");
    keep_times(&live, &mut new);
    assert_eq!(new["metadata"]["managedFields"][0]["time"], "later");
}

#[test]
fn kubectl_takes_over_what_it_applied_on_the_client_side_and_nothing_else() {
    let types = builtin_merge_type("", "ConfigMap");
    let last = config_map(json!({"k": "1"})).to_string();
    let mut object = config_map(json!({"k": "1", "l": "1"}));
    object["metadata"]["annotations"] = json!({"kubectl.kubernetes.io/last-applied-configuration": last});
    track_update(None, &mut object, &types, &writer("kubectl-client-side-apply", "1"));
    let config = config_map(json!({"k": "2"}));
    let taken = applied(Some(&object), &config, "kubectl").unwrap();
    assert_eq!(owned(&taken, "kubectl"), json!({"f:data": {"f:k": {}}}));
    let annotation = &taken["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"];
    assert_eq!(*annotation, format!("{config}\n"));
    assert!(applied(Some(&object), &config, "other").is_err());
    assert!(applied(Some(&object), &config_map(json!({"l": "2"})), "kubectl").is_err());
}
