//! Rules of aggregated ClusterRoles belong to the aggregation controller.

use super::{Context, TransformError};
use crate::manifest::Object;

/// Whether it is a ClusterRole whose rules are collected from others.
pub(crate) fn is_aggregated(object: &Object) -> bool {
    object.is("rbac.authorization.k8s.io", "ClusterRole")
        && object.value().get("aggregationRule").is_some_and(|rule| !rule.is_null())
}

/// Takes over the live rules, so that applying the object does not undo what the controller wrote.
pub(super) fn keep_aggregated(context: &Context<'_>, object: &mut Object) -> Result<(), TransformError> {
    if !is_aggregated(object) {
        return Ok(());
    }
    let live = context.facts.aggregated_rules.get(object.name()).filter(|rules| !rules.is_null()).cloned();
    if let (Some(rules), Some(fields)) = (live, object.value_mut().as_object_mut()) {
        fields.insert("rules".into(), rules);
    }
    Ok(())
}
