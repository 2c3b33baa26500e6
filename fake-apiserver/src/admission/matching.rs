//! Which writes a webhook or a policy is about: rules, selectors and conditions.

use kube_cel::KubeCelExt;
use kube_cel::cel::{Context, Value as CelValue};
use serde_json::{Value, json};

use super::Change;
use crate::cel;
use crate::selector::LabelSelector;
use crate::state::{Call, State};

/// Whether one of `rules` names the resource and the operation.
pub(super) fn rules_match(call: &Call, change: Change<'_>, rules: &Value) -> bool {
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
        let named =
            rule["resourceNames"].as_array().is_none_or(Vec::is_empty) || has("resourceNames", &call.name);
        scope
            && version
            && named
            && has("operations", change.operation)
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

/// Whether the namespace of the object (a Namespace itself is its own) has the labels.
pub(super) fn namespace_matches(state: &State, call: &Call, change: Change<'_>, selector: &Value) -> bool {
    let selector = LabelSelector::from_object(selector);
    if selector.is_empty() {
        return true;
    }
    if call.resource().is("namespaces") {
        let object = change.object.or(change.old).unwrap_or(&Value::Null);
        return selector.matches(&object["metadata"]["labels"]);
    }
    if !call.resource().namespaced {
        return true;
    }
    let namespace = state.storage.get("namespaces", &call.namespace);
    namespace.is_some_and(|namespace| selector.matches(&namespace.metadata()["labels"]))
}

/// Whether the object has the labels, or had them.
pub(super) fn object_matches(change: Change<'_>, selector: &Value) -> bool {
    let selector = LabelSelector::from_object(selector);
    let mut sides = [change.object, change.old].into_iter().flatten();
    selector.is_empty() || sides.any(|object| selector.matches(&object["metadata"]["labels"]))
}

/// What expressions about a write can refer to.
pub(super) fn context(state: &State, call: &Call, change: Change<'_>) -> Context<'static> {
    let mut context = Context::default().with_all();
    let namespace = state.storage.get("namespaces", &call.namespace).filter(|_| call.resource().namespaced);
    let none = Value::Null;
    for (name, value) in [
        ("object", change.object.unwrap_or(&none)),
        ("oldObject", change.old.unwrap_or(&none)),
        ("namespaceObject", namespace.map_or(&none, |namespace| &*namespace.value)),
        ("request", &request(call, change)),
    ] {
        context.add_variable_from_value(name, cel::data(value));
    }
    context
}

fn request(call: &Call, change: Change<'_>) -> Value {
    let (resource, version) = (call.resource(), &call.version().name);
    json!({
        "operation": change.operation,
        "kind": { "group": resource.group, "version": version, "kind": resource.kind },
        "resource": { "group": resource.group, "version": version, "resource": resource.plural },
        "subResource": call.subresource,
        "name": call.name,
        "namespace": call.namespace,
        "userInfo": { "username": call.user.name, "groups": call.user.groups },
        "dryRun": call.options.dry_run,
    })
}

/// What became of match conditions.
#[derive(Debug, PartialEq)]
pub(super) enum Conditions {
    Hold,
    Fail,
    /// None is false, and one cannot be evaluated.
    Broken,
}

/// Whether all conditions hold.
pub(super) fn conditions(conditions: &Value, context: &Context<'_>) -> Conditions {
    let mut outcome = Conditions::Hold;
    for condition in conditions.as_array().into_iter().flatten() {
        let expression = condition["expression"].as_str().unwrap_or_default();
        let value = cel::compile(expression).ok().and_then(|program| cel::execute(&program, context)?.ok());
        match value {
            Some(CelValue::Bool(true)) => {}
            Some(CelValue::Bool(false)) => return Conditions::Fail,
            _ => outcome = Conditions::Broken,
        }
    }
    outcome
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

    #[test]
    fn one_condition_that_is_false_outweighs_one_that_is_broken() {
        let context = Context::default();
        let check = |expressions: &[&str]| {
            let list: Vec<Value> = expressions.iter().map(|text| json!({ "expression": text })).collect();
            conditions(&json!(list), &context)
        };
        assert_eq!(check(&["true"]), Conditions::Hold);
        assert_eq!(check(&["nobody.knows", "true"]), Conditions::Broken);
        assert_eq!(check(&["nobody.knows", "false"]), Conditions::Fail);
    }
}
