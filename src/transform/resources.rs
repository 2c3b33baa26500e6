//! Resources of containers, by container name.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{Context, TransformError, pods, tree};
use crate::api::ContainerResources;
use crate::manifest::Object;

/// The deprecated `spec.resources`: Deployments only, and not those whose override has resources.
pub(super) fn set(context: &Context<'_>, object: &mut Object) -> Result<(), TransformError> {
    let common = &context.component.spec.common;
    let overridden =
        common.overrides().any(|wanted| wanted.name == object.name() && !wanted.resources.is_empty());
    if pods::is_deployment(object) && !overridden {
        pods::containers(object).for_each(|container| merge(container, &common.resources));
    }
    Ok(())
}

/// Merges the first entry for the container into its resources; names that it does not mention stay.
pub(super) fn merge(container: &mut Map<String, Value>, wanted: &[ContainerResources]) {
    let Some(wanted) = wanted.iter().find(|entry| entry.container == pods::name(container)) else { return };
    for (field, quantities) in [("limits", &wanted.limits), ("requests", &wanted.requests)] {
        merge_quantities(container, field, quantities);
    }
}

fn merge_quantities(container: &mut Map<String, Value>, field: &str, quantities: &BTreeMap<String, Value>) {
    if quantities.is_empty() {
        return;
    }
    let resources = container.entry("resources").or_insert(Value::Null);
    if resources.is_null() {
        *resources = Value::Object(Map::new());
    }
    if let Some(known) = tree::make_map(resources, &[field]) {
        known.extend(quantities.iter().map(|(name, quantity)| (name.clone(), quantity.clone())));
    }
}
