//! Reading custom resources.

#![expect(clippy::needless_pass_by_value, reason = "JSON literals read better without a borrow")]

use serde_json::json;

use super::*;

fn serving(spec: Value) -> Value {
    json!({"apiVersion": "operator.knative.dev/v1beta1", "kind": "KnativeServing",
           "metadata": {"name": "ks", "namespace": "knative-serving"}, "spec": spec})
}

#[test]
fn a_malformed_field_is_named_with_its_path() {
    let error =
        Component::from_value(&serving(json!({"workloads": [{"name": "a", "replicas": "x"}]}))).unwrap_err();
    assert_eq!(
        error.to_string(),
        "KnativeServing knative-serving/ks: spec.workloads[0].replicas is malformed"
    );
    let error =
        Component::from_value(&serving(json!({"ingress": {"kourier": {"http-port": "x"}}}))).unwrap_err();
    assert!(error.to_string().contains("spec.ingress.kourier.http-port"), "{error}");
    let error = Component::from_value(&serving(json!([]))).unwrap_err();
    assert!(error.to_string().contains(": spec is malformed"), "{error}");
}

#[test]
fn nulls_count_as_absent() {
    let component = Component::from_value(&serving(json!({
        "ingress": null, "high-availability": {"replicas": null}, "config": {"a": null}, "workloads": null
    })))
    .unwrap();
    assert!(component.serving().unwrap().ingress.is_none());
    assert_eq!(component.spec.common.high_availability.unwrap().replicas, None);
}

#[test]
fn a_foreign_status_never_fails() {
    let mut value = serving(json!({}));
    for status in
        [json!("x"), json!({"conditions": 7, "version": 3}), json!({"conditions": [{"type": "Odd"}, 1]})]
    {
        value["status"] = status;
        assert_eq!(Component::from_value(&value).unwrap().status, Status::default());
    }
}

#[test]
fn another_kind_is_refused_by_name() {
    let error = Component::from_value(&json!({"apiVersion": "v1", "kind": "ConfigMap"})).unwrap_err();
    assert!(error.to_string().starts_with("v1 ConfigMap is neither"), "{error}");
    assert!(Component::from_value(&Value::Null).is_err());
}
