//! Hands `KUBERNETES_MIN_VERSION` on to the operands, which check the cluster themselves.

use serde_json::json;

use super::{Context, TransformError, pods};
use crate::manifest::Object;

/// Name of the variable.
const VARIABLE: &str = "KUBERNETES_MIN_VERSION";

/// Sets the variable in all containers, init containers too.
pub(super) fn set(context: &Context<'_>, object: &mut Object) -> Result<(), TransformError> {
    if let Some(version) =
        context.facts.kubernetes_min_version.as_deref().filter(|version| !version.is_empty())
    {
        let variable = json!({"name": VARIABLE, "value": version});
        pods::containers(object).for_each(|container| pods::set_variable(container, &variable));
        pods::init_containers(object).for_each(|container| pods::set_variable(container, &variable));
    }
    Ok(())
}
