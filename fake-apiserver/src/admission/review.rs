//! `AdmissionReview`: what a webhook is asked about a write, and what its answer means
//! (`k8s.io/apiserver/pkg/admission/plugin/webhook/request`).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::Change;
use super::webhook::Phase;
use crate::state::Call;

/// What a webhook decided.
pub(super) struct Verdict {
    pub(super) allowed: bool,
    /// A Status, or null.
    pub(super) status: Value,
    pub(super) warnings: Vec<String>,
    /// A JSON patch of the object; null when nothing is to be changed.
    pub(super) patch: Value,
}

/// The review of a write.
pub(super) fn ask(call: &Call, change: Change<'_>, uid: &str) -> Value {
    let resource = call.resource();
    let version = &call.version().name;
    let group = &resource.group;
    let kind = json!({ "group": group, "version": version, "kind": resource.kind });
    let named = json!({ "group": group, "version": version, "resource": resource.plural });
    let mut options = json!({ "apiVersion": "meta.k8s.io/v1", "kind": options_kind(change.operation) });
    if call.options.dry_run {
        options["dryRun"] = json!(["All"]);
    }
    if !call.options.field_manager.is_empty() {
        options["fieldManager"] = json!(call.options.field_manager);
    }
    let mut user = json!({ "username": call.user.name, "groups": call.user.groups });
    if !call.user.uid.is_empty() {
        user["uid"] = json!(call.user.uid);
    }
    let mut request = json!({
        "uid": uid,
        "kind": kind,
        "resource": named,
        "requestKind": kind,
        "requestResource": named,
        "operation": change.operation,
        "userInfo": user,
        "object": change.object,
        "oldObject": change.old,
        "dryRun": call.options.dry_run,
        "options": options,
    });
    let namespace = if resource.is("namespaces") { &call.name } else { &call.namespace };
    for (field, value) in [
        ("name", &call.name),
        ("namespace", namespace),
        ("subResource", &call.subresource),
        ("requestSubResource", &call.subresource),
    ] {
        if !value.is_empty() {
            request[field] = json!(value);
        }
    }
    json!({ "kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request })
}

fn options_kind(operation: &str) -> &'static str {
    match operation {
        "CREATE" => "CreateOptions",
        "DELETE" => "DeleteOptions",
        _ => "UpdateOptions",
    }
}

/// Reads the answer to a review.
///
/// # Errors
/// What is wrong with it, in the words of the server.
pub(super) fn read(body: &[u8], uid: &str, phase: Phase) -> Result<Verdict, String> {
    let review: Value = serde_json::from_slice(body)
        .map_err(|why| format!("couldn't get version/kind; json parse error: {why}"))?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (version, kind) = (text(&review["apiVersion"]), text(&review["kind"]));
    if version != "admission.k8s.io/v1" || kind != "AdmissionReview" {
        let version = if version.contains('/') { version } else { format!("/{version}") };
        return Err(format!(
            "expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got {version}, Kind={kind}"
        ));
    }
    let response = &review["response"];
    if response.is_null() {
        return Err("webhook response was absent".into());
    }
    if response["uid"] != uid {
        return Err(format!("expected response.uid={uid:?}, got {:?}", text(&response["uid"])));
    }
    let warnings = response["warnings"].as_array().into_iter().flatten();
    Ok(Verdict {
        allowed: response["allowed"] == true,
        status: response["status"].clone(),
        warnings: warnings.filter_map(Value::as_str).map(str::to_owned).collect(),
        patch: patch(response, phase)?,
    })
}

fn patch(response: &Value, phase: Phase) -> Result<Value, String> {
    let (patch, kind) = (response["patch"].as_str().unwrap_or_default(), response["patchType"].as_str());
    match (phase, patch.is_empty(), kind) {
        (_, true, None) => Ok(Value::Null),
        (Phase::Validating, false, _) => Err("validating webhook may not return response.patch".into()),
        (Phase::Validating, true, _) => Err("validating webhook may not return response.patchType".into()),
        (Phase::Mutating, false, None) => {
            Err("webhook returned response.patch but not response.patchType".into())
        }
        (Phase::Mutating, true, Some(_)) => {
            Err("webhook returned response.patchType but not response.patch".into())
        }
        (Phase::Mutating, false, Some("JSONPatch")) => {
            let bytes = STANDARD.decode(patch).map_err(|why| format!("illegal base64 data: {why}"))?;
            serde_json::from_slice(&bytes).map_err(|why| why.to_string())
        }
        (Phase::Mutating, false, Some(kind)) => {
            Err(format!("webhook returned invalid response.patchType of {kind:?}"))
        }
    }
}
