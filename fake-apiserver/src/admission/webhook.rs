//! Registered admission webhooks: which of them a write must pass, and whether they can be reached.
//!
//! A webhook behind a Service is reachable when the Service exists and a Deployment that its selector finds is
//! available. A reachable webhook admits everything: nothing is called.

use serde_json::Value;

use super::Change;
use super::matching::{self, Conditions};
use crate::state::{Call, State};
use crate::status::{Answer, Status};

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

/// Refuses a write when a webhook that must be asked cannot be reached.
pub(super) fn check(state: &State, call: &Call, phase: Phase, change: Change<'_>) -> Answer<()> {
    let resource = call.resource();
    // Webhook configurations are exempt, lest one could not be removed again.
    if resource.is(Phase::Mutating.resource()) || resource.is(Phase::Validating.resource()) {
        return Ok(());
    }
    for configuration in state.storage.objects(phase.resource()).values() {
        for webhook in configuration.value["webhooks"].as_array().into_iter().flatten() {
            let asked = matching::rules_match(call, change, &webhook["rules"])
                && matching::namespace_matches(state, call, change, &webhook["namespaceSelector"])
                && matching::object_matches(change, &webhook["objectSelector"])
                && conditions_hold(state, call, change, &webhook["matchConditions"]);
            if !asked || webhook["failurePolicy"] == "Ignore" {
                continue;
            }
            let timeout = webhook["timeoutSeconds"].as_u64().unwrap_or(10);
            if let Some(why) = unreachable(state, &webhook["clientConfig"], timeout) {
                let name = webhook["name"].as_str().unwrap_or_default();
                let message = format!("failed calling webhook \"{name}\": failed to call webhook: {why}");
                return Err(Status::internal(&message));
            }
        }
    }
    Ok(())
}

/// Whether match conditions hold; one that cannot be evaluated counts as holding.
fn conditions_hold(state: &State, call: &Call, change: Change<'_>, conditions: &Value) -> bool {
    let some = conditions.as_array().is_some_and(|list| !list.is_empty());
    !some || matching::conditions(conditions, &matching::context(state, call, change)) != Conditions::Fail
}

/// Why a webhook cannot be called, if it cannot.
pub(crate) fn unreachable(state: &State, client: &Value, timeout: u64) -> Option<String> {
    if let Some(url) = client["url"].as_str() {
        let host = url.split("://").nth(1).unwrap_or(url).split('/').next().unwrap_or_default();
        return Some(format!(
            "Post \"{url}?timeout={timeout}s\": dial tcp {host}: connect: connection refused"
        ));
    }
    let service = &client["service"];
    let text = |field: &str| service[field].as_str().unwrap_or_default();
    let (namespace, name) = (text("namespace"), text("name"));
    let path = text("path").trim_start_matches('/');
    let port = service["port"].as_u64().unwrap_or(443);
    let url = format!("https://{name}.{namespace}.svc:{port}/{path}?timeout={timeout}s");
    let Some(found) = state.storage.get("services", &format!("{namespace}/{name}")) else {
        return Some(format!("Post \"{url}\": service \"{name}\" not found"));
    };
    let available = has_backend(state, namespace, &found.value["spec"]["selector"]);
    (!available).then(|| format!("Post \"{url}\": no endpoints available for service \"{name}\""))
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
