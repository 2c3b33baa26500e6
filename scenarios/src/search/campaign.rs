//! Many seeds, on all cores: each thread plays one world at a time.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

use parking_lot::Mutex;
use serde::Serialize;

use super::kind::Kind;
use super::play::{Outcome, bound, play};
use super::reference::References;
use super::script::Script;
use super::shrink::shrink;
use crate::oracle::Violation;
use crate::seed::Seed;

/// From so many seeds on, every kind of step must have been possible at least once.
pub const FULL: u64 = 100;

/// A script that failed, as short as it gets.
#[derive(Clone, Debug, Serialize)]
pub struct Failure {
    /// The seed.
    pub seed: u64,
    /// What the whole script broke.
    pub violation: Violation,
    /// The steps that are needed.
    pub script: Script,
    /// The command that plays them again.
    pub replay: String,
}

/// What a campaign saw.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    /// Scripts that broke nothing.
    pub passed: u64,
    /// The others, by seed.
    pub failures: Vec<Failure>,
    /// How often each kind of step was possible.
    pub hits: BTreeMap<Kind, u64>,
    /// Kinds that never were.
    pub never: Vec<Kind>,
    /// Simulated time of all worlds, in seconds.
    pub simulated_seconds: u64,
    /// Requests of all operators.
    pub requests: usize,
    /// The longest recovery after the end of all faults, in seconds.
    pub recovery_seconds_max: f64,
    /// What it may take, in seconds.
    pub recovery_seconds_bound: f64,
}

impl Report {
    /// Whether nothing failed, and everything was tried if there were seeds enough for that.
    pub fn is_good(&self) -> bool {
        let full = self.passed + self.failures.len() as u64 >= FULL;
        self.failures.is_empty() && (self.never.is_empty() || !full)
    }
}

/// Plays the scripts of all seeds, each with so many steps, on so many threads. `tell` hears of each.
pub fn run(
    seeds: Range<u64>,
    steps: usize,
    threads: usize,
    references: &References,
    tell: &(dyn Fn(u64, Option<&Violation>) + Sync),
) -> Report {
    let report = Mutex::new(Report::default());
    in_parallel(threads, seeds, |seed| {
        let script = Script::of(Seed(seed), steps);
        let outcome = play(&script, references, None);
        let failure = outcome.verdict.clone().map(|violation| {
            let short = shrink(&script, violation.oracle, references);
            let replay = format!(
                "cargo run --release -p scenarios -- replay {seed} --ops {steps} --keep {}",
                short.numbers()
            );
            Failure { seed, violation, script: short, replay }
        });
        tell(seed, outcome.verdict.as_ref());
        report.lock().take_in(&outcome, failure);
    });
    let mut report = report.into_inner();
    report.failures.sort_by_key(|failure| failure.seed);
    report.never = Kind::ALL.iter().filter(|kind| !report.hits.contains_key(kind)).copied().collect();
    report.recovery_seconds_bound = bound(references).as_secs_f64();
    report
}

impl Report {
    fn take_in(&mut self, outcome: &Outcome, failure: Option<Failure>) {
        self.passed += u64::from(failure.is_none());
        self.failures.extend(failure);
        for (kind, hits) in outcome.hits.iter().filter(|(_, hits)| **hits > 0) {
            *self.hits.entry(*kind).or_default() += hits;
        }
        self.simulated_seconds += outcome.simulated.as_secs();
        self.requests += outcome.requests;
        let recovery = outcome.recovery.unwrap_or(Duration::ZERO).as_secs_f64();
        self.recovery_seconds_max = self.recovery_seconds_max.max(recovery);
    }
}

/// Does something with every item, on several threads, in about their order.
pub fn in_parallel<T: Send>(
    threads: usize,
    items: impl IntoIterator<Item = T, IntoIter: Send>,
    work: impl Fn(T) + Sync,
) {
    let items = Mutex::new(items.into_iter());
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(|| {
                loop {
                    let next = items.lock().next();
                    let Some(item) = next else { return };
                    work(item);
                }
            });
        }
    });
}
