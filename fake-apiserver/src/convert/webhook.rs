//! `ConversionReview`: custom resources whose versions a webhook converts
//! (`k8s.io/apiextensions-apiserver/pkg/apiserver/conversion`).

use serde_json::{Value, json};

use crate::admission::webhook::{question_for, reach, review_uid};
use crate::registry::{Resource, Version};
use crate::state::{Call, State};
use crate::status::{Answer, Status};
use crate::webhooks::Answered;

/// Seconds that a conversion may take.
const TIMEOUT: u64 = 30;

/// The objects as a version of their kind; `None` when nobody answers for the webhook, though it can be reached.
///
/// # Errors
/// When it cannot be reached, or does not do what it is asked.
pub(super) fn convert(
    state: &State,
    call: &Call,
    client: &Value,
    to: &Version,
    objects: &[&Value],
) -> Answer<Option<Vec<Value>>> {
    let Some(first) = objects.first() else { return Ok(Some(Vec::new())) };
    let from = first["apiVersion"].as_str().unwrap_or_default();
    let failed = |why: &str| Status::unexpected(failure(call.resource(), from, why));
    let answered = reach(state, client, TIMEOUT).map_err(|why| failed(&format!(" failed: {why}")))?;
    let (Answered::Yes, Some(exchange)) = (answered, &call.exchange) else { return Ok(None) };
    let contents: String = objects.iter().map(|object| content(object).to_string()).collect();
    let key = review_uid(&format!("{} {contents}", to.api_version));
    let uid = review_uid(&format!("{key} {}", exchange.salt()));
    let question = || {
        let review = json!({
            "kind": "ConversionReview",
            "apiVersion": "apiextensions.k8s.io/v1",
            "request": { "uid": uid, "desiredAPIVersion": to.api_version, "objects": objects },
        });
        question_for(key.clone(), client, TIMEOUT, review.to_string().into())
    };
    let body = exchange.ask_once(question, &key)?.map_err(|why| {
        let why = why.strip_prefix("failed to call webhook: ").unwrap_or(&why);
        failed(&format!(" failed: {why}"))
    })?;
    let review: Value = serde_json::from_slice(&body).map_err(|why| failed(&format!(" failed: {why}")))?;
    read(&review["response"], &uid, to, objects).map(Some).map_err(|why| failed(&why))
}

/// What a conversion depends on: an object without what the server notes in its metadata.
fn content(object: &Value) -> Value {
    let mut content = object.clone();
    if let Some(metadata) = content["metadata"].as_object_mut() {
        metadata.retain(|field, _| matches!(field.as_str(), "name" | "namespace" | "labels" | "annotations"));
    }
    content
}

fn failure(resource: &Resource, from: &str, why: &str) -> String {
    format!("conversion webhook for {from}, Kind={}{why}", resource.kind)
}

fn read(response: &Value, uid: &str, to: &Version, objects: &[&Value]) -> Result<Vec<Value>, String> {
    if response["uid"] != uid {
        let given = response["uid"].as_str().unwrap_or_default();
        return Err(format!(" returned invalid response: expected response.uid={uid:?}, got {given:?}"));
    }
    if response["result"]["status"] != "Success" {
        let why = response["result"]["message"].as_str().unwrap_or_default();
        return Err(format!(" failed: {why}"));
    }
    let converted = response["convertedObjects"].as_array().map(Vec::as_slice).unwrap_or_default();
    if converted.len() != objects.len() {
        return Err(format!(" returned {} objects, expected {}", converted.len(), objects.len()));
    }
    let pairs = objects.iter().zip(converted).enumerate();
    pairs.map(|(index, (old, new))| settled(index, old, new.clone(), to)).collect()
}

/// A converted object: of the metadata only labels and annotations are the webhook's to change.
fn settled(index: usize, old: &Value, mut new: Value, to: &Version) -> Result<Value, String> {
    if new["apiVersion"] != to.api_version.as_str() || new["kind"] != old["kind"] {
        return Err(format!(
            " returned invalid converted object at index {index}: invalid groupVersion or kind"
        ));
    }
    for field in ["name", "namespace", "uid"] {
        if new["metadata"][field] != old["metadata"][field] {
            let path = format!("metadata.{field}");
            return Err(format!(
                " returned invalid metadata in object at index {index}: {path}: must not change"
            ));
        }
    }
    let mut metadata = old["metadata"].clone();
    for field in ["labels", "annotations"] {
        match (new["metadata"].get(field), metadata.as_object_mut()) {
            (Some(value), Some(members)) => drop(members.insert(field.into(), value.clone())),
            (None, Some(members)) => drop(members.remove(field)),
            (_, None) => {}
        }
    }
    new["metadata"] = metadata;
    Ok(new)
}
