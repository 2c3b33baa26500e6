//! One fault at one request: the `n`th that the operator sends from some moment on, whatever it is.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde::Serialize;
use tokio::task::AbortHandle;

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

    /// Whether it can be dealt to a request: only reads get stale, and the hub's token has no plugin to renew it.
    pub fn fits(self, site: &str, method: &str, path: &str) -> bool {
        match self {
            Self::StaleRead => method == "GET" && !path.contains("watch="),
            Self::TokenDies => site != "hub",
            _ => true,
        }
    }
}

/// A cheap handle on the one strike of a world.
#[derive(Clone, Default)]
pub struct Strike {
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    /// Requests until the blow, and which.
    armed: Option<(usize, Blow)>,
    landed: bool,
    victim: Option<AbortHandle>,
    crashed: bool,
}

impl Strike {
    /// From now on the `at`th request, counted from 0, gets the blow.
    pub fn arm(&self, at: usize, blow: Blow) {
        let mut state = self.state.lock();
        state.armed = Some((at, blow));
        state.landed = false;
    }

    /// Whether the blow has landed.
    pub fn landed(&self) -> bool {
        self.state.lock().landed
    }

    /// Who dies in a crash.
    pub fn set_victim(&self, operator: AbortHandle) {
        self.state.lock().victim = Some(operator);
    }

    /// Whether the operator has crashed since the last call.
    pub fn take_crash(&self) -> bool {
        std::mem::take(&mut self.state.lock().crashed)
    }

    /// Counts a request; the blow if it is its turn.
    pub fn next(&self, _letter: &Letter) -> Option<Blow> {
        let mut state = self.state.lock();
        let (left, blow) = state.armed?;
        if left > 0 {
            state.armed = Some((left - 1, blow));
            return None;
        }
        state.armed = None;
        state.landed = true;
        Some(blow)
    }

    /// The operator dies where it stands.
    pub fn crash(&self) {
        let mut state = self.state.lock();
        state.crashed = true;
        if let Some(victim) = state.victim.take() {
            victim.abort();
        }
    }
}
