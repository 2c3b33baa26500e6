//! How SinkBindings choose what they bind: `spec.sinkBindingSelectionMode`.

use serde_json::{Value, json};

use super::{Context, TransformError, pods};
use crate::api::{CommonSpec, EventingSpec};
use crate::manifest::Object;

/// The Deployment that needs to know, and its container.
const WEBHOOK: &str = "eventing-webhook";

/// Name of the variable.
const VARIABLE: &str = "SINK_BINDING_SELECTION_MODE";

/// Sets the variable. The field of the spec beats a workload override, which beats `exclusion`.
pub(super) fn set_mode(context: &Context<'_>, object: &mut Object) -> Result<(), TransformError> {
    let Some(eventing) = context.component.eventing() else { return Ok(()) };
    if !pods::is_deployment(object) || object.name() != WEBHOOK {
        return Ok(());
    }
    let variable = json!({"name": VARIABLE, "value": mode(eventing, &context.component.spec.common)});
    pods::containers(object).for_each(|container| pods::set_variable(container, &variable));
    Ok(())
}

fn mode<'a>(eventing: &'a EventingSpec, common: &'a CommonSpec) -> &'a str {
    if !eventing.sink_binding_selection_mode.is_empty() {
        return &eventing.sink_binding_selection_mode;
    }
    common
        .workloads
        .iter()
        .chain(&common.deployments)
        .filter(|wanted| wanted.name == WEBHOOK)
        .flat_map(|wanted| wanted.env.iter().filter(|env| env.container == WEBHOOK))
        .flat_map(|env| &env.env_vars)
        .filter(|variable| variable.get("name").and_then(Value::as_str) == Some(VARIABLE))
        .find_map(|variable| variable.get("value").and_then(Value::as_str))
        .unwrap_or("exclusion")
}
