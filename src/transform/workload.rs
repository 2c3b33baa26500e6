//! Changes of single workloads: `spec.workloads` and its deprecated alias `spec.deployments`.

use serde_json::{Map, Value};

use super::{Context, TransformError, ha, pods, probe, resources, tree};
use crate::api::{ContainerEnv, WorkloadOverride};
use crate::manifest::Object;

/// Applies every override for the workload, in order.
pub(super) fn set(context: &Context<'_>, object: &mut Object) -> Result<(), TransformError> {
    for wanted in context.component.spec.common.overrides() {
        if matches(wanted, object) {
            apply(wanted, object);
        } else if let Some(replicas) = wanted.replicas
            && object.is("autoscaling", "HorizontalPodAutoscaler")
            && object.name() == autoscaler_of(&wanted.name)
        {
            ha::raise_autoscaler(object, replicas);
        }
    }
    Ok(())
}

/// Whether the override is for this object: a Deployment or StatefulSet by name, a Job by its `generateName`.
pub(crate) fn matches(wanted: &WorkloadOverride, object: &Object) -> bool {
    match (object.group(), object.kind()) {
        ("apps", "Deployment" | "StatefulSet") => object.name() == wanted.name,
        ("batch", "Job") => !wanted.name.is_empty() && object.generate_name() == wanted.name,
        _ => false,
    }
}

/// Name of the autoscaler of a workload.
pub(crate) fn autoscaler_of(workload: &str) -> &str {
    match workload {
        "mt-broker-ingress" => "broker-ingress-hpa",
        "mt-broker-filter" => "broker-filter-hpa",
        same => same,
    }
}

fn apply(wanted: &WorkloadOverride, object: &mut Object) {
    if let Some(replicas) = wanted.replicas
        && object.group() == "apps"
        && !ha::is_autoscaled(object.name())
    {
        ha::set_replicas(object, replicas);
    }
    for (field, texts) in [("labels", &wanted.labels), ("annotations", &wanted.annotations)] {
        tree::merge_texts(object.value_mut(), &["metadata", field], texts);
        tree::merge_texts(object.value_mut(), &["spec", "template", "metadata", field], texts);
    }
    for container in pods::containers(object) {
        resources::merge(container, &wanted.resources);
        merge_variables(container, &wanted.env);
        probe::merge(container, "readinessProbe", &wanted.readiness_probes);
        probe::merge(container, "livenessProbe", &wanted.liveness_probes);
    }
    if let Some(pod) = pods::pod_spec(object) {
        set_pod_fields(wanted, pod);
    }
}

fn set_pod_fields(wanted: &WorkloadOverride, pod: &mut Map<String, Value>) {
    let mut replace = |field: &str, value: Value| pod.insert(field.into(), value);
    if !wanted.node_selector.is_empty() {
        replace("nodeSelector", wanted.node_selector.iter().map(|(k, v)| (k.clone(), v.clone())).collect());
    }
    if !wanted.tolerations.is_empty() {
        replace("tolerations", wanted.tolerations.clone().into());
    }
    if !wanted.topology_spread_constraints.is_empty() {
        replace("topologySpreadConstraints", wanted.topology_spread_constraints.clone().into());
    }
    if let Some(affinity) = &wanted.affinity {
        replace("affinity", affinity.clone());
    }
    if let Some(host_network) = wanted.host_network {
        replace("hostNetwork", host_network.into());
        if host_network {
            replace("dnsPolicy", "ClusterFirstWithHostNet".into());
        }
    }
}

/// Merges the variables of the first entry for the container. A container without any takes the list as it is.
fn merge_variables(container: &mut Map<String, Value>, wanted: &[ContainerEnv]) {
    let Some(wanted) = wanted.iter().find(|entry| entry.container == pods::name(container)) else { return };
    let has_none = container.get("env").and_then(Value::as_array).is_none_or(Vec::is_empty);
    if has_none && !wanted.env_vars.is_empty() {
        container.insert("env".into(), wanted.env_vars.clone().into());
    } else {
        wanted.env_vars.iter().for_each(|variable| pods::set_variable(container, variable));
    }
}
