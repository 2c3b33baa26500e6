//! Whatever a resource or a manifest says: no panic, and the same plan twice.

#![allow(
    clippy::unwrap_used,
    clippy::needless_pass_by_value,
    reason = "a test may panic, and JSON literals read better"
)]

use std::sync::Arc;

use knative_operator::api::{Component, Status, cluster_profile::ClusterProfile};
use knative_operator::manifest::embedded::Embedded;
use knative_operator::manifest::{Catalog, Object, Part, Release, Role, parse_yaml, version};
use knative_operator::plan::{Facts, Owner, plan};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// Names that mean something to the code under test.
#[rustfmt::skip]
const NAMES: [&str; 24] = [
    "activator", "controller", "webhook", "kourier", "knative-local-gateway", "config-features", "features",
    "config-br-defaults", "default-br-config", "kourier-bootstrap", "net-kourier-controller", "eventing-webhook",
    "pingsource-mt-adapter", "3scale-kourier-gateway", "foo", "", "name", "spec", "containers", "env", "data",
    "istio", "local-gateways", "registry",
];

/// Fields of a resource and of workloads.
#[rustfmt::skip]
const FIELDS: [&str; 40] = [
    "config", "registry", "resources", "deployments", "workloads", "namespace", "services", "podDisruptionBudgets",
    "version", "high-availability", "clusterProfileRef", "ingress", "security", "controller-custom-certs", "source",
    "defaultBrokerClass", "sinkBindingSelectionMode", "name", "labels", "replicas", "env", "envVars", "container",
    "kourier", "istio", "enabled", "servers", "tls", "mode", "override", "default", "template", "spec", "containers",
    "metadata", "volumes", "configMap", "limits", "subjects", "webhooks",
];

#[rustfmt::skip]
const KINDS: [(&str, &str); 14] = [
    ("v1", "ConfigMap"), ("v1", "Service"), ("v1", "Namespace"), ("apps/v1", "Deployment"), ("apps/v1", "StatefulSet"),
    ("batch/v1", "Job"), ("autoscaling/v2", "HorizontalPodAutoscaler"), ("policy/v1", "PodDisruptionBudget"),
    ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding"), ("rbac.authorization.k8s.io/v1", "ClusterRole"),
    ("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration"),
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition"), ("networking.istio.io/v1beta1", "Gateway"),
    ("caching.internal.knative.dev/v1alpha1", "Image"),
];

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        proptest::sample::select(&NAMES[..]).prop_map(Value::from),
        "[ -~ü]{0,12}".prop_map(Value::from),
        Just(json!("clusterDefault: {}")),
        Just(json!("9999999999999999999999999Ei")),
    ]
}

fn tree() -> impl Strategy<Value = Value> {
    let key = prop_oneof![proptest::sample::select(&FIELDS[..]), proptest::sample::select(&NAMES[..])];
    scalar().prop_recursive(5, 48, 5, move |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            btree_map(key.clone().prop_map(String::from), inner, 0..5)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// A spec whose fields have the right shape more often than not, so that plans are reached.
fn spec() -> impl Strategy<Value = Value> {
    let name = || proptest::sample::select(&NAMES[..]).prop_map(Value::from);
    let texts = || {
        btree_map(name().prop_map(|n| n.as_str().unwrap().to_owned()), name(), 0..3)
            .prop_map(|map| json!(map))
    };
    let field = prop_oneof![
        btree_map("(features|config-features|br-defaults|istio|network)", texts(), 0..3)
            .prop_map(|map| ("config", json!(map))),
        (name(), tree(), any::<i32>(), texts()).prop_map(|(name, env, replicas, texts)| {
            let env = json!([{"container": name, "envVars": [env]}]);
            (
                "workloads",
                json!([{"name": name, "replicas": replicas, "labels": texts, "env": env, "affinity": texts}]),
            )
        }),
        (name(), texts())
            .prop_map(|(image, texts)| ("registry", json!({"default": image, "override": texts}))),
        any::<i32>().prop_map(|replicas| ("high-availability", json!({"replicas": replicas}))),
        (any::<i32>(), name()).prop_map(|(port, name)| {
            let kourier = json!({"enabled": true, "http-port": port, "bootstrap-configmap": name});
            ("ingress", json!({"kourier": kourier, "istio": {"enabled": true}}))
        }),
        (name(), tree()).prop_map(|(name, number)| (
            "podDisruptionBudgets",
            json!([{"name": name, "minAvailable": number}])
        )),
        (proptest::sample::select(&FIELDS[..17]), tree()),
    ];
    vec(field, 0..5).prop_map(|fields| {
        Value::Object(
            fields.into_iter().map(|(field, value)| (field.to_owned(), value)).collect::<Map<_, _>>(),
        )
    })
}

fn objects() -> impl Strategy<Value = Vec<Object>> {
    let object = (proptest::sample::select(&KINDS[..]), proptest::sample::select(&NAMES[..]), tree(), tree())
        .prop_map(|((api_version, kind), name, body, metadata)| {
            let mut value = json!({"spec": body, "data": body, "subjects": body, "webhooks": body});
            value["apiVersion"] = api_version.into();
            value["kind"] = kind.into();
            value["metadata"] = if metadata.is_object() { metadata } else { json!({}) };
            value["metadata"]["name"] = name.into();
            Object::try_from(value).unwrap()
        });
    vec(object, 0..6)
}

fn resource(kind: &str, spec: Value) -> Value {
    json!({"apiVersion": "operator.knative.dev/v1beta1", "kind": kind, "spec": spec,
           "metadata": {"name": "cr", "namespace": "ns", "uid": "u"}})
}

fn released(kind: &str) -> Vec<Part> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let component = Component::from_value(&resource(kind, json!({}))).unwrap();
    runtime.block_on(Catalog::new(Arc::new(Embedded), "").release(&component)).unwrap().parts
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_spec_and_any_manifest_give_one_plan_or_an_error(spec in spec(), own in objects(), eventing: bool) {
        let kind = if eventing { "KnativeEventing" } else { "KnativeServing" };
        let Ok(component) = Component::from_value(&resource(kind, spec)) else { return Ok(()) };
        let facts = Facts { namespace: "ns".into(), owner: Some(Owner::component(&component)), ..Facts::default() };
        let own = Part { role: Role::Additional, objects: Arc::new(own) };
        let release = Release { target_version: "1.23.0".into(), parts: vec![own], ..Release::default() };
        if let Ok(first) = plan(&component, &release, &facts) {
            prop_assert_eq!(&first, &plan(&component, &release, &facts).unwrap());
            let mut keys: Vec<_> = first.objects().map(Object::key).collect();
            let count = keys.len();
            keys.sort();
            keys.dedup();
            prop_assert_eq!(keys.len(), count, "an identity twice");
        }
    }

    #[test]
    fn anything_may_be_read(value in tree(), bytes in vec(any::<u8>(), 0..200), text in ".{0,20}") {
        let _ = Component::from_value(&value);
        let _ = Component::from_value(&resource("KnativeServing", value.clone()));
        let _ = Component::from_value(&resource("KnativeEventing", value.clone()));
        let status = Status::from_value(&value);
        prop_assert_eq!(&Status::from_value(&serde_json::to_value(&status).unwrap()), &status);
        let _ = ClusterProfile::from_value(&value);
        let _ = parse_yaml(&bytes);
        let _ = parse_yaml(text.as_bytes());
        let _ = version::parse(&text);
        let _ = version::target(&text, false, std::slice::from_ref(&text));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_spec_is_applied_to_a_whole_release_without_a_panic(spec in spec(), eventing: bool) {
        let kind = if eventing { "KnativeEventing" } else { "KnativeServing" };
        let Ok(component) = Component::from_value(&resource(kind, spec)) else { return Ok(()) };
        let facts = Facts { namespace: "ns".into(), owner: Some(Owner::component(&component)), ..Facts::default() };
        let release = Release { target_version: "1.23.0".into(), parts: released(kind), ..Release::default() };
        let first = plan(&component, &release, &facts);
        let second = plan(&component, &release, &facts);
        prop_assert_eq!(first.map_err(|error| error.to_string()), second.map_err(|error| error.to_string()));
    }
}
