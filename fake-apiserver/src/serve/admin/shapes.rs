//! What the control endpoint understands.

use std::time::Duration;

use serde::Deserialize;

use crate::serve::command::duration;
use crate::{Readiness, fault};

/// A duration as text.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(try_from = "String")]
pub(super) struct Span(Duration);

impl TryFrom<String> for Span {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        duration(&text).map(Self)
    }
}

impl From<Span> for Duration {
    fn from(span: Span) -> Self {
        span.0
    }
}

/// `{"when": {"methods": ["PATCH"], "path": "/api/*", "watch": false, "after": 2, "times": 1}, "then": "loseResponse"}`:
/// which requests (everything given must hold, nothing given means all; the first `after` pass untouched, at most
/// `times` are hit) meet what.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Rule {
    #[serde(default)]
    when: Match,
    then: Action,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Match {
    methods: Vec<String>,
    path: Option<String>,
    watch: Option<bool>,
    after: u64,
    times: Option<u64>,
}

/// `"refuse"`, `"blackHole"`, `{"delay": "2s"}`, `"stallBody"`, `{"cutBody": 100}` (bytes that arrive),
/// `"loseResponse"`, `{"status": {"code": 429, "reason": "TooManyRequests", "message": "…", "retryAfter": 1}}`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
enum Action {
    Refuse,
    BlackHole,
    Delay(Span),
    StallBody,
    CutBody(usize),
    LoseResponse,
    Status { code: u16, reason: String, message: Option<String>, retry_after: Option<u32> },
}

impl TryFrom<Rule> for fault::Rule {
    type Error = String;

    fn try_from(Rule { when, then }: Rule) -> Result<Self, String> {
        let method = |text: &String| http::Method::try_from(text.as_str());
        let methods: Result<Vec<http::Method>, _> = when.methods.iter().map(method).collect();
        let when = fault::Match {
            methods: methods.map_err(|why| why.to_string())?,
            path: when.path,
            watch: when.watch,
            after: when.after,
            times: when.times,
        };
        Ok(Self { when, then: then.try_into()? })
    }
}

impl TryFrom<Action> for fault::Action {
    type Error = String;

    fn try_from(action: Action) -> Result<Self, String> {
        Ok(match action {
            Action::Refuse => Self::Refuse,
            Action::BlackHole => Self::BlackHole,
            Action::Delay(Span(time)) => Self::Delay(time),
            Action::StallBody => Self::StallBody,
            Action::CutBody(after) => Self::CutBody { after },
            Action::LoseResponse => Self::LoseResponse,
            Action::Status { code, reason, message, retry_after } => {
                if !(200..600).contains(&code) {
                    return Err(format!("{code} is no status code of an answer"));
                }
                let message = message.unwrap_or_else(|| format!("injected {reason}"));
                Self::Status { code, reason, message, retry_after }
            }
        })
    }
}

/// `{"name": "web*", "readiness": "never"}`: how workloads and Jobs of these names get ready from now on.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Script {
    pub(super) name: String,
    pub(super) readiness: Course,
}

/// `{"after": "2s"}`, `"never"`, `{"flapping": "1s"}`, `{"failsAfter": "1s"}`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Course {
    After(Span),
    Never,
    Flapping(Span),
    FailsAfter(Span),
}

impl From<Course> for Readiness {
    fn from(course: Course) -> Self {
        match course {
            Course::After(Span(time)) => Self::After(time),
            Course::Never => Self::Never,
            Course::Flapping(Span(period)) => Self::Flapping(period),
            Course::FailsAfter(Span(time)) => Self::FailsAfter(time),
        }
    }
}

/// `{"user": "robot", "groups": ["dev"], "ttl": "10m", "token": "…"}`; only `user` is needed.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TokenRequest {
    pub(super) user: String,
    #[serde(default)]
    pub(super) groups: Vec<String>,
    pub(super) token: Option<String>,
    pub(super) ttl: Option<Span>,
}
