//! The security guard needs pod information in the queue proxy.

use super::{Context, TransformError, tree};
use crate::manifest::Object;

/// Allows it in `config-features`, whatever the user's configuration says.
pub(super) fn allow_pod_info(context: &Context<'_>, object: &mut Object) -> Result<(), TransformError> {
    let enabled = context.component.serving().is_some_and(|serving| serving.guard_enabled());
    if enabled && object.is("", "ConfigMap") && object.name() == "config-features" {
        let data = tree::make_map(object.value_mut(), &["data"]).ok_or(TransformError::NotAMap("data"))?;
        data.insert("queueproxy.mount-podinfo".into(), "allowed".into());
    }
    Ok(())
}
