//! Which requests meet which fault.

use std::time::Duration;

use http::request::Parts;

/// Names a rule on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RuleId(pub(super) u64);

/// When a request matches, something happens to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Which requests.
    pub when: Match,
    /// What happens.
    pub then: Action,
}

/// Which requests a rule is for. Everything that is given must hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Match {
    /// HTTP methods; empty: any.
    pub methods: Vec<http::Method>,
    /// The path without the query, with `*` for any run of characters; none: any.
    pub path: Option<String>,
    /// Watches only, or everything but watches; none: both.
    pub watch: Option<bool>,
    /// How many matching requests pass untouched before the rule begins to act.
    pub after: u64,
    /// On how many requests the rule acts before it is spent; none: no end.
    pub times: Option<u64>,
}

impl Match {
    /// Every request.
    pub fn any() -> Self {
        Self { methods: Vec::new(), path: None, watch: None, after: 0, times: None }
    }

    /// Requests with this method.
    pub fn method(method: http::Method) -> Self {
        Self { methods: vec![method], ..Self::any() }
    }

    /// Requests to these paths (`*` stands for any run of characters).
    #[must_use]
    pub fn path(mut self, glob: &str) -> Self {
        self.path = Some(glob.into());
        self
    }

    /// Only the `n`th matching request, counted from 0.
    #[must_use]
    pub fn nth(mut self, n: u64) -> Self {
        self.after = n;
        self.times = Some(1);
        self
    }

    /// At most this many requests.
    #[must_use]
    pub fn times(mut self, times: u64) -> Self {
        self.times = Some(times);
        self
    }

    pub(super) fn fits(&self, request: &Parts) -> bool {
        let watch = is_watch(request);
        (self.methods.is_empty() || self.methods.contains(&request.method))
            && self.watch.is_none_or(|wanted| wanted == watch)
            && self.path.as_ref().is_none_or(|glob| glob_fits(glob, request.uri.path()))
    }
}

/// What happens to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// The connection is refused; the server sees nothing.
    Refuse,
    /// Nobody ever answers; the server sees nothing.
    BlackHole,
    /// The request arrives later.
    Delay(Duration),
    /// The request takes effect and the answer's headers arrive, but never its body.
    StallBody,
    /// The request takes effect; the answer's body breaks off after this many bytes.
    CutBody {
        /// Bytes that arrive.
        after: usize,
    },
    /// The request takes effect, but the connection breaks instead of the answer.
    LoseResponse,
    /// Somebody on the way answers with a Kubernetes `Status`; the server sees nothing.
    Status {
        /// HTTP status code.
        code: u16,
        /// Machine-readable reason, for instance `TooManyRequests`.
        reason: String,
        /// Text for people.
        message: String,
        /// Seconds in a `Retry-After` header.
        retry_after: Option<u32>,
    },
}

impl Action {
    /// A `Status` answer without further detail.
    pub fn status(code: u16, reason: &str) -> Self {
        Self::Status { code, reason: reason.into(), message: format!("injected {reason}"), retry_after: None }
    }
}

pub(super) fn is_watch(request: &Parts) -> bool {
    let query = request.uri.query().unwrap_or_default();
    query.split('&').any(|pair| matches!(pair, "watch=true" | "watch=1" | "watch"))
}

/// Whether `*` in the glob can stand for something so that it is the text.
fn glob_fits(glob: &str, text: &str) -> bool {
    let mut parts = glob.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let mut last = None;
    for part in parts {
        if let Some(previous) = last.replace(part) {
            // Leftmost is enough: what follows can only use more of the text.
            let Some(at) = rest.find(previous) else { return false };
            rest = &rest[at + previous.len()..];
        }
    }
    last.map_or(rest.is_empty(), |last: &str| rest.ends_with(last))
}
