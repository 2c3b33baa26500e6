//! Changes of single Services: `spec.services`.

use super::{Context, TransformError, tree};
use crate::manifest::Object;

/// Merges labels, annotations and selector. Keys of a selector cannot be removed this way.
pub(super) fn set(context: &Context<'_>, object: &mut Object) -> Result<(), TransformError> {
    if !object.is("", "Service") {
        return Ok(());
    }
    for wanted in &context.component.spec.common.services {
        if wanted.name == object.name() {
            let root = object.value_mut();
            tree::merge_texts(root, &["metadata", "labels"], &wanted.labels);
            tree::merge_texts(root, &["metadata", "annotations"], &wanted.annotations);
            tree::merge_texts(root, &["spec", "selector"], &wanted.selector);
        }
    }
    Ok(())
}
