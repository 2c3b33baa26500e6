//! Refusals: `metav1.Status` with reason, code, details and causes, worded as the API server words them
//! (`k8s.io/apimachinery/pkg/api/errors`).

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use crate::schema::{FieldError, FieldErrorReason};

/// The result of anything that a client can be refused.
pub type Answer<T> = Result<T, Box<Status>>;

/// Why a request failed, ready to be sent.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct Status {
    /// HTTP status code.
    pub code: u16,
    /// Machine-readable reason (`NotFound`, …); empty where the server gives none.
    pub reason: Cow<'static, str>,
    /// Text for people.
    pub message: String,
    /// `details`, where the server gives any.
    pub details: Option<Value>,
    /// A continue token to go on with an expired list.
    pub continue_token: Option<String>,
    /// Sent as plain text instead of a Status object.
    pub plain: bool,
}

impl Status {
    /// A refusal without details.
    pub fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Box<Self> {
        let (reason, message) = (reason.into(), message.into());
        Box::new(Self { code, reason, message, details: None, continue_token: None, plain: false })
    }

    fn with_details(mut self: Box<Self>, details: Value) -> Box<Self> {
        self.details = Some(details);
        self
    }

    /// 400 BadRequest.
    pub fn bad_request(message: impl Into<String>) -> Box<Self> {
        Self::new(400, "BadRequest", message)
    }

    /// 404 for an object.
    pub fn not_found(resource: &ResourceName<'_>, name: &str) -> Box<Self> {
        Self::new(404, "NotFound", format!("{resource} \"{name}\" not found"))
            .with_details(resource.details(name))
    }

    /// 404 for a path under a known group.
    pub fn no_such_resource() -> Box<Self> {
        Self::new(404, "NotFound", "the server could not find the requested resource").with_details(json!({}))
    }

    /// 404 for a path of no known group: plain text.
    pub fn page_not_found() -> Box<Self> {
        let mut status = Self::new(404, "NotFound", "404 page not found\n");
        status.plain = true;
        status
    }

    /// 409 because the name is taken.
    pub fn already_exists(resource: &ResourceName<'_>, name: &str, deleting: bool) -> Box<Self> {
        let prefix = if deleting { "object is being deleted: " } else { "" };
        Self::new(409, "AlreadyExists", format!("{prefix}{resource} \"{name}\" already exists"))
            .with_details(resource.details(name))
    }

    /// 409 because of a precondition or a stale version.
    pub fn conflict(resource: &ResourceName<'_>, name: &str, why: &str) -> Box<Self> {
        let message = format!("Operation cannot be fulfilled on {resource} \"{name}\": {why}");
        Self::new(409, "Conflict", message).with_details(resource.details(name))
    }

    /// 409 because the object changed since it was read.
    pub fn stale(resource: &ResourceName<'_>, name: &str) -> Box<Self> {
        let why =
            "the object has been modified; please apply your changes to the latest version and try again";
        Self::conflict(resource, name, why)
    }

    /// 409 of a server-side apply, with one cause for each field.
    pub fn apply_conflict(message: String, causes: &[Value]) -> Box<Self> {
        Self::new(409, "Conflict", message).with_details(json!({ "causes": causes }))
    }

    /// 403.
    pub fn forbidden(resource: &ResourceName<'_>, name: &str, why: &str) -> Box<Self> {
        let message = if name.is_empty() {
            format!("{resource} is forbidden: {why}")
        } else {
            format!("{resource} \"{name}\" is forbidden: {why}")
        };
        let mut details = resource.details(name);
        if name.is_empty() {
            details.as_object_mut().map(|details| details.remove("name"));
        }
        Self::new(403, "Forbidden", message).with_details(details)
    }

    /// 401.
    pub fn unauthorized() -> Box<Self> {
        Self::new(401, "Unauthorized", "Unauthorized")
    }

    /// 405.
    pub fn method_not_allowed() -> Box<Self> {
        Self::new(405, "MethodNotAllowed", "the server does not allow this method on the requested resource")
            .with_details(json!({}))
    }

    /// 405 for a custom resource, whose kinds refuse by themselves.
    pub(crate) fn method_not_supported(resource: &ResourceName<'_>, verb: &str) -> Box<Self> {
        let message = format!("{verb} is not supported on resources of kind \"{resource}\"");
        let mut details = resource.details("");
        details.as_object_mut().map(|details| details.remove("name"));
        Self::new(405, "MethodNotAllowed", message).with_details(details)
    }

    /// 406.
    ///
    /// `known` tells a media type that is served, but not in the shape that was asked for.
    pub fn not_acceptable(accepted: &str, known: bool) -> Box<Self> {
        if known {
            let message = format!("only the following media types are accepted: {accepted}");
            return Self::new(406, "NotAcceptable", message);
        }
        let message = format!("406: Not Acceptable\n\nAvailable representations: {accepted}");
        Self::new(406, "NotAcceptable", message).with_details(json!({}))
    }

    /// 406: a representation of single objects for a list, or the other way round.
    pub(crate) fn misfit(asked: &str, found: &str) -> Box<Self> {
        let message = format!("you requested {asked}, but the requested object is {found}");
        Self::new(406, "NotAcceptable", message)
    }

    /// 410: the version asked for is no longer kept.
    pub fn expired(message: impl Into<String>) -> Box<Self> {
        Self::new(410, "Expired", message)
    }

    /// 422: `who` is a kind (with its group) or, for storage errors, a resource.
    pub fn invalid(who: &ResourceName<'_>, name: &str, errors: &[FieldError]) -> Box<Self> {
        // The server joins distinct messages but lists every cause.
        let mut texts: Vec<String> = Vec::new();
        for error in errors {
            let text = format!("{}: {}", error.path, error.message);
            if !texts.contains(&text) {
                texts.push(text);
            }
        }
        let text = match texts.as_slice() {
            [one] => one.clone(),
            many => format!("[{}]", many.join(", ")),
        };
        let mut details = who.details(name);
        if name.is_empty() {
            details.as_object_mut().map(|details| details.remove("name"));
        }
        details["causes"] = errors.iter().map(cause).collect();
        Self::new(422, "Invalid", format!("{who} \"{name}\" is invalid: {text}")).with_details(details)
    }

    /// 422 without causes, for patches that do not fit.
    pub fn unprocessable(who: &ResourceName<'_>, name: &str, message: &str) -> Box<Self> {
        let full = format!("{who} \"{name}\" is invalid: {message}");
        Self::new(422, "Invalid", full).with_details(who.details(name))
    }

    /// 422 for request options (`ListOptions`, `CreateOptions`, …).
    pub fn invalid_options(kind: &'static str, errors: &[FieldError]) -> Box<Self> {
        Self::invalid(&ResourceName { group: "meta.k8s.io", resource: kind }, "", errors)
    }

    /// 500 InternalError with a cause, as failed webhook calls are reported.
    pub fn internal(message: &str) -> Box<Self> {
        Self::new(500, "InternalError", format!("Internal error occurred: {message}"))
            .with_details(json!({ "causes": [{ "message": message }] }))
    }

    /// 500 InternalError without causes.
    pub(crate) fn internal_plain(message: &str) -> Box<Self> {
        Self::new(500, "InternalError", format!("Internal error occurred: {message}"))
    }

    /// 500 without a reason: what the server makes of errors it has no type for.
    pub fn unexpected(message: impl Into<String>) -> Box<Self> {
        Self::new(500, "", message)
    }

    /// 504 for a resourceVersion from the future.
    pub fn too_large_version(asked: u64, current: u64) -> Box<Self> {
        let message = format!("Timeout: Too large resource version: {asked}, current: {current}");
        Self::new(504, "Timeout", message).with_details(json!({
            "causes": [{ "reason": "ResourceVersionTooLarge", "message": "Too large resource version" }],
            "retryAfterSeconds": 1,
        }))
    }

    /// Adds a cause to the details.
    pub fn with_cause(mut self: Box<Self>, reason: &str, message: &str, field: &str) -> Box<Self> {
        let cause = json!({ "reason": reason, "message": message, "field": field });
        let details = self.details.get_or_insert_with(|| json!({}));
        match details.get_mut("causes").and_then(Value::as_array_mut) {
            Some(causes) => causes.push(cause),
            None => details["causes"] = json!([cause]),
        }
        self
    }

    /// Seconds after which the client should try again, if said.
    pub fn retry_after(&self) -> Option<u64> {
        self.details.as_ref()?.get("retryAfterSeconds")?.as_u64()
    }

    /// The Status object.
    pub fn to_value(&self) -> Value {
        let mut status = Map::new();
        let mut metadata = Map::new();
        if let Some(token) = &self.continue_token {
            metadata.insert("continue".into(), json!(token));
        }
        status.insert("kind".into(), json!("Status"));
        status.insert("apiVersion".into(), json!("v1"));
        status.insert("metadata".into(), Value::Object(metadata));
        status.insert("status".into(), json!("Failure"));
        status.insert("message".into(), json!(self.message));
        if !self.reason.is_empty() {
            status.insert("reason".into(), json!(self.reason));
        }
        if let Some(details) = &self.details {
            status.insert("details".into(), details.clone());
        }
        status.insert("code".into(), json!(self.code));
        Value::Object(status)
    }
}

fn cause(error: &FieldError) -> Value {
    json!({ "reason": reason_name(error.reason), "message": error.message, "field": error.path })
}

fn reason_name(reason: FieldErrorReason) -> &'static str {
    match reason {
        FieldErrorReason::FieldValueNotFound => "FieldValueNotFound",
        FieldErrorReason::FieldValueRequired => "FieldValueRequired",
        FieldErrorReason::FieldValueDuplicate => "FieldValueDuplicate",
        FieldErrorReason::FieldValueInvalid => "FieldValueInvalid",
        FieldErrorReason::FieldValueNotSupported => "FieldValueNotSupported",
        FieldErrorReason::FieldValueForbidden => "FieldValueForbidden",
        FieldErrorReason::FieldValueTooLong => "FieldValueTooLong",
        FieldErrorReason::FieldValueTooMany => "FieldValueTooMany",
        FieldErrorReason::FieldValueTypeInvalid => "FieldValueTypeInvalid",
        FieldErrorReason::InternalError => "InternalError",
    }
}

impl FieldError {
    /// `Invalid value: …`.
    pub(crate) fn invalid(path: impl Into<String>, value: &Value, why: &str) -> Self {
        Self::with(FieldErrorReason::FieldValueInvalid, path, format!("Invalid value: {value}: {why}"))
    }

    /// `Required value: …`.
    pub(crate) fn required(path: impl Into<String>, why: &str) -> Self {
        let why = if why.is_empty() { String::new() } else { format!(": {why}") };
        Self::with(FieldErrorReason::FieldValueRequired, path, format!("Required value{why}"))
    }

    /// `Forbidden: …`.
    pub(crate) fn forbidden(path: impl Into<String>, why: &str) -> Self {
        Self::with(FieldErrorReason::FieldValueForbidden, path, format!("Forbidden: {why}"))
    }

    /// `Unsupported value: …`.
    pub(crate) fn unsupported(path: impl Into<String>, value: &Value, supported: &[&str]) -> Self {
        let list: Vec<String> = supported.iter().map(|value| format!("\"{value}\"")).collect();
        let message = format!("Unsupported value: {value}: supported values: {}", list.join(", "));
        Self::with(FieldErrorReason::FieldValueNotSupported, path, message)
    }

    fn with(reason: FieldErrorReason, path: impl Into<String>, message: String) -> Self {
        Self { path: path.into(), reason, message }
    }
}

/// A resource or kind with its group, as it appears in messages: `deployments.apps`.
#[derive(Clone, Copy, Debug)]
pub struct ResourceName<'a> {
    /// API group; empty for the core group.
    pub group: &'a str,
    /// Plural resource name, or the kind where the server prints kinds.
    pub resource: &'a str,
}

impl ResourceName<'_> {
    fn details(&self, name: &str) -> Value {
        let mut details = json!({ "kind": self.resource, "name": name });
        if !self.group.is_empty() {
            details["group"] = json!(self.group);
        }
        details
    }
}

impl std::fmt::Display for ResourceName<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.group {
            "" => f.write_str(self.resource),
            group => write!(f, "{}.{group}", self.resource),
        }
    }
}
