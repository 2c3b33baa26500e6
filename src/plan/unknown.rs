//! What a resource asks for without effect: names in overrides that are not in the release, and images that
//! `spec.registry` does not reach. Silence would leave the user believing it worked.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::api::{CommonSpec, Component, WorkloadOverride};
use crate::manifest::Object;
use crate::transform::{autoscaler_of, is_overridden};

/// Everything that has no effect, sorted by where it is asked for.
pub(super) fn without_effect(component: &Component, objects: &[Object]) -> Vec<String> {
    let common = &component.spec.common;
    let mut found = Vec::new();
    config(common, objects, &mut found);
    for (field, overrides) in
        [("spec.deployments", &common.deployments), ("spec.workloads", &common.workloads)]
    {
        overrides.iter().for_each(|wanted| workload(field, wanted, objects, &mut found));
    }
    let services = common.services.iter().map(|wanted| &wanted.name);
    named("spec.services", services, objects, ("", "Service"), &mut found);
    let budgets = common.pod_disruption_budgets.iter().map(|wanted| &wanted.name);
    named("spec.podDisruptionBudgets", budgets, objects, ("policy", "PodDisruptionBudget"), &mut found);
    resources(common, objects, &mut found);
    registry(common, objects, &mut found);
    found
}

fn config(common: &CommonSpec, objects: &[Object], found: &mut Vec<String>) {
    let names: BTreeSet<_> = objects.iter().filter(|o| o.is("", "ConfigMap")).map(Object::name).collect();
    for name in common.config.keys() {
        if !names.contains(name.as_str()) && !names.contains(format!("config-{name}").as_str()) {
            found.push(format!("spec.config: {name}"));
        }
    }
}

fn workload(field: &str, wanted: &WorkloadOverride, objects: &[Object], found: &mut Vec<String>) {
    let name = &wanted.name;
    let scaled = |object: &Object| {
        wanted.replicas.is_some()
            && object.is("autoscaling", "HorizontalPodAutoscaler")
            && object.name() == autoscaler_of(name)
    };
    let matching: Vec<_> = objects.iter().filter(|object| is_overridden(wanted, object)).collect();
    if matching.is_empty() {
        if !objects.iter().any(scaled) {
            found.push(format!("{field}: {name}"));
        }
        return;
    }
    let mentioned = (wanted.resources.iter().map(|entry| ("resources", &entry.container)))
        .chain(wanted.env.iter().map(|entry| ("env", &entry.container)))
        .chain(wanted.readiness_probes.iter().map(|entry| ("readinessProbes", &entry.container)))
        .chain(wanted.liveness_probes.iter().map(|entry| ("livenessProbes", &entry.container)));
    for (part, container) in mentioned {
        let known = matching.iter().flat_map(|object| containers(object, "containers"));
        if !known.into_iter().any(|known| name_of(known) == container) {
            found.push(format!("{field}: {name}: {part}: container {container}"));
        }
    }
    for (part, field_of_container, probes) in [
        ("readinessProbes", "readinessProbe", &wanted.readiness_probes),
        ("livenessProbes", "livenessProbe", &wanted.liveness_probes),
    ] {
        for probe in probes.iter().filter(|probe| probe.numbers().next().is_some()) {
            let mut known = matching.iter().flat_map(|object| containers(object, "containers"));
            if known.any(|known| name_of(known) == probe.container && known.get(field_of_container).is_none())
            {
                found.push(format!(
                    "{field}: {name}: {part}: container {} has no such probe",
                    probe.container
                ));
            }
        }
    }
}

fn named<'a>(
    field: &str,
    names: impl Iterator<Item = &'a String>,
    objects: &[Object],
    (group, kind): (&str, &str),
    found: &mut Vec<String>,
) {
    for name in names {
        if !objects.iter().any(|object| object.is(group, kind) && object.name() == name) {
            found.push(format!("{field}: {name}"));
        }
    }
}

fn resources(common: &CommonSpec, objects: &[Object], found: &mut Vec<String>) {
    let deployments = objects.iter().filter(|object| object.is("apps", "Deployment"));
    let known: BTreeSet<_> =
        deployments.flat_map(|object| containers(object, "containers")).map(name_of).collect();
    for entry in common.resources.iter().filter(|entry| !known.contains(entry.container.as_str())) {
        found.push(format!("spec.resources: container {}", entry.container));
    }
}

fn registry(common: &CommonSpec, objects: &[Object], found: &mut Vec<String>) {
    let Some(registry) = &common.registry else { return };
    let known: BTreeSet<String> = objects.iter().flat_map(image_names).collect();
    for name in registry.overrides.keys().filter(|name| !known.contains(*name)) {
        found.push(format!("spec.registry.override: {name}"));
    }
    if registry.default.is_empty() {
        return;
    }
    for object in objects {
        for container in containers(object, "initContainers") {
            let (owner, name) = (object.name(), name_of(container));
            found.push(format!("spec.registry.default: init container {owner}/{name} keeps its image"));
        }
        if object.is("batch", "CronJob") {
            found.push(format!("spec.registry.default: CronJob {} keeps its images", object.name()));
        }
        for key in image_entries(object) {
            let overridden = common.config_of(object.name()).is_some_and(|entries| entries.contains_key(key));
            if !overridden {
                let name = object.name();
                found.push(format!("spec.registry.default: ConfigMap {name}, key {key} keeps its image"));
            }
        }
    }
}

/// The keys of `registry.override` that reach something in this object.
fn image_names(object: &Object) -> Vec<String> {
    if object.is("caching.internal.knative.dev", "Image") {
        return vec![object.name().into()];
    }
    let owner = if object.generate_name().is_empty() { object.name() } else { object.generate_name() };
    let mut names = Vec::new();
    for container in containers(object, "containers") {
        names.extend([format!("{owner}/{}", name_of(container)), name_of(container).into()]);
        let variables = container.get("env").and_then(Value::as_array).into_iter().flatten();
        names.extend(variables.map(|variable| name_of(variable).to_owned()));
    }
    names
}

/// The keys of a ConfigMap that hold images.
fn image_entries(object: &Object) -> Vec<&str> {
    let data = object.value().get("data").and_then(Value::as_object);
    match (object.group(), object.kind(), object.name()) {
        ("", "ConfigMap", "config-deployment") => data
            .into_iter()
            .flat_map(|data| data.keys())
            .map(String::as_str)
            .filter(|key| *key == "queue-sidecar-image")
            .collect(),
        ("", "ConfigMap", "eventing-integrations-images" | "eventing-transformations-images") => data
            .into_iter()
            .flat_map(|data| data.keys())
            .map(String::as_str)
            .filter(|key| !key.starts_with('_'))
            .collect(),
        _ => Vec::new(),
    }
}

/// The containers of a workload.
fn containers<'a>(object: &'a Object, list: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
    let pod = object.value().pointer("/spec/template/spec");
    pod.and_then(|pod| pod.get(list)).and_then(Value::as_array).into_iter().flatten()
}

fn name_of(value: &Value) -> &str {
    value.get("name").and_then(Value::as_str).unwrap_or_default()
}
