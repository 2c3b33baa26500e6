//! What the properties are tried on: custom resources by their own schema, and objects of every kind and any content.

use std::sync::Arc;

use knative_operator::api::{Component, ComponentKind, crd};
use knative_operator::manifest::embedded::Embedded;
use knative_operator::manifest::{Catalog, Object, Part};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::string::string_regex;
use serde_json::{Map, Value, json};

/// Words that mean something to the code under test, besides the names of a release.
#[rustfmt::skip]
const WORDS: [&str; 26] = [
    "", "foo", "features", "br-defaults", "istio", "default-br-config", "local-gateways", "transport-encryption",
    "strict", "brokerClass: x", "clusterDefault: {}", "[{name: knative-local-gateway, namespace: other}]", "a.b.c",
    "knative-local-gateway", "cluster-local-gateway", "kourier-bootstrap", "SINK_BINDING_SELECTION_MODE",
    "KOURIER_GATEWAY_NAMESPACE", "${NAME}", "registry.example/${NAME}:v1", "h:5000/a/b@sha256:c", "NodePort",
    "LoadBalancer", "ExternalName", "Secret", "ConfigMap",
];

/// Fields of objects that the code under test looks at.
#[rustfmt::skip]
const FIELDS: [&str; 22] = [
    "name", "namespace", "labels", "replicas", "env", "value", "valueFrom", "resourceFieldRef", "divisor", "resources",
    "limits", "template", "spec", "containers", "initContainers", "metadata", "volumes", "configMap", "image",
    "ports", "service", "clientConfig",
];

#[rustfmt::skip]
const KINDS: [(&str, &str); 16] = [
    ("v1", "ConfigMap"), ("v1", "Service"), ("v1", "Namespace"), ("apps/v1", "Deployment"), ("apps/v1", "StatefulSet"),
    ("apps/v1", "DaemonSet"), ("batch/v1", "Job"), ("batch/v1", "CronJob"), ("autoscaling/v2", "HorizontalPodAutoscaler"),
    ("policy/v1", "PodDisruptionBudget"), ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding"),
    ("rbac.authorization.k8s.io/v1", "ClusterRole"),
    ("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration"),
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition"), ("networking.istio.io/v1beta1", "Gateway"),
    ("caching.internal.knative.dev/v1alpha1", "Image"),
];

/// A resource and the release that it is planned from.
#[derive(Clone, Debug)]
pub(crate) struct Wish {
    pub(crate) kind: ComponentKind,
    pub(crate) spec: Value,
    pub(crate) released: Released,
}

impl Wish {
    pub(crate) fn resource(&self) -> Value {
        resource(self.kind, &self.spec)
    }
}

/// The parts of a release; not written out when a property fails.
#[derive(Clone)]
pub(crate) struct Released(pub(crate) Vec<Part>);

impl std::fmt::Debug for Released {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} parts", self.0.len())
    }
}

pub(crate) fn resource(kind: ComponentKind, spec: &Value) -> Value {
    json!({"apiVersion": kind.api_version(), "kind": kind.kind(), "spec": spec,
           "metadata": {"name": "cr", "namespace": "ns", "uid": "u"}})
}

/// Everything of a kind that is embedded: every ingress plugin, source and add-on.
pub(crate) fn released(kind: ComponentKind) -> Vec<Part> {
    let on = json!({"enabled": true});
    let spec = json!({
        "ingress": {"istio": on, "contour": on, "kourier": on, "gateway-api": on},
        "security": {"securityGuard": on}, "source": {"github": on},
    });
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let component = Component::from_value(&resource(kind, &spec)).unwrap();
    runtime.block_on(Catalog::new(Arc::new(Embedded), "").release(&component)).unwrap().parts
}

/// A wish of either kind whose spec the API server would admit. Most of its overrides meet something.
pub(crate) fn valid() -> BoxedStrategy<Wish> {
    let wishes = ComponentKind::ALL.map(|kind| {
        let parts = released(kind);
        let names = names_in(&parts);
        let definition = crd::definition(kind);
        let schema = &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
        let (targets, released) = (Targets::of(&parts), Released(parts));
        (of_schema(schema, &names), vec(any::<Index>(), 40))
            .prop_map(move |(mut spec, choices)| {
                targets.aim(&mut spec, &choices);
                Wish { kind, spec, released: released.clone() }
            })
            .boxed()
    });
    select(wishes.to_vec()).prop_flat_map(|wish| wish).boxed()
}

/// The same, without what is refused on purpose and would hide everything else.
pub(crate) fn acceptable() -> BoxedStrategy<Wish> {
    valid()
        .prop_map(|mut wish| {
            if let Some(kourier) = wish.spec.pointer_mut("/ingress/kourier").and_then(Value::as_object_mut) {
                kourier.insert("service-type".into(), "NodePort".into());
                kourier.remove("service-load-balancer-ip");
            }
            if let Some(certs) = wish.spec.get_mut("controller-custom-certs") {
                *certs = json!({"type": "Secret", "name": "ca"});
            }
            for budget in elements(&mut wish.spec, "podDisruptionBudgets") {
                budget.as_object_mut().unwrap().remove("maxUnavailable");
            }
            if let Some(config) = wish.spec.get_mut("config").and_then(Value::as_object_mut) {
                config.retain(|name, _| name.starts_with("config-") && name != "config-br-defaults");
            }
            wish
        })
        .boxed()
}

/// A wish in which some values, anywhere in the spec, are something else entirely, as far as it can still be read.
pub(crate) fn disturbed() -> impl Strategy<Value = Wish> {
    (valid(), vec((any::<Index>(), tree()), 1..20)).prop_map(|(mut wish, noises)| {
        for (position, noise) in noises {
            let mut paths = Vec::new();
            collect_paths(&wish.spec, String::new(), &mut paths);
            let path: &String = position.get(&paths);
            let before = std::mem::replace(wish.spec.pointer_mut(path).unwrap(), noise);
            if Component::from_value(&wish.resource()).is_err() {
                *wish.spec.pointer_mut(path).unwrap() = before;
            }
        }
        wish
    })
}

fn collect_paths(value: &Value, path: String, paths: &mut Vec<String>) {
    match value {
        Value::Object(map) => map.iter().for_each(|(key, inner)| {
            let key = key.replace('~', "~0").replace('/', "~1");
            collect_paths(inner, format!("{path}/{key}"), paths);
        }),
        Value::Array(list) => {
            list.iter().enumerate().for_each(|(i, inner)| collect_paths(inner, format!("{path}/{i}"), paths));
        }
        _ => {}
    }
    paths.push(path);
}

/// What the overrides of a resource can meet in a release.
#[derive(Clone)]
struct Targets {
    /// Workloads by the name that addresses them, with the names of their containers.
    workloads: Vec<(String, Vec<String>)>,
    services: Vec<String>,
    budgets: Vec<String>,
}

impl Targets {
    fn of(parts: &[Part]) -> Self {
        let objects = || parts.iter().flat_map(|part| part.objects.iter());
        let names =
            |kind: &str| objects().filter(|o| o.kind() == kind).map(|o| o.name().to_owned()).collect();
        let workload = |object: &Object| {
            let containers = object.value().pointer("/spec/template/spec/containers")?.as_array()?;
            let containers = containers.iter().map(|c| c["name"].as_str().unwrap().to_owned()).collect();
            let name = if object.name().is_empty() { object.generate_name() } else { object.name() };
            Some((name.to_owned(), containers))
        };
        Self {
            workloads: objects().filter_map(workload).collect(),
            services: names("Service"),
            budgets: names("PodDisruptionBudget"),
        }
    }

    /// Points three quarters of the overrides to something that exists.
    fn aim(&self, spec: &mut Value, choices: &[Index]) {
        let mut choices = choices.iter().cycle();
        let mut choose = move |count: usize| {
            let choice = choices.next().unwrap().index(count * 4);
            (choice < count * 3).then_some(choice % count)
        };
        for (field, names) in [("services", &self.services), ("podDisruptionBudgets", &self.budgets)] {
            for entry in elements(spec, field) {
                if let Some(choice) = choose(names.len()) {
                    entry["name"] = names[choice].as_str().into();
                }
            }
        }
        for entry in elements(spec, "resources") {
            if let Some(choice) = choose(self.workloads.len()) {
                entry["container"] = self.workloads[choice].1[0].as_str().into();
            }
        }
        for field in ["workloads", "deployments"] {
            for entry in elements(spec, field) {
                let Some(choice) = choose(self.workloads.len()) else { continue };
                let (name, containers) = &self.workloads[choice];
                entry["name"] = name.as_str().into();
                for part in ["env", "resources", "readinessProbes", "livenessProbes"] {
                    for entry in elements(entry, part) {
                        if let Some(choice) = choose(containers.len()) {
                            entry["container"] = containers[choice].as_str().into();
                        }
                    }
                }
            }
        }
    }
}

/// The elements of a list that a map may have.
pub(crate) fn elements<'a>(map: &'a mut Value, field: &str) -> impl Iterator<Item = &'a mut Value> + use<'a> {
    map.get_mut(field).and_then(Value::as_array_mut).into_iter().flatten()
}

/// Every name in the objects, and the forms in which a resource refers to them.
fn names_in(parts: &[Part]) -> Vec<String> {
    let mut names: Vec<String> = WORDS.map(Into::into).into();
    for object in parts.iter().flat_map(|part| part.objects.iter()) {
        names.extend([object.name().to_owned(), object.generate_name().to_owned()]);
        let containers = object.value().pointer("/spec/template/spec/containers").and_then(Value::as_array);
        for container in containers.into_iter().flatten().filter_map(|container| container["name"].as_str()) {
            names.extend([container.to_owned(), format!("{}/{container}", object.name())]);
        }
    }
    names.sort();
    names.dedup();
    names
}

/// Values that satisfy a structural schema.
fn of_schema(schema: &Value, names: &[String]) -> BoxedStrategy<Value> {
    if schema["x-kubernetes-int-or-string"] == true {
        let text = match schema["pattern"].as_str() {
            Some(pattern) => string_regex(pattern.trim_matches(['^', '$'])).unwrap().boxed(),
            None => "[0-9]{1,3}%?".boxed(),
        };
        return prop_oneof![(0..100_i64).prop_map(Value::from), text.prop_map(Value::from)].boxed();
    }
    match schema["type"].as_str().unwrap() {
        "object" => of_object(schema, names),
        "array" => vec(of_schema(&schema["items"], names), 0..4).prop_map(Value::from).boxed(),
        "boolean" => any::<bool>().prop_map(Value::from).boxed(),
        "integer" => prop_oneof![4 => 0..50_i32, 1 => any::<i32>()].prop_map(Value::from).boxed(),
        "string" => match schema["enum"].as_array() {
            Some(values) => select(values.clone()).boxed(),
            None => {
                prop_oneof![4 => select(names.to_vec()), 1 => "[ -~ü]{0,12}"].prop_map(Value::from).boxed()
            }
        },
        other => panic!("a schema of type {other}"),
    }
}

fn of_object(schema: &Value, names: &[String]) -> BoxedStrategy<Value> {
    let key = || select(names.to_vec());
    let others = if schema["x-kubernetes-preserve-unknown-fields"] == true {
        btree_map(prop_oneof![key(), select(&FIELDS[..]).prop_map(String::from)], tree(), 0..3).boxed()
    } else if schema["additionalProperties"].is_object() {
        btree_map(key(), of_schema(&schema["additionalProperties"], names), 0..4).boxed()
    } else {
        Just(std::collections::BTreeMap::new()).boxed()
    };
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let properties: Vec<BoxedStrategy<Option<(String, Value)>>> = schema["properties"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, property)| {
            let name_of_field = name.clone();
            let field =
                of_schema(property, names).prop_map(move |value| Some((name_of_field.clone(), value)));
            match required.contains(&name.as_str()) {
                true => field.boxed(),
                false => prop_oneof![3 => Just(None), 2 => field].boxed(),
            }
        })
        .collect();
    (others, properties)
        .prop_map(|(others, properties)| {
            others.into_iter().chain(properties.into_iter().flatten()).collect::<Map<_, _>>().into()
        })
        .boxed()
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        select(&WORDS[..]).prop_map(Value::from),
        "[ -~ü]{0,12}".prop_map(Value::from),
        Just(json!("9999999999999999999999999Ei")),
    ]
}

/// Any JSON.
pub(crate) fn tree() -> impl Strategy<Value = Value> {
    let key = prop_oneof![select(&FIELDS[..]), select(&WORDS[..])];
    scalar().prop_recursive(5, 48, 5, move |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            btree_map(key.clone().prop_map(String::from), inner, 0..5)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// Objects with names of a release and any content.
pub(crate) fn objects() -> impl Strategy<Value = Vec<Object>> {
    let names: Vec<_> = ComponentKind::ALL.into_iter().flat_map(|kind| names_in(&released(kind))).collect();
    let object = (select(&KINDS[..]), select(names), tree(), tree()).prop_map(
        |((api_version, kind), name, body, metadata)| {
            let mut value = json!({"spec": body, "data": body, "subjects": body, "webhooks": body});
            value["apiVersion"] = api_version.into();
            value["kind"] = kind.into();
            value["metadata"] = if metadata.is_object() { metadata } else { json!({}) };
            value["metadata"]["name"] = name.into();
            Object::try_from(value).unwrap()
        },
    );
    vec(object, 0..6)
}
