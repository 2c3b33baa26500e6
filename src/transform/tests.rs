//! The edge cases of every transform, each through the whole list of them.

#![expect(clippy::needless_pass_by_value, reason = "JSON literals read better without a borrow")]

mod components;
mod fields;
mod workloads;

use serde_json::{Value, json};

use super::{Context, TransformError, steps};
use crate::api::Component;
use crate::manifest::{Object, Release};
use crate::plan::{Facts, Owner, Scopes};

const NAMESPACE: &str = "ns";

fn component(kind: &str, spec: Value) -> Component {
    Component::from_value(&json!({
        "apiVersion": "operator.knative.dev/v1beta1", "kind": kind,
        "metadata": {"name": "cr", "namespace": NAMESPACE, "uid": "u"}, "spec": spec,
    }))
    .unwrap()
}

fn facts() -> Facts {
    let owner =
        Owner { api_version: "v1".into(), kind: "ConfigMap".into(), name: "anchor".into(), uid: "u".into() };
    Facts { namespace: NAMESPACE.into(), owner: Some(owner), ..Facts::default() }
}

fn transform(component: &Component, facts: &Facts, object: Value) -> Result<Value, TransformError> {
    let release = Release { target_version: "1.23.0".into(), ..Release::default() };
    let scopes = Scopes::new(&release, facts);
    let context = Context { component, facts, target_version: "1.23.0", scopes: &scopes };
    let mut object = Object::try_from(object).unwrap();
    steps(component.kind).iter().try_for_each(|step| step(&context, &mut object))?;
    Ok(object.into_value())
}

fn serving(spec: Value, object: Value) -> Value {
    transform(&component("KnativeServing", spec), &facts(), object).unwrap()
}

fn eventing(spec: Value, object: Value) -> Value {
    transform(&component("KnativeEventing", spec), &facts(), object).unwrap()
}

fn refused(kind: &str, spec: Value, object: Value) -> String {
    transform(&component(kind, spec), &facts(), object).unwrap_err().to_string()
}

fn object(api_version: &str, kind: &str, name: &str) -> Value {
    json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name}})
}

fn config_map(name: &str, data: Value) -> Value {
    let mut object = object("v1", "ConfigMap", name);
    object["data"] = data;
    object
}

fn deployment(name: &str, containers: Value) -> Value {
    let mut object = object("apps/v1", "Deployment", name);
    object["spec"] = json!({"template": {"spec": {"containers": containers}}});
    object
}

/// The first container of a workload.
fn container(object: &Value) -> &Value {
    &object["spec"]["template"]["spec"]["containers"][0]
}
