//! Virtual resources: questions that are answered and not stored, and creates below an object.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::auth::User;
use crate::auth::rbac::{Attributes, allowed, grants};
use crate::clock::rfc3339;
use crate::options::DeleteOptions;
use crate::schema::FieldError;
use crate::selector::LabelSelector;
use crate::state::{Call, State};
use crate::status::{Answer, ResourceName, Status};
use crate::verb::delete::delete;
use crate::verb::get::find;
use crate::verb::update::{Origin, update};

/// Answers the create of a virtual resource.
pub(crate) fn answer(state: &mut State, call: &Call, mut object: Value) -> Answer<Value> {
    let spec = object["spec"].clone();
    if !object["metadata"].is_object() {
        object["metadata"] = json!({});
    }
    object["status"] = match call.resource().plural.as_str() {
        "selfsubjectreviews" => {
            object["metadata"]["creationTimestamp"] = json!(rfc3339(call.now));
            json!({ "userInfo": user_info(&call.user) })
        }
        "tokenreviews" => {
            let token = spec["token"].as_str().unwrap_or_default();
            match state.tokens.user(token, call.now) {
                Some(user) => json!({ "authenticated": true, "user": user_info(user) }),
                None => json!({ "user": {}, "error": "[invalid bearer token]" }),
            }
        }
        "selfsubjectaccessreviews" => access(state, &call.user, &spec)?,
        "subjectaccessreviews" => access(state, &subject(&spec)?, &spec)?,
        "localsubjectaccessreviews" => {
            let namespace = &spec["resourceAttributes"]["namespace"];
            if *namespace != call.namespace.as_str() {
                let why = "must match metadata.namespace";
                return Err(invalid(FieldError::invalid(
                    "spec.resourceAttributes.namespace",
                    namespace,
                    why,
                )));
            }
            object["metadata"]["namespace"] = json!(call.namespace);
            access(state, &subject(&spec)?, &spec)?
        }
        "selfsubjectrulesreviews" => {
            object["spec"] = json!({});
            rules(state, &call.user, spec["namespace"].as_str().unwrap_or_default())
        }
        _ => return Err(Status::method_not_allowed()),
    };
    Ok(object)
}

fn invalid(error: FieldError) -> Box<Status> {
    let who = ResourceName { group: "authorization.k8s.io", resource: "" };
    let mut status = Status::invalid(&who, "", &[error]);
    if let Some(details) = status.details.as_mut().and_then(Value::as_object_mut) {
        details.remove("kind");
    }
    status
}

fn user_info(user: &User) -> Value {
    json!({ "username": user.name, "groups": user.groups })
}

fn subject(spec: &Value) -> Answer<User> {
    let name = spec["user"].as_str().unwrap_or_default();
    let groups: Vec<String> = spec["groups"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|g| g.as_str().map(str::to_owned))
        .collect();
    if name.is_empty() && groups.is_empty() {
        let why = "at least one of user or group must be specified";
        return Err(invalid(FieldError::invalid("spec.user", &json!(""), why)));
    }
    Ok(User { name: name.to_owned(), groups })
}

fn access(state: &State, user: &User, spec: &Value) -> Answer<Value> {
    let (resource, path) = (&spec["resourceAttributes"], &spec["nonResourceAttributes"]);
    let text = |value: &Value, field: &str| value[field].as_str().unwrap_or_default().to_owned();
    let attributes = match (resource.is_null(), path.is_null()) {
        (true, true) => {
            let why = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
            return Err(invalid(FieldError::invalid("spec.resourceAttributes", &Value::Null, why)));
        }
        (false, false) => {
            let why = "cannot be specified in combination with resourceAttributes";
            let shown = json!({ "Path": path["path"], "Verb": path["verb"] });
            return Err(invalid(FieldError::invalid("spec.nonResourceAttributes", &shown, why)));
        }
        (true, false) => {
            Attributes { verb: text(path, "verb"), path: Some(text(path, "path")), ..Attributes::default() }
        }
        (false, true) => Attributes {
            verb: text(resource, "verb"),
            group: text(resource, "group"),
            resource: text(resource, "resource"),
            subresource: text(resource, "subresource"),
            namespace: text(resource, "namespace"),
            name: text(resource, "name"),
            path: None,
        },
    };
    Ok(match allowed(state, user, &attributes) {
        None => json!({ "allowed": false }),
        Some(reason) if reason.is_empty() => json!({ "allowed": true }),
        Some(reason) => json!({ "allowed": true, "reason": reason }),
    })
}

fn rules(state: &State, user: &User, namespace: &str) -> Value {
    let everything = json!([{ "verbs": ["*"], "apiGroups": ["*"], "resources": ["*"] }]);
    let everywhere = json!([{ "verbs": ["*"], "nonResourceURLs": ["*"] }]);
    if !state.rbac || user.is_in("system:masters") {
        return json!({ "resourceRules": everything, "nonResourceRules": everywhere, "incomplete": false });
    }
    let granted = grants(state, user, namespace);
    let (paths, resources): (Vec<Value>, Vec<Value>) = granted
        .iter()
        .flat_map(|grant| grant.rules().to_vec())
        .partition(|rule| !rule["nonResourceURLs"].is_null());
    json!({ "resourceRules": resources, "nonResourceRules": paths, "incomplete": false })
}

/// Answers the create of a subresource: tokens, evictions, bindings.
pub(crate) fn create_subresource(state: &mut State, call: &mut Call, body: &Value) -> Answer<Value> {
    match call.subresource.as_str() {
        "token" => token(state, call, body),
        "eviction" => evict(state, call),
        "binding" => bind(state, call, body),
        _ => Err(Status::method_not_allowed()),
    }
}

/// A token for a ServiceAccount; one hour unless asked otherwise, never under ten minutes.
fn token(state: &mut State, call: &Call, body: &Value) -> Answer<Value> {
    let account = find(state, call)?.clone();
    let seconds = body["spec"]["expirationSeconds"].as_u64().unwrap_or(3600);
    if seconds < 600 {
        let why = "may not specify a duration less than 10 minutes";
        let error = FieldError::invalid("spec.expirationSeconds", &json!(seconds), why);
        let who = ResourceName { group: "authentication.k8s.io", resource: "TokenRequest" };
        return Err(Status::invalid(&who, "", &[error]));
    }
    let expires = call.now.checked_add(Duration::from_secs(seconds)).unwrap_or(Timestamp::MAX);
    let token = format!("fake.{}.{}", state.ids.suffix(40), state.ids.suffix(20));
    state.tokens.insert(token.clone(), service_account(&call.namespace, &call.name), Some(expires));
    let audiences = body["spec"]["audiences"].as_array().filter(|list| !list.is_empty()).cloned();
    let audiences = audiences.unwrap_or_else(|| vec![json!("https://kubernetes.default.svc.cluster.local")]);
    Ok(json!({
        "kind": "TokenRequest",
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": {
            "name": call.name,
            "namespace": call.namespace,
            "creationTimestamp": rfc3339(call.now),
            "uid": account.uid(),
        },
        "spec": { "audiences": audiences, "expirationSeconds": seconds, "boundObjectRef": body["spec"]["boundObjectRef"] },
        "status": { "token": token, "expirationTimestamp": rfc3339(expires) },
    }))
}

/// The user that a ServiceAccount is.
pub(crate) fn service_account(namespace: &str, name: &str) -> User {
    let groups = ["system:serviceaccounts".to_owned(), format!("system:serviceaccounts:{namespace}")];
    User::new(format!("system:serviceaccount:{namespace}:{name}"), groups)
}

/// Deletes a Pod if its disruption budget allows it.
fn evict(state: &mut State, call: &mut Call) -> Answer<Value> {
    let pod = find(state, call)?.clone();
    let prefix = format!("{}/", call.namespace);
    let running = pod.value["status"]["phase"] == "Running";
    for (key, budget) in &state.storage.objects("poddisruptionbudgets.policy") {
        let selector = LabelSelector::from_object(&budget.value["spec"]["selector"]);
        let applies = key.starts_with(&prefix) && running && selector.matches(&pod.metadata()["labels"]);
        if applies && !is_spared(&pod.value, &budget.value) && !allows_one(&budget.value) {
            return Err(eviction_refusal(&budget.value));
        }
    }
    call.subresource = String::new();
    delete(state, call, &DeleteOptions::default())?;
    Ok(json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201 }))
}

fn allows_one(budget: &Value) -> bool {
    budget["status"]["disruptionsAllowed"].as_i64().unwrap_or(0) > 0
}

/// Whether a Pod that is not ready may go, since the budget has enough others.
fn is_spared(pod: &Value, budget: &Value) -> bool {
    let conditions = pod["status"]["conditions"].as_array().map(Vec::as_slice).unwrap_or_default();
    if conditions.iter().any(|condition| condition["type"] == "Ready" && condition["status"] == "True") {
        return false;
    }
    let count = |field: &str| budget["status"][field].as_i64().unwrap_or(0);
    let always = budget["spec"]["unhealthyPodEvictionPolicy"] == "AlwaysAllow";
    always || (count("currentHealthy") >= count("desiredHealthy") && count("desiredHealthy") > 0)
}

fn eviction_refusal(budget: &Value) -> Box<Status> {
    let name = budget["metadata"]["name"].as_str().unwrap_or_default();
    let message = "Cannot evict pod as it would violate the pod's disruption budget.";
    let mut status = Status::new(429, "TooManyRequests", message);
    let observed = budget["status"]["observedGeneration"].as_i64().unwrap_or(0);
    status.details = Some(if observed < budget["metadata"]["generation"].as_i64().unwrap_or(0) {
        let cause = format!("The disruption budget {name} is still being processed by the server.");
        json!({ "causes": [{ "reason": "DisruptionBudget", "message": cause }], "retryAfterSeconds": 10 })
    } else {
        let count = |field: &str| budget["status"][field].as_i64().unwrap_or(0);
        let cause = format!(
            "The disruption budget {name} needs {} healthy pods and has {} currently",
            count("desiredHealthy"),
            count("currentHealthy")
        );
        json!({ "causes": [{ "reason": "DisruptionBudget", "message": cause }] })
    });
    status
}

/// Puts a Pod on a node.
fn bind(state: &mut State, call: &mut Call, body: &Value) -> Answer<Value> {
    let pod = find(state, call)?.clone();
    if let Some(node) = pod.value["spec"]["nodeName"].as_str().filter(|node| !node.is_empty()) {
        let who = ResourceName { group: "", resource: "pods/binding" };
        let why = format!("pod {} is already assigned to node \"{node}\"", call.name);
        return Err(Status::conflict(&who, &call.name, &why));
    }
    let mut bound = (*pod.value).clone();
    bound["spec"]["nodeName"] = body["target"]["name"].clone();
    let scheduled =
        json!({ "type": "PodScheduled", "status": "True", "lastTransitionTime": rfc3339(call.now) });
    match bound["status"]["conditions"].as_array_mut() {
        Some(conditions) => conditions.push(scheduled),
        None => bound["status"]["conditions"] = json!([scheduled]),
    }
    update(state, call, &pod, bound, Origin::Patch)?;
    Ok(json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201 }))
}
