//! ValidatingAdmissionPolicies: rules in CEL that hold where a binding says so (KEP-3488).
//!
//! Parameters are looked up; `authorizer` and audit annotations are not there. Expressions are not type-checked, so
//! what a real server refuses when the policy is written fails here when it is used.

use std::collections::BTreeMap;
use std::sync::Arc;

use kube_cel::cel::{Context, Value as CelValue};
use serde_json::{Value, json};

use super::Change;
use super::matching::{self, Conditions};
use crate::cel;
use crate::selector::LabelSelector;
use crate::state::{Call, State};
use crate::status::{Answer, Status};

const POLICIES: &str = "validatingadmissionpolicies.admissionregistration.k8s.io";
const BINDINGS: &str = "validatingadmissionpolicybindings.admissionregistration.k8s.io";

/// Why a policy does not like a write.
struct Denial {
    message: String,
    reason: String,
}

impl Denial {
    fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), reason: "Invalid".into() }
    }
}

/// Refuses a write that a bound policy denies; notes warnings of those that only warn.
pub(super) fn check(state: &State, call: &mut Call, change: Change<'_>) -> Answer<()> {
    // Nothing could be repaired if policies were about policies.
    if call.resource().is(POLICIES) || call.resource().is(BINDINGS) {
        return Ok(());
    }
    for (name, binding) in &state.storage.objects(BINDINGS) {
        let bound = binding.value["spec"]["policyName"].as_str().unwrap_or_default();
        let Some(policy) = state.storage.get(POLICIES, bound) else { continue };
        let (policy, binding) = (&policy.value["spec"], &binding.value["spec"]);
        let within = &binding["matchResources"];
        if !matches(state, call, change, &policy["matchConstraints"])
            || !within.is_null() && !matches(state, call, change, within)
        {
            continue;
        }
        for denial in denials(state, call, change, policy, binding) {
            let who = format!("ValidatingAdmissionPolicy '{bound}' with binding '{name}'");
            let acts = |action: &str| {
                binding["validationActions"].as_array().into_iter().flatten().any(|one| one == action)
            };
            if acts("Warn") {
                call.warnings.push(format!("Validation failed for {who}: {}", denial.message));
            }
            if acts("Deny") {
                return Err(refusal(
                    call,
                    &format!("{who} denied request: {}", denial.message),
                    &denial.reason,
                ));
            }
        }
    }
    Ok(())
}

fn refusal(call: &Call, message: &str, reason: &str) -> Box<Status> {
    let mut status = Status::forbidden(&call.resource().name(), &call.name, message);
    let (code, reason) = match reason {
        "Unauthorized" => (401, "Unauthorized"),
        "Forbidden" => (403, "Forbidden"),
        "RequestEntityTooLarge" => (413, "RequestEntityTooLarge"),
        _ => (422, "Invalid"),
    };
    (status.code, status.reason) = (code, reason.into());
    if let Some(details) = &mut status.details {
        details["causes"] = json!([{ "message": message }]);
    }
    status
}

fn matches(state: &State, call: &Call, change: Change<'_>, resources: &Value) -> bool {
    // A binding without rules of its own is about all that its policy is about.
    let rules = &resources["resourceRules"];
    let any = rules.as_array().is_none_or(Vec::is_empty);
    (any || matching::rules_match(call, change, rules))
        && !matching::rules_match(call, change, &resources["excludeResourceRules"])
        && matching::namespace_matches(state, call, change, &resources["namespaceSelector"])
        && matching::object_matches(change, &resources["objectSelector"])
}

/// What the validations of a policy have against a write, for each of its parameters.
fn denials(state: &State, call: &Call, change: Change<'_>, policy: &Value, binding: &Value) -> Vec<Denial> {
    let closed = policy["failurePolicy"] != "Ignore";
    let context = matching::context(state, call, change);
    let failed = |message: String| if closed { vec![Denial::new(message)] } else { Vec::new() };
    match matching::conditions(&policy["matchConditions"], &context) {
        Conditions::Fail => return Vec::new(),
        Conditions::Broken => return failed("failed to evaluate match conditions".into()),
        Conditions::Hold => {}
    }
    let parameters = match parameters(state, call, policy, binding) {
        Ok(parameters) => parameters,
        Err(why) => return failed(why),
    };
    parameters
        .iter()
        .flat_map(|parameter| {
            let mut context = context.new_inner_scope();
            context.add_variable_from_value("params", cel::data(parameter));
            add_variables(&mut context, &policy["variables"]);
            let validations = policy["validations"].as_array().into_iter().flatten();
            validations.filter_map(|validation| denial(validation, &context, closed)).collect::<Vec<_>>()
        })
        .collect()
}

/// Named expressions; one that cannot be evaluated is not there for those after it.
fn add_variables(context: &mut Context<'_>, declared: &Value) {
    let mut known: BTreeMap<String, CelValue> = BTreeMap::new();
    for variable in declared.as_array().into_iter().flatten() {
        context.add_variable_from_value("variables", cel::map(known.clone().into_iter()));
        let text = |field: &str| variable[field].as_str().unwrap_or_default();
        let value =
            cel::compile(text("expression")).ok().and_then(|program| cel::execute(&program, context)?.ok());
        known.extend(value.map(|value| (text("name").to_owned(), value)));
    }
    context.add_variable_from_value("variables", cel::map(known.into_iter()));
}

fn denial(validation: &Value, context: &Context<'_>, closed: bool) -> Option<Denial> {
    let text = |field: &str| validation[field].as_str().map(str::trim).filter(|text| !text.is_empty());
    let expression = text("expression").unwrap_or_default();
    let broken = |why: String| {
        let message = format!("expression '{expression}' resulted in error: {why}");
        closed.then(|| Denial::new(message))
    };
    let value = match cel::compile(expression).map(|program| cel::execute(&program, context)) {
        Ok(Some(Ok(value))) => value,
        Ok(Some(Err(why))) => return broken(cel::problem(&why)),
        // The engine cannot: a real one would have said yes or no.
        Ok(None) => return None,
        Err(why) => return broken(format!("compilation failed: {why}")),
    };
    if value == CelValue::Bool(true) {
        return None;
    }
    let computed = text("messageExpression").and_then(|expression| {
        match cel::execute(&cel::compile(expression).ok()?, context)?.ok()? {
            CelValue::String(text) => Some(Arc::unwrap_or_clone(text).trim().to_owned()),
            _ => None,
        }
    });
    let computed = computed.filter(|text| !text.is_empty() && !text.contains('\n'));
    let fixed = || text("message").map(str::to_owned);
    let message = computed.or_else(fixed).unwrap_or_else(|| format!("failed expression: {expression}"));
    Some(Denial { message, reason: text("reason").unwrap_or("Invalid").to_owned() })
}

/// The objects that a policy takes as `params`: one null if it takes none.
fn parameters(state: &State, call: &Call, policy: &Value, binding: &Value) -> Result<Vec<Value>, String> {
    let (kind, reference) = (&policy["paramKind"], &binding["paramRef"]);
    if kind.is_null() || reference.is_null() {
        return Ok(vec![Value::Null]);
    }
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let version = text(&kind["apiVersion"]);
    let (group, _) = version.split_once('/').unwrap_or_default();
    let Some(resource) = state.registry.by_kind(group, &text(&kind["kind"])) else {
        let kind = text(&kind["kind"]);
        return Err(format!("failed to find resource referenced by paramKind: '{version}, Kind={kind}'"));
    };
    let namespace = match reference["namespace"].as_str() {
        _ if !resource.namespaced => String::new(),
        Some(namespace) => namespace.to_owned(),
        None => call.namespace.clone(),
    };
    let selector = LabelSelector::from_object(&reference["selector"]);
    let wanted = reference["name"].as_str();
    let found: Vec<Value> = state
        .storage
        .objects(&resource.storage)
        .values()
        .map(|stored| &stored.value)
        .filter(|object| {
            let metadata = &object["metadata"];
            let here = !resource.namespaced || metadata["namespace"] == namespace.as_str();
            here && match wanted {
                Some(name) => metadata["name"] == name,
                None => selector.matches(&metadata["labels"]),
            }
        })
        .map(|object| (**object).clone())
        .collect();
    if found.is_empty() && reference["parameterNotFoundAction"] == "Deny" {
        return Err("no params found for policy binding with `Deny` parameterNotFoundAction".into());
    }
    Ok(found)
}
