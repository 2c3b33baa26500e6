//! Registered admission webhooks: which of them a write must pass, whether they can be reached, and what becomes of
//! their answers.
//!
//! A webhook behind a Service is reachable when the Service exists and a Deployment that its selector finds is
//! available. A reachable webhook for which somebody answers (see [`crate::webhooks`]) is asked; others admit everything,
//! and so do all for what the cluster does itself.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::Change;
use super::matching::{self, Conditions};
use super::review::{self, Verdict};
use crate::patch;
use crate::state::{Call, State};
use crate::status::{Answer, Status};
use crate::storage::Stored;
use crate::webhooks::Answered;
use crate::webhooks::exchange::{Question, Target};

/// When webhooks are asked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Phase {
    /// Before defaults are final and the object is validated.
    Mutating,
    /// When the object is known to be valid.
    Validating,
}

impl Phase {
    fn resource(self) -> &'static str {
        match self {
            Self::Mutating => "mutatingwebhookconfigurations.admissionregistration.k8s.io",
            Self::Validating => "validatingwebhookconfigurations.admissionregistration.k8s.io",
        }
    }
}

/// Asks the webhooks that may change an object; what they make of it, if they make something of it.
pub(super) fn mutate(state: &State, call: &mut Call, change: Change<'_>) -> Answer<Option<Value>> {
    let mut changed: Option<Value> = None;
    let mut asked: Vec<(usize, usize)> = Vec::new();
    let mut changes = 0;
    let webhooks = registered(state, call, Phase::Mutating);
    for (index, webhook) in webhooks.iter().enumerate() {
        let change = Change { object: changed.as_ref().or(change.object), ..change };
        let Some(patched) = ask_for_changes(state, call, change, webhook, 0)? else { continue };
        if differs(change.object, patched.as_ref()) {
            changed = patched;
            changes += 1;
        }
        asked.push((index, changes));
    }
    // Once more those that want to see what others changed after them.
    let total = changes;
    for (index, seen) in asked {
        if seen < total && webhooks[index].is()["reinvocationPolicy"] == "IfNeeded" {
            let change = Change { object: changed.as_ref().or(change.object), ..change };
            let patched = ask_for_changes(state, call, change, &webhooks[index], 1)?.flatten();
            if differs(change.object, patched.as_ref()) {
                changed = patched;
            }
        }
    }
    Ok(changed)
}

/// Whether a webhook made another object of one.
fn differs(object: Option<&Value>, patched: Option<&Value>) -> bool {
    patched.is_some() && patched != object
}

/// Refuses a write that a webhook does not allow.
pub(super) fn validate(state: &State, call: &mut Call, change: Change<'_>) -> Answer<()> {
    for webhook in registered(state, call, Phase::Validating) {
        ask(state, call, change, &webhook, Phase::Validating, 0)?;
    }
    Ok(())
}

/// One webhook of a configuration.
struct Registered {
    configuration: Arc<Stored>,
    index: usize,
}

impl Registered {
    /// What its configuration says of it.
    fn is(&self) -> &Value {
        &self.configuration.value["webhooks"][self.index]
    }

    /// Tells it from all others.
    fn key(&self) -> String {
        format!("{}/{}", self.configuration.metadata()["name"].as_str().unwrap_or_default(), self.index)
    }
}

/// The webhooks of a phase in the order in which they are asked.
fn registered(state: &State, call: &Call, phase: Phase) -> Vec<Registered> {
    let resource = call.resource();
    // Webhook configurations are exempt, lest one could not be removed again.
    if resource.is(Phase::Mutating.resource()) || resource.is(Phase::Validating.resource()) {
        return Vec::new();
    }
    let configurations = state.storage.objects(phase.resource());
    let webhooks = configurations.values().flat_map(|configuration| {
        let count = configuration.value["webhooks"].as_array().map_or(0, Vec::len);
        (0..count).map(|index| Registered { configuration: configuration.clone(), index })
    });
    webhooks.collect()
}

/// The object after a webhook, if the webhook was asked: `Some(None)` when it is as before.
fn ask_for_changes(
    state: &State,
    call: &mut Call,
    change: Change<'_>,
    webhook: &Registered,
    round: usize,
) -> Answer<Option<Option<Value>>> {
    let Some(verdict) = ask(state, call, change, webhook, Phase::Mutating, round)? else { return Ok(None) };
    let (Some(object), false) = (change.object, verdict.patch.is_null()) else { return Ok(Some(None)) };
    let patched = patch::json(object, &verdict.patch).map_err(|why| {
        Status::internal_plain(&format!("applying the patch of {}: {why}", name_of(webhook.is())))
    })?;
    Ok(Some(Some(patched)))
}

fn name_of(webhook: &Value) -> &str {
    webhook["name"].as_str().unwrap_or_default()
}

/// Asks one webhook, if the write is its business; a denial is an error.
fn ask(
    state: &State,
    call: &mut Call,
    change: Change<'_>,
    registered: &Registered,
    phase: Phase,
    round: usize,
) -> Answer<Option<Verdict>> {
    let webhook = registered.is();
    if !concerns(state, call, change, webhook)? {
        return Ok(None);
    }
    let name = name_of(webhook);
    let tolerant = webhook["failurePolicy"] == "Ignore";
    let failed = |why: String| Status::internal(&format!("failed calling webhook \"{name}\": {why}"));
    let timeout = webhook["timeoutSeconds"].as_u64().unwrap_or(10);
    let client = &webhook["clientConfig"];
    let answered = match reach(state, client, timeout) {
        Ok(answered) => answered,
        Err(_) if tolerant => return Ok(None),
        Err(why) => return Err(failed(format!("failed to call webhook: {why}"))),
    };
    let (Answered::Yes, Some(exchange)) = (answered, call.exchange.clone()) else { return Ok(None) };
    let version = change.old.map_or(&Value::Null, |old| &old["metadata"]["resourceVersion"]);
    let webhook_key = registered.key();
    let object = format!("{}/{} {version}", call.namespace, call.name);
    let key = format!("{phase:?} {} {webhook_key} {round} {object}", change.operation);
    // The webhook's answer must name the review; any name that differs from review to review will do.
    let uid = review_uid(&format!("{key} {}", exchange.salt()));
    let question = || {
        let body = review::ask(call, change, &uid).to_string().into();
        question_for(key.clone(), client, timeout, body)
    };
    let verdict = match exchange.ask(question, &key)? {
        Ok(body) => review::read(&body, &uid, phase)
            .map_err(|why| format!("received invalid webhook response: {why}")),
        Err(why) => Err(why),
    };
    let verdict = match verdict {
        Ok(verdict) => verdict,
        Err(_) if tolerant => return Ok(None),
        Err(why) => return Err(failed(why)),
    };
    call.warnings.extend(verdict.warnings.iter().cloned());
    if verdict.allowed { Ok(Some(verdict)) } else { Err(denial(name, &verdict.status)) }
}

/// Whether a write is a webhook's business.
fn concerns(state: &State, call: &Call, change: Change<'_>, webhook: &Value) -> Answer<bool> {
    let asked = matching::rules_match(call, change, &webhook["rules"])
        && matching::namespace_matches(state, call, change, &webhook["namespaceSelector"])
        && matching::object_matches(change, &webhook["objectSelector"]);
    let conditions = &webhook["matchConditions"];
    if !asked || conditions.as_array().is_none_or(Vec::is_empty) {
        return Ok(asked);
    }
    match matching::conditions(conditions, &matching::context(state, call, change)) {
        Conditions::Hold => Ok(true),
        Conditions::Fail => Ok(false),
        Conditions::Broken if webhook["failurePolicy"] == "Ignore" => Ok(false),
        Conditions::Broken => {
            let why = "a match condition of a webhook cannot be evaluated";
            Err(Status::forbidden(&call.resource().name(), &call.name, why))
        }
    }
}

/// The refusal of a webhook (`ToStatusErr`).
fn denial(name: &str, given: &Value) -> Box<Status> {
    let text = |field: &str| given[field].as_str().unwrap_or_default();
    let why = match (text("message"), text("reason")) {
        ("", "") => " without explanation".to_owned(),
        ("", reason) => format!(": {reason}"),
        (message, _) => format!(": {message}"),
    };
    let code = given["code"].as_u64().and_then(|code| u16::try_from(code).ok()).filter(|code| *code >= 400);
    let message = format!("admission webhook \"{name}\" denied the request{why}");
    let mut status = Status::new(code.unwrap_or(400), "", message);
    status.reason = text("reason").to_owned().into();
    status.details = Some(given["details"].clone()).filter(Value::is_object);
    status
}

/// A UUID that follows from a text.
pub(crate) fn review_uid(text: &str) -> String {
    use sha2::Digest;
    let digest = sha2::Sha256::digest(text.as_bytes());
    let hex: String = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

/// Whether a webhook can be called and whether anybody answers; or why it cannot.
pub(crate) fn reach(state: &State, client: &Value, timeout: u64) -> Result<Answered, String> {
    let (target, url) = place(client, timeout);
    let answered = state.webhooks.answers(&target);
    let key = match target {
        Target::Url(_) if answered == Answered::Yes => return Ok(answered),
        Target::Url(url_without_query) => {
            let host = url_without_query.split("://").nth(1).unwrap_or(&url_without_query);
            let host = host.split('/').next().unwrap_or_default();
            return Err(format!("Post \"{url}\": dial tcp {host}: connect: connection refused"));
        }
        Target::Service(key) => key,
    };
    let (namespace, name) = key.split_once('/').unwrap_or_default();
    let Some(found) = state.storage.get("services", &key) else {
        return Err(format!("Post \"{url}\": service \"{name}\" not found"));
    };
    let available = has_backend(state, namespace, &found.value["spec"]["selector"]);
    if available {
        Ok(answered)
    } else {
        Err(format!("Post \"{url}\": no endpoints available for service \"{name}\""))
    }
}

/// Where a webhook is, and the URL that is called.
fn place(client: &Value, timeout: u64) -> (Target, String) {
    if let Some(url) = client["url"].as_str() {
        return (Target::Url(url.to_owned()), format!("{url}?timeout={timeout}s"));
    }
    let service = &client["service"];
    let text = |field: &str| service[field].as_str().unwrap_or_default();
    let (namespace, name) = (text("namespace"), text("name"));
    let path = text("path").trim_start_matches('/');
    let port = service["port"].as_u64().unwrap_or(443);
    let url = format!("https://{name}.{namespace}.svc:{port}/{path}?timeout={timeout}s");
    (Target::Service(format!("{namespace}/{name}")), url)
}

/// The question that a body is for a webhook.
pub(crate) fn question_for(key: String, client: &Value, timeout: u64, body: bytes::Bytes) -> Question {
    let (target, url) = place(client, timeout);
    let ca = client["caBundle"].as_str().and_then(|text| STANDARD.decode(text).ok()).unwrap_or_default();
    Question { key, target, url, ca: ca.into(), timeout: Duration::from_secs(timeout), body, lasting: false }
}

/// Whether an available Deployment is behind a Service's selector.
fn has_backend(state: &State, namespace: &str, selector: &Value) -> bool {
    let Some(wanted) = selector.as_object().filter(|wanted| !wanted.is_empty()) else { return false };
    let prefix = format!("{namespace}/");
    let deployments = state.storage.objects("deployments.apps");
    deployments.iter().filter(|(key, _)| key.starts_with(&prefix)).any(|(_, deployment)| {
        let labels = &deployment.value["spec"]["template"]["metadata"]["labels"];
        let ready = deployment.value["status"]["availableReplicas"].as_i64().unwrap_or(0) > 0;
        ready && wanted.iter().all(|(key, value)| labels[key] == *value)
    })
}
