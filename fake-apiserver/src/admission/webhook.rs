//! Registered admission webhooks: which of them a write must pass, and whether they can be reached.
//!
//! A webhook behind a Service is reachable when the Service exists and a Deployment that its selector finds is
//! available. A reachable webhook admits everything: nothing is called.

use kube_cel::KubeCelExt;
use kube_cel::cel::{Context, Program, Value as CelValue, to_value};
use serde_json::Value;

use crate::selector::LabelSelector;
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

/// Refuses a write when a webhook that must be asked cannot be reached. `object` is the object as it shall be, or
/// as it is when it is deleted; `old` is what it replaces.
pub(crate) fn check(
    state: &State,
    call: &Call,
    phase: Phase,
    operation: &str,
    object: &Value,
    old: Option<&Value>,
) -> Answer<()> {
    let resource = call.resource();
    // Webhook configurations are exempt, lest one could not be removed again.
    if resource.is(Phase::Mutating.resource()) || resource.is(Phase::Validating.resource()) {
        return Ok(());
    }
    for configuration in state.storage.objects(phase.resource()).values() {
        for webhook in configuration.value["webhooks"].as_array().into_iter().flatten() {
            let asked = rules_match(call, operation, &webhook["rules"])
                && namespace_matches(state, call, object, &webhook["namespaceSelector"])
                && object_matches(object, old, &webhook["objectSelector"])
                && conditions_match(&webhook["matchConditions"], object, old);
            if !asked || webhook["failurePolicy"] == "Ignore" {
                continue;
            }
            if let Some(why) =
                unreachable(state, &webhook["clientConfig"], webhook["timeoutSeconds"].as_u64().unwrap_or(10))
            {
                let name = webhook["name"].as_str().unwrap_or_default();
                let message = format!("failed calling webhook \"{name}\": failed to call webhook: {why}");
                return Err(Status::internal(&message));
            }
        }
    }
    Ok(())
}

fn rules_match(call: &Call, operation: &str, rules: &Value) -> bool {
    let resource = call.resource();
    rules.as_array().into_iter().flatten().any(|rule| {
        let has = |field: &str, wanted: &str| {
            rule[field].as_array().into_iter().flatten().any(|value| value == "*" || value == wanted)
        };
        let scope = match rule["scope"].as_str() {
            Some("Cluster") => !resource.namespaced,
            Some("Namespaced") => resource.namespaced,
            _ => true,
        };
        // With matchPolicy Equivalent any version of the kind will do.
        let version = resource.versions.iter().any(|version| has("apiVersions", &version.name));
        let patterns = rule["resources"].as_array().into_iter().flatten().filter_map(Value::as_str);
        scope
            && version
            && has("operations", operation)
            && has("apiGroups", &resource.group)
            && patterns
                .into_iter()
                .any(|pattern| resource_matches(pattern, &resource.plural, &call.subresource))
    })
}

/// Whether `pods`, `pods/status`, `pods/*`, `*/status`, `*` or `*/*` means a resource.
fn resource_matches(pattern: &str, plural: &str, subresource: &str) -> bool {
    let (name, part) = pattern.split_once('/').unwrap_or((pattern, ""));
    (name == "*" || name == plural) && (part == subresource || part == "*")
}

fn namespace_matches(state: &State, call: &Call, object: &Value, selector: &Value) -> bool {
    let selector = LabelSelector::from_object(selector);
    if selector.is_empty() {
        return true;
    }
    if call.resource().is("namespaces") {
        return selector.matches(&object["metadata"]["labels"]);
    }
    if !call.resource().namespaced {
        return true;
    }
    let namespace = state.storage.get("namespaces", &call.namespace);
    namespace.is_some_and(|namespace| selector.matches(&namespace.metadata()["labels"]))
}

fn object_matches(object: &Value, old: Option<&Value>, selector: &Value) -> bool {
    let selector = LabelSelector::from_object(selector);
    let labels = |object: &Value| selector.matches(&object["metadata"]["labels"]);
    labels(object) || old.is_some_and(labels)
}

/// Whether all match conditions hold; one that cannot be evaluated counts as holding.
fn conditions_match(conditions: &Value, object: &Value, old: Option<&Value>) -> bool {
    conditions.as_array().into_iter().flatten().all(|condition| {
        let expression = condition["expression"].as_str().unwrap_or_default();
        let Ok(program) = Program::compile(expression) else { return true };
        let mut context = Context::default().with_all();
        for (name, value) in [("object", object), ("oldObject", old.unwrap_or(&Value::Null))] {
            context.add_variable_from_value(name, to_value(value).unwrap_or(CelValue::Null));
        }
        program.execute(&context) != Ok(CelValue::Bool(false))
    })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resource_patterns_name_resources_and_parts_of_them() {
        for (pattern, subresource, expected) in [
            ("pods", "", true),
            ("pods", "status", false),
            ("pods/*", "status", true),
            ("*/status", "status", true),
            ("*", "", true),
            ("*/*", "", true),
            ("services", "", false),
        ] {
            assert_eq!(resource_matches(pattern, "pods", subresource), expected, "{pattern} {subresource}");
        }
    }
}
