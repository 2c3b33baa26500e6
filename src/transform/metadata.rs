//! Owner and labels of every object.

use serde_json::json;

use super::{Context, TransformError};
use crate::manifest::Object;
use crate::plan::PART_OF_LABEL;

/// Label that our watches select by.
const NAME_LABEL: &str = "app.kubernetes.io/name";

/// Makes the owner the one controller of objects in its namespace. Objects in another one have no owner: the garbage
/// collector would take a reference across namespaces for a dangling one. Cluster-scoped objects are left alone.
pub(super) fn own(context: &Context<'_>, object: &mut Object) -> Result<(), TransformError> {
    match object.namespace() {
        "" => {}
        elsewhere if elsewhere != context.facts.namespace => {
            object.metadata_mut().remove("ownerReferences");
        }
        _ => {
            if let Some(owner) = &context.facts.owner {
                let reference = json!([{
                    "apiVersion": owner.api_version, "kind": owner.kind, "name": owner.name, "uid": owner.uid,
                    "controller": true, "blockOwnerDeletion": true,
                }]);
                object.metadata_mut().insert("ownerReferences".into(), reference);
            }
        }
    }
    Ok(())
}

/// Labels the object as part of the component and of its ApplySet.
pub(super) fn label(context: &Context<'_>, object: &mut Object) -> Result<(), TransformError> {
    object.set_label(NAME_LABEL, context.component.kind.component_label());
    if let Some(id) = &context.facts.apply_set {
        object.set_label(PART_OF_LABEL, id);
    }
    Ok(())
}
