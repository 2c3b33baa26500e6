//! Request options: what `ListOptions`, `DeleteOptions` and the options of writes ask for, and their validation
//! (`k8s.io/apimachinery/pkg/apis/meta/internalversion/validation`).

use serde_json::{Value, json};

use crate::request::Query;
use crate::schema::FieldError;
use crate::selector::{FieldSelector, LabelSelector};
use crate::status::{Answer, Status};

/// Which revision of a collection is wanted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Match {
    NotOlderThan,
    Exact,
}

/// Options of list, watch and deletecollection.
#[derive(Clone, Debug, Default)]
pub(crate) struct ListOptions {
    pub(crate) labels: LabelSelector,
    pub(crate) fields: FieldSelector,
    /// As sent; empty when unset.
    pub(crate) resource_version: String,
    pub(crate) version_match: Option<Match>,
    pub(crate) limit: usize,
    pub(crate) continue_token: String,
    pub(crate) timeout_seconds: Option<u64>,
    pub(crate) bookmarks: bool,
    pub(crate) send_initial_events: Option<bool>,
}

impl ListOptions {
    /// Reads and validates the query of a list (or, with `watch`, of a watch).
    pub(crate) fn parse(query: &Query, watch: bool) -> Answer<Self> {
        let text = |key: &str| query.get(key).unwrap_or_default().to_owned();
        let send_initial_events = query
            .get("sendInitialEvents")
            .filter(|value| !value.is_empty())
            .map(|_| query.flag("sendInitialEvents"));
        let options = Self {
            labels: LabelSelector::parse(&text("labelSelector"))?,
            fields: FieldSelector::parse(&text("fieldSelector"))?,
            resource_version: text("resourceVersion"),
            version_match: match query.get("resourceVersionMatch") {
                Some("Exact") => Some(Match::Exact),
                Some("NotOlderThan") => Some(Match::NotOlderThan),
                _ => None,
            },
            limit: usize::try_from(integer(query, "limit")?.unwrap_or(0)).unwrap_or(0),
            continue_token: text("continue"),
            timeout_seconds: integer(query, "timeoutSeconds")?
                .and_then(|n| u64::try_from(n).ok())
                .filter(|n| *n > 0),
            bookmarks: query.flag("allowWatchBookmarks"),
            send_initial_events,
        };
        let match_text = text("resourceVersionMatch");
        let errors = if watch { options.watch_errors(&match_text) } else { options.list_errors(&match_text) };
        if errors.is_empty() { Ok(options) } else { Err(Status::invalid_options("ListOptions", &errors)) }
    }

    fn list_errors(&self, match_text: &str) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let forbid = |field: &str, why: &str| FieldError::forbidden(field, why);
        if self.send_initial_events.is_some() {
            errors.push(forbid("sendInitialEvents", "sendInitialEvents is forbidden for list"));
        }
        if match_text.is_empty() {
            return errors;
        }
        let field = "resourceVersionMatch";
        if self.resource_version.is_empty() {
            errors
                .push(forbid(field, "resourceVersionMatch is forbidden unless resourceVersion is provided"));
        }
        if !self.continue_token.is_empty() {
            errors.push(forbid(field, "resourceVersionMatch is forbidden when continue is provided"));
        }
        if self.version_match.is_none() {
            errors.push(FieldError::unsupported(field, &json!(match_text), &["Exact", "NotOlderThan", ""]));
        }
        if self.version_match == Some(Match::Exact) && self.resource_version == "0" {
            let why = "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"";
            errors.push(forbid(field, why));
        }
        errors
    }

    fn watch_errors(&self, match_text: &str) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let field = "resourceVersionMatch";
        if self.send_initial_events.is_some() {
            if self.version_match != Some(Match::NotOlderThan) {
                let why = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
                errors.push(FieldError::forbidden(field, why));
                if !match_text.is_empty() {
                    errors.push(FieldError::unsupported(field, &json!(match_text), &["NotOlderThan"]));
                }
            }
        } else if !match_text.is_empty() {
            let why = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
            errors.push(FieldError::forbidden(field, why));
        }
        if !self.continue_token.is_empty() {
            errors.push(FieldError::forbidden("continue", "continue is forbidden for watch"));
        }
        errors
    }
}

fn integer(query: &Query, key: &str) -> Answer<Option<i64>> {
    let Some(text) = query.get(key).filter(|text| !text.is_empty()) else { return Ok(None) };
    let refusal = || Status::bad_request(format!("strconv.ParseInt: parsing \"{text}\": invalid syntax"));
    text.parse().map(Some).map_err(|_| refusal())
}

/// How unknown fields are treated.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) enum FieldValidation {
    Ignore,
    #[default]
    Warn,
    Strict,
}

/// Options of create, update and patch.
#[derive(Clone, Debug, Default)]
pub(crate) struct WriteOptions {
    pub(crate) dry_run: bool,
    pub(crate) field_manager: String,
    pub(crate) field_validation: FieldValidation,
    pub(crate) force: Option<bool>,
}

impl WriteOptions {
    /// Reads and validates the query of a write; `kind` is `CreateOptions`, `UpdateOptions` or `PatchOptions`.
    pub(crate) fn parse(query: &Query, kind: &'static str) -> Answer<Self> {
        let mut errors = Vec::new();
        let dry_run = dry_run(query.all("dryRun"), &mut errors);
        let field_manager = query.get("fieldManager").unwrap_or_default().to_owned();
        if field_manager.len() > 128 {
            errors.push(FieldError {
                path: "fieldManager".into(),
                reason: crate::schema::FieldErrorReason::FieldValueTooLong,
                message: "Too long: may not be more than 128 bytes".into(),
            });
        }
        if let Some((at, odd)) = field_manager.chars().enumerate().find(|(_, c)| c.is_control()) {
            let shown = go_quote(&field_manager);
            let code = u32::from(odd);
            errors.push(FieldError {
                path: "fieldManager".into(),
                reason: crate::schema::FieldErrorReason::FieldValueInvalid,
                message: format!("Invalid value: {shown}: invalid character U+{code:04X} (at position {at})"),
            });
        }
        let field_validation = match query.get("fieldValidation").unwrap_or_default() {
            "Ignore" => FieldValidation::Ignore,
            "Strict" => FieldValidation::Strict,
            "Warn" | "" => FieldValidation::Warn,
            other => {
                let supported = ["", "Ignore", "Strict", "Warn"];
                errors.push(FieldError::unsupported("fieldValidation", &json!(other), &supported));
                FieldValidation::Warn
            }
        };
        let force = query.get("force").map(|_| query.flag("force"));
        if errors.is_empty() {
            Ok(Self { dry_run, field_manager, field_validation, force })
        } else {
            Err(Status::invalid_options(kind, &errors))
        }
    }
}

/// Text as Go quotes it.
fn go_quote(text: &str) -> String {
    let escaped: String = text
        .chars()
        .map(|c| match c {
            '\u{7}' => "\\a".to_owned(),
            '\u{8}' => "\\b".to_owned(),
            '\n' => "\\n".to_owned(),
            '\t' => "\\t".to_owned(),
            '\r' => "\\r".to_owned(),
            c if c.is_control() => format!("\\x{:02x}", u32::from(c)),
            c => c.to_string(),
        })
        .collect();
    format!("\"{escaped}\"")
}

fn dry_run<'a>(values: impl Iterator<Item = &'a str>, errors: &mut Vec<FieldError>) -> bool {
    let values: Vec<&str> = values.filter(|value| !value.is_empty()).collect();
    if values.iter().any(|value| *value != "All") {
        errors.push(FieldError::unsupported("dryRun", &json!(values), &["All"]));
    }
    !values.is_empty()
}

/// What becomes of dependents when an owner is deleted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Propagation {
    /// Dependents are deleted after the owner.
    Background,
    /// The owner stays until its blocking dependents are gone.
    Foreground,
    /// Dependents stay without the owner.
    Orphan,
}

/// Options of delete and deletecollection.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeleteOptions {
    pub(crate) dry_run: bool,
    pub(crate) uid: Option<String>,
    pub(crate) resource_version: Option<String>,
    pub(crate) propagation: Option<Propagation>,
    pub(crate) grace_seconds: Option<i64>,
}

impl DeleteOptions {
    /// Reads the body of a delete (null when there is none) and, where it says nothing, the query.
    pub(crate) fn parse(query: &Query, body: &Value) -> Answer<Self> {
        let mut errors = Vec::new();
        let in_body = body["dryRun"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let dry_run = dry_run(in_body.chain(query.all("dryRun")), &mut errors);
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let policy =
            text(&body["propagationPolicy"]).or_else(|| query.get("propagationPolicy").map(str::to_owned));
        let orphan = body["orphanDependents"].as_bool();
        let propagation = match (policy.as_deref().unwrap_or_default(), orphan) {
            ("", Some(true)) | ("Orphan", _) => Some(Propagation::Orphan),
            ("", Some(false)) | ("Background", _) => Some(Propagation::Background),
            ("Foreground", _) => Some(Propagation::Foreground),
            ("", None) => None,
            (other, _) => {
                let supported = ["Foreground", "Background", "Orphan", "nil"];
                errors.push(FieldError::unsupported("propagationPolicy", &json!(other), &supported));
                None
            }
        };
        if !errors.is_empty() {
            return Err(Status::invalid_options("DeleteOptions", &errors));
        }
        let preconditions = &body["preconditions"];
        Ok(Self {
            dry_run,
            uid: text(&preconditions["uid"]),
            resource_version: text(&preconditions["resourceVersion"]),
            propagation,
            grace_seconds: body["gracePeriodSeconds"].as_i64().or(integer(query, "gracePeriodSeconds")?),
        })
    }
}
