//! Jobs get a name per release, so that each release runs its own.

use super::{Context, TransformError, tree};
use crate::manifest::Object;

/// Label that keeps Istio from adding a container that never ends.
const INJECT: &str = "sidecar.istio.io/inject";

/// Names the Job after component and release and keeps Istio out of its pods.
pub(super) fn name(context: &Context<'_>, object: &mut Object) -> Result<(), TransformError> {
    if !object.is("batch", "Job") {
        return Ok(());
    }
    let suffix = format!("{}-{}", context.component.kind.word(), context.target_version);
    let name = match object.name() {
        "" => format!("{}{suffix}", object.generate_name()),
        name => format!("{name}-{suffix}"),
    };
    object.metadata_mut().insert("name".into(), name.into());
    if let Some(labels) = tree::make_map(object.value_mut(), &["spec", "template", "metadata", "labels"])
        && tree::text(labels, INJECT).is_empty()
    {
        labels.insert(INJECT.into(), "false".into());
    }
    Ok(())
}
