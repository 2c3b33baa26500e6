//! The bridge from `kubectl apply` to `kubectl apply --server-side`: an annotation that holds what was applied last.
//!
//! It concerns the field manager `kubectl` alone (`k8s.io/apimachinery/pkg/util/managedfields`, `lastapplied*.go`).

use serde_json::Value;

use super::Writer;
use super::applied::applied_fields;
use super::compare::Difference;
use super::field_set::FieldSet;
use crate::schema::MergeType;

const MANAGER: &str = "kubectl";
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The fields that the writer may take over from whoever owns them: those it applied on the client side, if they
/// have not changed since.
pub(super) fn owned_through_annotation(live: &Value, types: &MergeType, writer: &Writer) -> FieldSet {
    let last = annotation(live).filter(|_| writer.manager == MANAGER);
    let Some(last) = last.and_then(|text| serde_json::from_str::<Value>(text).ok()) else {
        return FieldSet::default();
    };
    let mut fields = applied_fields(&last, types).unwrap_or_default();
    fields.subtract(&Difference::between(types, &last, live).changed);
    fields
}

/// Keeps the annotation true, so that a client may return to the old way.
pub(super) fn refresh_annotation(new: &mut Value, applied: &Value, writer: &Writer) {
    if writer.manager != MANAGER || annotation(new).is_none_or(str::is_empty) {
        return;
    }
    let mut applied = applied.clone();
    if let Some(Value::Object(annotations)) = applied.pointer_mut("/metadata/annotations") {
        annotations.remove(LAST_APPLIED);
    }
    if let Some(Value::Object(annotations)) = new.pointer_mut("/metadata/annotations") {
        annotations.insert(LAST_APPLIED.into(), format!("{applied}\n").into());
    }
}

fn annotation(object: &Value) -> Option<&str> {
    object.get("metadata")?.get("annotations")?.get(LAST_APPLIED)?.as_str()
}
