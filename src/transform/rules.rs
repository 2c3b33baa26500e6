//! Rules of aggregated ClusterRoles belong to the aggregation controller.

use super::{Context, TransformError};
use crate::manifest::Object;

/// Leaves the rules out: server-side apply would own them, and take them back from the controller at each turn.
pub(super) fn leave_aggregated(_: &Context<'_>, object: &mut Object) -> Result<(), TransformError> {
    if object.is("rbac.authorization.k8s.io", "ClusterRole")
        && let Some(fields) = object.value_mut().as_object_mut()
        && fields.get("aggregationRule").is_some_and(|rule| !rule.is_null())
    {
        fields.remove("rules");
    }
    Ok(())
}
