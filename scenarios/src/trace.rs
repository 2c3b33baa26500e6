//! What happened in a world, line by line.
//!
//! A line is `milliseconds #ordinal text`. The same seed gives the same lines, byte for byte; that is the promise
//! that everything else here rests on, and `meta` holds it to that.

use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;
use sha2::{Digest, Sha256};

use crate::time::SimulatedClock;

/// A cheap handle on the trace of one world.
#[derive(Clone)]
pub struct Trace {
    clock: SimulatedClock,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    lines: Vec<String>,
    requests: Vec<Exchange>,
}

/// One request of the operator and its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// Milliseconds since the beginning.
    pub millis: u128,
    /// `hub` or the spoke's name.
    pub cluster: String,
    /// HTTP method.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// Status code; 0 when no answer came.
    pub code: u16,
}

impl Exchange {
    /// Whether it could change anything.
    pub fn is_write(&self) -> bool {
        self.method != "GET" && !self.path.contains("dryRun=All")
    }
}

impl Trace {
    /// An empty trace.
    pub fn new(clock: SimulatedClock) -> Self {
        Self { clock, state: Arc::default() }
    }

    /// Adds a line.
    pub fn note(&self, text: impl fmt::Display) {
        let mut state = self.state.lock();
        let line = format!("{:>9} #{:<5} {text}", self.clock.millis(), state.lines.len());
        state.lines.push(line);
    }

    /// Adds a finished request, as a line and as data.
    pub fn exchange(&self, cluster: &str, method: &str, path: &str, code: u16, answer: impl fmt::Display) {
        self.note(format_args!("{cluster} <- {method} {path} = {answer}"));
        let exchange = Exchange {
            millis: self.clock.millis(),
            cluster: cluster.into(),
            method: method.into(),
            path: path.into(),
            code,
        };
        self.state.lock().requests.push(exchange);
    }

    /// All lines so far.
    pub fn lines(&self) -> Vec<String> {
        self.state.lock().lines.clone()
    }

    /// Requests so far.
    pub fn len(&self) -> usize {
        self.state.lock().requests.len()
    }

    /// Whether nothing was requested yet.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Requests from the `start`th on.
    pub fn requests_since(&self, start: usize) -> Vec<Exchange> {
        self.state.lock().requests.get(start..).unwrap_or_default().to_vec()
    }

    /// Digest of all lines.
    pub fn digest(&self) -> String {
        let state = self.state.lock();
        let mut hash = Sha256::new();
        for line in &state.lines {
            hash.update(line);
            hash.update("\n");
        }
        hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// The first bytes of the digest of a body, enough to tell two requests apart.
pub fn short_digest(bytes: &[u8]) -> String {
    if bytes.is_empty() {
        return "-".into();
    }
    Sha256::digest(bytes)[..4].iter().map(|byte| format!("{byte:02x}")).collect()
}
