//! Faults at chosen requests: the `n`th that the operators send from some moment on, whatever it is, and so many after
//! it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde::Serialize;
use tokio::sync::Notify;
use tokio::task::AbortHandle;

use crate::purpose::Purpose;
use crate::wire::Letter;

/// How long a cut link stays cut.
pub const OUTAGE: Duration = Duration::from_secs(30);
/// How long a stalled request takes; the operator gives up before.
pub const STALL: Duration = Duration::from_secs(25);

/// What happens at the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Blow {
    /// The server answers 500 and does nothing.
    ErrorBefore,
    /// The server does it, and answers 504.
    ErrorAfter,
    /// The operator dies before the request arrives.
    CrashBefore,
    /// The operator dies after the request took effect, before the answer.
    CrashAfter,
    /// A read gets the answer that the same read got the last time.
    StaleRead,
    /// The request is held back for longer than the operator waits, and then arrives.
    Stall,
    /// The token of the request is revoked before it arrives.
    TokenDies,
    /// The link breaks for a while.
    LinkCut,
}

impl Blow {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::ErrorBefore,
        Self::ErrorAfter,
        Self::CrashBefore,
        Self::CrashAfter,
        Self::StaleRead,
        Self::Stall,
        Self::TokenDies,
        Self::LinkCut,
    ];

    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::ErrorBefore => "error-before",
            Self::ErrorAfter => "error-after",
            Self::CrashBefore => "crash-before",
            Self::CrashAfter => "crash-after",
            Self::StaleRead => "stale-read",
            Self::Stall => "stall",
            Self::TokenDies => "token-dies",
            Self::LinkCut => "link-cut",
        }
    }

    /// The one with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|blow| blow.name() == name)
    }

    /// Whether it can be dealt to a request: only reads get stale, and the hub's token has no plugin to renew it.
    pub fn fits(self, site: &str, method: &str, path: &str) -> bool {
        match self {
            Self::StaleRead => method == "GET" && !path.contains("watch="),
            Self::TokenDies => site != "hub",
            _ => true,
        }
    }
}

/// A fault, and at which request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Stroke {
    /// Requests to let pass before, counted from the start or from the stroke before this one. One that the fault does
    /// not fit is let pass too.
    pub after: usize,
    /// The fault.
    pub blow: Blow,
}

/// `17:crash-after`.
impl std::fmt::Display for Stroke {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.after, self.blow.name())
    }
}

/// A request as it was counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counted {
    /// `hub` or the spoke's name.
    pub site: String,
    /// HTTP method.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// What it is for.
    pub purpose: Purpose,
}

/// A cheap handle on the strikes of one world.
#[derive(Clone, Default)]
pub struct Strike {
    state: Arc<Mutex<State>>,
    counted: Arc<Notify>,
}

#[derive(Default)]
struct State {
    /// Strokes to come, the next one last.
    armed: Vec<Stroke>,
    /// Requests since the start or since the last stroke.
    passed: usize,
    /// Requests since the start.
    count: usize,
    /// The same one by one, if they are kept.
    log: Option<Vec<Counted>>,
    /// Strokes that have landed, and what the requests were for.
    landed: Vec<(Blow, Purpose)>,
    /// Who dies in a crash, by start.
    victims: BTreeMap<u64, AbortHandle>,
    crashed: BTreeSet<u64>,
}

impl Strike {
    /// Counts requests from now on, and deals these strokes, one after the other.
    pub fn arm(&self, strokes: &[Stroke]) {
        let mut state = self.state.lock();
        state.armed = strokes.iter().rev().copied().collect();
        (state.passed, state.count) = (0, 0);
        state.landed.clear();
    }

    /// Counts requests from now on, and keeps them.
    pub fn record(&self) {
        self.arm(&[]);
        self.state.lock().log = Some(Vec::new());
    }

    /// What was counted since [`Strike::record`].
    pub fn recorded(&self) -> Vec<Counted> {
        self.state.lock().log.clone().unwrap_or_default()
    }

    /// The strokes that have landed, and what the requests were for.
    pub fn landed(&self) -> Vec<(Blow, Purpose)> {
        self.state.lock().landed.clone()
    }

    /// Drops the strokes that have not fallen.
    pub fn disarm(&self) {
        self.state.lock().armed.clear();
    }

    /// Waits until so many requests were counted.
    pub async fn reached(&self, count: usize) {
        loop {
            // Made before looking, so that no request falls between the look and the wait.
            let counted = self.counted.notified();
            if self.state.lock().count >= count {
                return;
            }
            counted.await;
        }
    }

    /// Who dies when a request of this start of an operator meets a crash.
    pub fn set_victim(&self, replica: u64, operator: AbortHandle) {
        self.state.lock().victims.insert(replica, operator);
    }

    /// Whether an operator has crashed and was not taken notice of.
    pub fn has_crashes(&self) -> bool {
        !self.state.lock().crashed.is_empty()
    }

    /// The starts of operators that have crashed since the last call.
    pub fn take_crashes(&self) -> BTreeSet<u64> {
        std::mem::take(&mut self.state.lock().crashed)
    }

    /// Counts a request to a cluster; the blow if it is its turn.
    pub fn next(&self, site: &str, letter: &Letter) -> Option<Blow> {
        let mut state = self.state.lock();
        state.count += 1;
        state.passed += 1;
        self.counted.notify_waiters();
        if let Some(log) = &mut state.log {
            let (method, path) = (letter.parts.method.to_string(), letter.path());
            log.push(Counted { site: site.into(), method, path, purpose: Purpose::of(site, letter) });
        }
        let stroke = *state.armed.last()?;
        let fits = stroke.blow.fits(site, letter.parts.method.as_str(), &letter.path());
        if state.passed <= stroke.after || !fits {
            return None;
        }
        state.armed.pop();
        state.passed = 0;
        state.landed.push((stroke.blow, Purpose::of(site, letter)));
        Some(stroke.blow)
    }

    /// The operator that sent a request dies where it stands.
    pub fn crash(&self, replica: u64) {
        let mut state = self.state.lock();
        if let Some(victim) = state.victims.remove(&replica) {
            state.crashed.insert(replica);
            victim.abort();
        }
    }
}
