//! Eventing's controller runs the ping-source adapter: what it sets there stays.

use serde_json::{Map, Value};

use super::{Context, TransformError, ha, pods, tree};
use crate::manifest::Object;

/// Variables that the controller sets.
const CONTROLLED: [&str; 9] = [
    "SYSTEM_NAMESPACE",
    "NAMESPACE",
    "K_METRICS_CONFIG",
    "K_LOGGING_CONFIG",
    "K_OBSERVABILITY_CONFIG",
    "K_LEADER_ELECTION_CONFIG",
    "K_NO_SHUTDOWN_AFTER",
    "K_SINK_TIMEOUT",
    "K_TRACING_CONFIG",
];

/// Takes over replicas and controlled variables of the live Deployment.
pub(super) fn keep_live(context: &Context<'_>, object: &mut Object) -> Result<(), TransformError> {
    let Some(live) = &context.facts.pingsource_adapter else { return Ok(()) };
    if !pods::is_deployment(object) || object.name() != ha::PING_SOURCE_ADAPTER {
        return Ok(());
    }
    let mut live = live.clone();
    if let Some(spec) = tree::make_map(object.value_mut(), &["spec"]) {
        match live.value().pointer("/spec/replicas").filter(|replicas| !replicas.is_null()) {
            Some(replicas) => spec.insert("replicas".into(), replicas.clone()),
            None => spec.remove("replicas"),
        };
    }
    for running in pods::containers(&mut live) {
        if let Some(container) =
            pods::containers(object).find(|wanted| pods::name(wanted) == pods::name(running))
        {
            keep_variables(running, container);
        }
    }
    Ok(())
}

/// The controlled variables as they run, then the others as they are wanted.
fn keep_variables(running: &mut Map<String, Value>, wanted: &mut Map<String, Value>) {
    let controlled = |variable: &&mut Map<String, Value>| CONTROLLED.contains(&pods::name(variable));
    let mut kept: Vec<_> =
        pods::variables(running).filter(controlled).map(|variable| variable.clone()).collect();
    let others: Vec<_> = pods::variables(wanted)
        .filter(|variable| !kept.iter().any(|known| pods::name(known) == pods::name(variable)))
        .map(|variable| variable.clone())
        .collect();
    kept.extend(others);
    if !kept.is_empty() {
        wanted.insert("env".into(), kept.into_iter().map(Value::Object).collect());
    }
}
