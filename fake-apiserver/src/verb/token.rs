//! Tokens of ServiceAccounts, asked for through the subresource `token`
//! (`pkg/registry/core/serviceaccount/storage/token.go` of Kubernetes).

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::get::find;
use crate::auth::token::{AUDIENCE, Bound, web_token};
use crate::clock::rfc3339;
use crate::reviews::account_grant;
use crate::schema::FieldError;
use crate::state::{Call, State};
use crate::status::{Answer, ResourceName, Status};
use crate::storage::object_key;

/// Seconds that a token lasts unless asked otherwise, and the fewest and most that may be asked for.
const USUAL: i64 = 3600;
const LEAST: i64 = 600;
const MOST: i64 = 1 << 32;

/// Answers a TokenRequest.
pub(super) fn request(state: &mut State, call: &Call, body: &Value) -> Answer<Value> {
    let account = find(state, call)?.clone();
    let spec = &body["spec"];
    let seconds = spec["expirationSeconds"].as_i64().unwrap_or(USUAL);
    let why = match seconds {
        ..LEAST => "may not specify a duration less than 10 minutes",
        LEAST..=MOST => "",
        _ => "may not specify a duration larger than 2^32 seconds",
    };
    if !why.is_empty() {
        let error = FieldError::invalid("spec.expirationSeconds", &json!(seconds), why);
        let who = ResourceName { group: "authentication.k8s.io", resource: "TokenRequest" };
        return Err(Status::invalid(&who, "", &[error]));
    }
    let bound = bound(state, call, &spec["boundObjectRef"])?;
    let duration = Duration::from_secs(seconds.unsigned_abs());
    let expires = call.now.checked_add(duration).unwrap_or(Timestamp::MAX);
    let audiences: Vec<String> = match spec["audiences"].as_array() {
        Some(list) if !list.is_empty() => list.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => vec![AUDIENCE.to_owned()],
    };
    let mut grant = account_grant(state, &call.namespace, &call.name);
    let id = state.ids.uid();
    let mut extra = vec![("credential-id", format!("JTI={id}"))];
    if let Some(bound) = bound {
        if &*bound.resource == "pods" {
            extra.push(("pod-name", bound.key.rsplit('/').next().unwrap_or_default().to_owned()));
            extra.push(("pod-uid", bound.uid.clone()));
        }
        grant.bound.push(bound);
    }
    let extra =
        extra.into_iter().map(|(key, value)| (format!("authentication.kubernetes.io/{key}"), vec![value]));
    grant.user.extra = extra.collect();
    grant.expires = Some(expires);
    grant.audiences.clone_from(&audiences);
    let claims = json!({
        "aud": audiences,
        "exp": expires.as_second(),
        "iat": call.now.as_second(),
        "iss": AUDIENCE,
        "jti": id,
        "kubernetes.io": {
            "namespace": call.namespace,
            "serviceaccount": { "name": call.name, "uid": account.uid() },
        },
        "nbf": call.now.as_second(),
        "sub": grant.user.name,
    });
    let token = web_token(&mut state.ids, &claims);
    if !call.options.dry_run {
        state.tokens.insert(token.clone(), grant);
    }
    Ok(json!({
        "kind": "TokenRequest",
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": {
            "name": call.name,
            "namespace": call.namespace,
            "creationTimestamp": rfc3339(call.now),
            "uid": account.uid(),
        },
        "spec": { "audiences": audiences, "expirationSeconds": seconds, "boundObjectRef": spec["boundObjectRef"] },
        "status": { "token": token, "expirationTimestamp": rfc3339(expires) },
    }))
}

/// The object that a token is to end with.
fn bound(state: &State, call: &Call, reference: &Value) -> Answer<Option<Bound>> {
    if !reference.is_object() {
        return Ok(None);
    }
    let text = |field: &str| reference[field].as_str().unwrap_or_default();
    let (version, kind, name) = (text("apiVersion"), text("kind"), text("name"));
    let (resource, namespace) = match (version, kind) {
        ("v1", "Pod") => ("pods", call.namespace.as_str()),
        ("v1", "Secret") => ("secrets", call.namespace.as_str()),
        ("v1", "Node") => ("nodes", ""),
        _ => {
            let (group, version) = version.split_once('/').unwrap_or(("", version));
            let why = format!("cannot bind token to object of type {group}/{version}, Kind={kind}");
            return Err(Status::bad_request(why));
        }
    };
    let key = object_key(namespace, name);
    let Some(found) = state.storage.get(resource, &key) else {
        return Err(Status::not_found(&ResourceName { group: "", resource }, name));
    };
    let uid = text("uid");
    if !uid.is_empty() && uid != found.uid() {
        let why = format!(
            "the UID in the bound object reference ({uid}) does not match the UID in record. The object might have \
             been deleted and then recreated"
        );
        return Err(Status::conflict(&ResourceName { group: "", resource: kind }, name, &why));
    }
    if resource == "pods" && found.value["spec"]["serviceAccountName"] != call.name.as_str() {
        let account = &call.name;
        return Err(Status::bad_request(format!(
            "cannot bind token for serviceaccount \"{account}\" to pod running with different serviceaccount name."
        )));
    }
    Ok(Some(Bound { resource: resource.into(), key, uid: found.uid().to_owned() }))
}
