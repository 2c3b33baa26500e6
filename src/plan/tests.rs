//! Whole plans.

#![expect(clippy::needless_pass_by_value, reason = "JSON literals read better without a borrow")]

use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::manifest::{Part, Role};

fn object(api_version: &str, kind: &str, namespace: &str, name: &str) -> Value {
    json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": namespace}})
}

fn part(role: Role, objects: Vec<Value>) -> Part {
    Part {
        role,
        objects: Arc::new(objects.into_iter().map(|value| Object::try_from(value).unwrap()).collect()),
    }
}

fn planned(kind: &str, spec: Value, parts: Vec<Part>) -> Result<Plan, PlanError> {
    let component = Component::from_value(&json!({
        "apiVersion": "operator.knative.dev/v1beta1", "kind": kind,
        "metadata": {"name": "cr", "namespace": "ns", "uid": "u"}, "spec": spec,
    }))
    .unwrap();
    let facts =
        Facts { namespace: "ns".into(), owner: Some(Owner::component(&component)), ..Facts::default() };
    let release = Release { target_version: "1.23.0".into(), parts, ..Release::default() };
    plan(&component, &release, &facts)
}

fn names(plan: &Plan) -> Vec<String> {
    plan.objects().map(|object| object.key().to_string()).collect()
}

#[test]
fn w15_an_additional_manifest_without_namespace_replaces_its_core_twin() {
    let mut own = object("v1", "ConfigMap", "", "config-network");
    own["data"] = json!({"own": "1"});
    let mut core = object("v1", "ConfigMap", "knative-serving", "config-network");
    core["data"] = json!({"core": "1"});
    let plan = planned(
        "KnativeServing",
        json!({}),
        vec![part(Role::Core, vec![core]), part(Role::Additional, vec![own])],
    );
    let plan = plan.unwrap();
    assert_eq!(names(&plan), ["ConfigMap ns/config-network"]);
    assert_eq!(plan.objects().next().unwrap().value()["data"], json!({"own": "1"}));
}

#[test]
fn w07_namespaces_of_all_parts_collapse_into_one() {
    let namespace = |name: &str| json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    let parts = vec![
        part(Role::Core, vec![namespace("knative-serving")]),
        part(Role::Ingress, vec![namespace("kourier-system")]),
    ];
    assert_eq!(names(&planned("KnativeServing", json!({}), parts).unwrap()), ["Namespace ns"]);
}

#[test]
fn w54_certificates_of_the_release_need_encryption_and_those_of_the_user_do_not() {
    let parts = || {
        vec![
            part(Role::Core, vec![object("cert-manager.io/v1", "Certificate", "", "released")]),
            part(Role::Additional, vec![object("cert-manager.io/v1", "Issuer", "", "own")]),
        ]
    };
    let off = planned("KnativeEventing", json!({}), parts()).unwrap();
    assert_eq!(names(&off), ["Issuer.cert-manager.io ns/own"]);
    for mode in ["strict", "Permissive"] {
        let spec = json!({"config": {"config-features": {"transport-encryption": mode}}});
        assert_eq!(planned("KnativeEventing", spec, parts()).unwrap().objects().count(), 2, "{mode}");
    }
    let misspelt = json!({"config": {"features": {"transport-encryption": "strikt"}}});
    assert_eq!(planned("KnativeEventing", misspelt, parts()).unwrap().objects().count(), 1);
}

#[test]
fn w50_two_names_of_one_config_map_must_agree() {
    let spec = |mode: &str| {
        json!({"config": {"features": {"transport-encryption": "strict"},
                          "config-features": {"transport-encryption": mode}}})
    };
    assert!(planned("KnativeEventing", spec("strict"), Vec::new()).is_ok());
    assert_eq!(
        planned("KnativeEventing", spec("disabled"), Vec::new()).unwrap_err().to_string(),
        "spec.config has different entries under \"features\" and \"config-features\", which name the same ConfigMap"
    );
}

#[test]
fn w42_what_has_no_effect_is_named() {
    let mut workload = object("apps/v1", "Deployment", "", "controller");
    workload["spec"]["template"]["spec"] = json!({
        "containers": [{"name": "controller", "image": "h/i"}], "initContainers": [{"name": "init", "image": "h/i"}],
    });
    let mut images = object("v1", "ConfigMap", "", "config-deployment");
    images["data"] = json!({"queue-sidecar-image": "h/q", "other": "x"});
    let spec = json!({
        "config": {"deployment": {}, "not-there": {"a": "b"}},
        "workloads": [{"name": "nobody"}, {"name": "controller", "env": [{"container": "typo"}],
                       "livenessProbes": [{"container": "controller", "periodSeconds": 3}]}],
        "services": [{"name": "missing"}],
        "podDisruptionBudgets": [{"name": "missing"}],
        "resources": [{"container": "controller"}, {"container": "typo"}],
        "registry": {"default": "r/${NAME}", "override": {"controller": "x", "controller/controller": "x", "typo": "x"}},
    });
    let plan = planned("KnativeServing", spec, vec![part(Role::Core, vec![workload, images])]).unwrap();
    assert_eq!(
        plan.unknown_names,
        [
            "spec.config: not-there",
            "spec.workloads: nobody",
            "spec.workloads: controller: env: container typo",
            "spec.workloads: controller: livenessProbes: container controller has no such probe",
            "spec.services: missing",
            "spec.podDisruptionBudgets: missing",
            "spec.resources: container typo",
            "spec.registry.override: typo",
            "spec.registry.default: init container controller/init keeps its image",
            "spec.registry.default: ConfigMap config-deployment, key queue-sidecar-image keeps its image",
        ]
    );
}

#[test]
fn an_object_without_a_name_is_refused() {
    let mut nameless = object("v1", "ConfigMap", "", "");
    nameless["metadata"]["generateName"] = "x-".into();
    let error =
        planned("KnativeServing", json!({}), vec![part(Role::Additional, vec![nameless])]).unwrap_err();
    assert_eq!(error.to_string(), "an object of kind ConfigMap has no name");
}

#[test]
fn an_error_names_the_object() {
    let spec = json!({"ingress": {"kourier": {"enabled": true, "service-type": "Odd"}}});
    let service = object("v1", "Service", "kourier-system", "kourier");
    let error = planned("KnativeServing", spec, vec![part(Role::Ingress, vec![service])]).unwrap_err();
    assert_eq!(error.to_string(), "cannot prepare Service kourier-system/kourier");
    assert_eq!(std::error::Error::source(&error).unwrap().to_string(), "unknown service type \"Odd\"");
}

#[test]
fn only_a_remote_resource_goes_to_an_annotated_namespace() {
    let component = |spec: Value| {
        Component::from_value(&json!({
            "apiVersion": "operator.knative.dev/v1beta1", "kind": "KnativeServing", "spec": spec,
            "metadata": {"name": "cr", "namespace": "ns", "annotations": {TARGET_NAMESPACE: "there"}},
        }))
        .unwrap()
    };
    assert_eq!(target_namespace(&component(json!({}))), "ns");
    let remote = json!({"clusterProfileRef": {"name": "a", "namespace": "b"}});
    assert_eq!(target_namespace(&component(remote)), "there");
}
