//! Replicas: `spec.high-availability`, and which workloads it leaves alone.

use serde_json::Value;

use super::{Context, TransformError, pods, tree};
use crate::manifest::Object;

/// Workloads whose replicas an autoscaler decides.
const AUTOSCALED: [&str; 9] = [
    "webhook",
    "activator",
    "3scale-kourier-gateway",
    "eventing-webhook",
    "mt-broker-ingress",
    "mt-broker-filter",
    "kafka-broker-dispatcher",
    "kafka-source-dispatcher",
    "kafka-channel-dispatcher",
];

/// The workload that scales itself: it runs only while there is work.
pub(crate) const PING_SOURCE_ADAPTER: &str = "pingsource-mt-adapter";

/// Whether an autoscaler decides on the replicas of the workload.
pub(super) fn is_autoscaled(name: &str) -> bool {
    AUTOSCALED.contains(&name)
}

/// Sets the replicas of Deployments and the minimum of autoscalers, unless an override has its own for that name.
pub(super) fn scale(context: &Context<'_>, object: &mut Object) -> Result<(), TransformError> {
    let common = &context.component.spec.common;
    let Some(replicas) = common.high_availability.as_ref().and_then(|ha| ha.replicas) else { return Ok(()) };
    if common.overrides().any(|wanted| wanted.name == object.name() && wanted.replicas.is_some()) {
        return Ok(());
    }
    if pods::is_deployment(object) && !is_autoscaled(object.name()) && object.name() != PING_SOURCE_ADAPTER {
        set_replicas(object, replicas);
    }
    raise_autoscaler(object, replicas);
    Ok(())
}

/// Sets `spec.replicas`.
pub(super) fn set_replicas(object: &mut Object, replicas: i32) {
    if let Some(spec) = tree::make_map(object.value_mut(), &["spec"]) {
        spec.insert("replicas".into(), replicas.into());
    }
}

/// Raises the minimum of a HorizontalPodAutoscaler to `replicas`, and its maximum by as much. Never lowers it.
pub(super) fn raise_autoscaler(object: &mut Object, replicas: i32) {
    if !object.is("autoscaling", "HorizontalPodAutoscaler") {
        return;
    }
    let Some(spec) = tree::make_map(object.value_mut(), &["spec"]) else { return };
    let minimum = spec.get("minReplicas").and_then(Value::as_i64).unwrap_or_default();
    let wanted = i64::from(replicas);
    if minimum >= wanted {
        return;
    }
    spec.insert("minReplicas".into(), wanted.into());
    if let Some(maximum) = spec.get("maxReplicas").and_then(Value::as_i64) {
        spec.insert("maxReplicas".into(), maximum.saturating_add(wanted.saturating_sub(minimum)).into());
    }
}
