//! The table of built-in merge facts.

use std::sync::Arc;

use serde_json::{Value, json};

use super::builtin_merge_type;
use super::decode::decode;
use super::settle::settle;
use super::table::Types;
use crate::schema::MergeType;
use crate::schema::cases::objects;
use crate::schema::document::Document;

fn at<'t>(root: &'t Arc<MergeType>, path: &[&str]) -> &'t MergeType {
    path.iter().fold(root, |types, name| match types {
        MergeType::ListMap { item, .. } => item.field(name),
        types => types.field(name),
    })
}

#[test]
fn a_container_port_is_told_apart_by_number_and_protocol() {
    let deployment = builtin_merge_type("apps", "Deployment");
    let MergeType::ListMap { keys, .. } =
        at(&deployment, &["spec", "template", "spec", "containers", "ports"])
    else {
        panic!("ports merge by key");
    };
    assert_eq!(keys[0].name, "containerPort");
    assert_eq!((keys[1].name.as_str(), keys[1].default.as_ref().unwrap()), ("protocol", &"TCP".into()));
}

#[test]
fn a_custom_kind_named_like_a_built_in_one_has_no_facts_of_it() {
    let knative = builtin_merge_type("serving.knative.dev", "Service");
    assert_eq!(at(&knative, &["spec"]), &MergeType::Plain);
    assert_eq!(at(&knative, &["metadata", "finalizers"]), &MergeType::Set);
}

#[test]
fn selectors_are_replaced_as_a_whole() {
    for (group, kind) in
        [("apps", "Deployment"), ("batch", "Job"), ("", "Service"), ("policy", "PodDisruptionBudget")]
    {
        assert_eq!(at(&builtin_merge_type(group, kind), &["spec", "selector"]), &MergeType::Atomic, "{kind}");
    }
}

fn read(kind: &str, text: &str) -> Result<(Value, Vec<String>), String> {
    let of = Types::get().latest_kind(if kind == "Deployment" { "apps" } else { "" }, kind).unwrap();
    let document = Document::from_json(text.as_bytes()).unwrap();
    decode(of, document, &[]).map(|decoded| (decoded.value, decoded.objections))
}

fn settled(kind: &str, object: Value) -> Value {
    let of = Types::get().latest_kind("", kind).unwrap();
    let mut object = object;
    settle(of, object.as_object_mut().unwrap());
    object
}

#[test]
fn fields_that_a_type_lacks_are_left_out_and_told_in_the_order_of_the_document() {
    let text = r#"{"kind":"Deployment","metadata":{"lables":{}},"spec":{"template":{"spec":{"containers":
        [{"name":"a","imagePullPolcy":"x"}]}},"bogus":1}}"#;
    let (object, objections) = read("Deployment", text).unwrap();
    let expected = [
        "unknown field \"metadata.lables\"",
        "unknown field \"spec.template.spec.containers[0].imagePullPolcy\"",
        "unknown field \"spec.bogus\"",
    ];
    assert_eq!(objections, expected);
    let template = json!({"spec": {"containers": [{"name": "a"}]}});
    assert_eq!(object, json!({"kind": "Deployment", "metadata": {}, "spec": {"template": template}}));
}

#[test]
fn repeated_structs_and_maps_are_read_into_one() {
    let (object, objections) = read("ConfigMap", r#"{"data":{"a":"1","a":"2"},"data":{"b":"3"}}"#).unwrap();
    assert_eq!(object, json!({"data": {"a": "2", "b": "3"}}));
    assert_eq!(objections, ["duplicate field \"data.a\"", "duplicate field \"data\""]);
}

#[test]
fn a_wrong_type_is_told_with_the_innermost_struct_and_the_whole_path() {
    let refused = |kind, text| read(kind, text).unwrap_err();
    assert_eq!(
        refused("Deployment", r#"{"spec":{"template":{"spec":{"containers":[{"image":5}]}}}}"#),
        "json: cannot unmarshal number into Go struct field Container.spec.template.spec.containers.image of type string"
    );
    assert_eq!(
        refused("Deployment", r#"{"spec":{"replicas":"two"}}"#),
        "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32"
    );
    assert_eq!(
        refused("ConfigMap", r#"{"metadata":{"labels":["x"]}}"#),
        "json: cannot unmarshal array into Go struct field ObjectMeta.metadata.labels of type map[string]string"
    );
    assert_eq!(
        refused("Deployment", r#"{"spec":{"replicas":1.5}}"#),
        "json: cannot unmarshal number 1.5 into Go struct field DeploymentSpec.spec.replicas of type int32"
    );
    assert_eq!(refused("Secret", r#"{"data":{"a":"AAAA%%%"}}"#), "illegal base64 data at input byte 4");
}

#[test]
fn empty_values_go_unless_a_pointer_or_the_type_keeps_them() {
    let service = json!({
        "metadata": {"name": "a", "labels": {}, "generation": 0, "finalizers": []},
        "spec": {"clusterIP": "", "ports": [{"port": 0, "nodePort": 0}], "internalTrafficPolicy": "", "selector": null},
    });
    assert_eq!(
        settled("Service", service),
        json!({
            "metadata": {"name": "a"},
            "spec": {"ports": [{"port": 0, "targetPort": 0}], "internalTrafficPolicy": ""},
            "status": {"loadBalancer": {}},
        })
    );
}

#[test]
fn lists_without_omitempty_are_null_when_nobody_set_them() {
    assert_eq!(settled("Pod", json!({}))["spec"], json!({"containers": null}));
    assert_eq!(settled("Pod", json!({"spec": {"containers": []}}))["spec"], json!({"containers": []}));
}

#[test]
fn objects_of_a_real_server_are_read_without_objection_and_written_as_they_were() {
    for object in objects() {
        let text = |name: &str| object[name].as_str().unwrap_or_default();
        let Some(of) = Types::get().kind(text("apiVersion"), text("kind")) else { continue };
        let decoded = decode(of, object.clone().into(), &[]).unwrap();
        let mut written = decoded.value;
        settle(of, written.as_object_mut().unwrap());
        let name = format!("{} {}", of.name, object["metadata"]["name"]);
        assert_eq!(decoded.objections, Vec::<String>::new(), "{name}");
        assert_eq!(written, object, "{name}");
    }
}
