//! Changes of single PodDisruptionBudgets: `spec.podDisruptionBudgets`.

use serde_json::json;

use super::{Context, TransformError, canonical, tree};
use crate::manifest::Object;

/// Sets one of the two numbers and clears the other. An entry with neither ends it.
pub(super) fn set(context: &Context<'_>, object: &mut Object) -> Result<(), TransformError> {
    if !object.is("policy", "PodDisruptionBudget") {
        return Ok(());
    }
    for wanted in &context.component.spec.common.pod_disruption_budgets {
        if wanted.name != object.name() {
            continue;
        }
        let (field, other, number) = match (&wanted.min_available, &wanted.max_unavailable) {
            (None, None) => return Ok(()),
            (Some(_), Some(_)) => return Err(TransformError::BothBudgets(wanted.name.clone())),
            (Some(number), None) => ("minAvailable", "maxUnavailable", number),
            (None, Some(number)) => ("maxUnavailable", "minAvailable", number),
        };
        if let Some(spec) = tree::make_map(object.value_mut(), &["spec"]) {
            spec.insert(field.into(), number.clone());
            spec.remove(other);
        }
        let counts =
            json!({"currentHealthy": 0, "desiredHealthy": 0, "disruptionsAllowed": 0, "expectedPods": 0});
        canonical::set_status(object, counts);
    }
    Ok(())
}
