//! Virtual resources: questions that are answered and not stored.

use serde_json::{Value, json};

use crate::auth::User;
use crate::auth::rbac::{Attributes, allowed, grants};
use crate::auth::token::{AUDIENCE, Bound, Grant};
use crate::clock::rfc3339;
use crate::schema::FieldError;
use crate::state::{Call, State};
use crate::status::{Answer, ResourceName, Status};
use crate::storage::object_key;

const ACCOUNTS: &str = "serviceaccounts";

/// Answers the create of a virtual resource.
pub(crate) fn answer(state: &mut State, call: &Call, mut object: Value) -> Answer<Value> {
    let spec = object["spec"].clone();
    if !object["metadata"].is_object() {
        object["metadata"] = json!({});
    }
    object["status"] = match call.resource().plural.as_str() {
        "selfsubjectreviews" => {
            // The answer is an object of the server's own.
            object["metadata"] = json!({ "creationTimestamp": rfc3339(call.now) });
            json!({ "userInfo": user_info(&call.user) })
        }
        "tokenreviews" => token_review(state, call, &spec),
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
    let mut info = json!({ "username": user.name, "groups": user.groups });
    if !user.uid.is_empty() {
        info["uid"] = json!(user.uid);
    }
    if !user.extra.is_empty() {
        info["extra"] = json!(user.extra);
    }
    info
}

fn token_review(state: &State, call: &Call, spec: &Value) -> Value {
    let token = spec["token"].as_str().unwrap_or_default();
    let asked = texts(&spec["audiences"]);
    let wanted = if asked.is_empty() { vec![AUDIENCE.to_owned()] } else { asked };
    let grant = state.tokens.grant(token, &state.storage, call.now);
    match grant.map(|grant| (grant, grant.meant_for(&wanted))) {
        Some((grant, audiences)) if !audiences.is_empty() => {
            json!({ "authenticated": true, "user": user_info(&grant.user), "audiences": audiences })
        }
        _ => json!({ "user": {}, "error": "invalid bearer token" }),
    }
}

fn texts(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(|text| text.as_str().map(str::to_owned)).collect()
}

fn subject(spec: &Value) -> Answer<User> {
    let name = spec["user"].as_str().unwrap_or_default();
    let groups = texts(&spec["groups"]);
    if name.is_empty() && groups.is_empty() {
        let why = "at least one of user or group must be specified";
        return Err(invalid(FieldError::invalid("spec.user", &json!(""), why)));
    }
    Ok(User { groups, ..User::new(name, [""; 0]) })
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
    let granted: Vec<_> = grants(state, user, namespace).collect();
    let (paths, resources): (Vec<Value>, Vec<Value>) = granted
        .iter()
        .flat_map(|grant| grant.rules().to_vec())
        .partition(|rule| !rule["nonResourceURLs"].is_null());
    json!({ "resourceRules": resources, "nonResourceRules": paths, "incomplete": false })
}

/// The user that a ServiceAccount is.
pub(crate) fn service_account(namespace: &str, name: &str) -> User {
    let groups = ["system:serviceaccounts".to_owned(), format!("system:serviceaccounts:{namespace}")];
    User::new(format!("system:serviceaccount:{namespace}:{name}"), groups)
}

/// What a token of a ServiceAccount stands for: it ends with the account.
pub(crate) fn account_grant(state: &State, namespace: &str, name: &str) -> Grant {
    let mut grant = Grant::of(service_account(namespace, name));
    let key = object_key(namespace, name);
    let uid = state.storage.get(ACCOUNTS, &key).map(|account| account.uid().to_owned()).unwrap_or_default();
    grant.user.uid.clone_from(&uid);
    grant.bound.push(Bound { resource: ACCOUNTS.into(), key, uid });
    grant
}
