//! Virtual resources: questions that are answered and not stored.

use serde_json::{Value, json};

use crate::state::{Call, State};
use crate::status::{Answer, Status};

/// Answers the create of a virtual resource.
pub(crate) fn answer(state: &mut State, call: &Call, mut object: Value) -> Answer<Value> {
    let spec = object["spec"].clone();
    object["metadata"] = json!({});
    object["status"] = match call.resource().plural.as_str() {
        "selfsubjectreviews" => json!({ "userInfo": user_info(&call.user) }),
        "tokenreviews" => {
            let token = spec["token"].as_str().unwrap_or_default();
            match state.tokens.user(token, call.now) {
                Some(user) => json!({ "authenticated": true, "user": user_info(user) }),
                None => json!({ "user": {}, "error": "[invalid bearer token]" }),
            }
        }
        "selfsubjectaccessreviews" => json!({ "allowed": true }),
        "subjectaccessreviews" | "localsubjectaccessreviews" => json!({ "allowed": true }),
        "selfsubjectrulesreviews" => json!({
            "resourceRules": [{ "verbs": ["*"], "apiGroups": ["*"], "resources": ["*"] }],
            "nonResourceRules": [{ "verbs": ["*"], "nonResourceURLs": ["*"] }],
            "incomplete": false,
        }),
        _ => return Err(Status::method_not_allowed()),
    };
    Ok(object)
}

fn user_info(user: &crate::auth::User) -> Value {
    json!({ "username": user.name, "groups": user.groups })
}

/// Answers the create of a subresource: tokens, evictions, bindings.
pub(crate) fn create_subresource(_state: &mut State, _call: &Call, _body: &Value) -> Answer<Value> {
    Err(Status::method_not_allowed())
}
