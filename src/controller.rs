//! The loop: watches on the hub feed the index, the index feeds the queue, the queue feeds reconciles.
//!
//! One loop for both kinds and for production and simulation. Each reconcile is a task of its own, so a panic in one
//! is contained and reported, and dropping the loop stops them all. No pass begins before every watch has listed
//! everything once: who else is there decides about sharing clusters, about what may be removed, and about rollouts.

mod watch;

use std::collections::{BTreeMap, BTreeSet};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};
use tracing::Instrument;

use self::watch::{Report, SUBJECTS, Subject, Watched, watch};
use crate::api::ComponentKind;
use crate::health::{self, BEAT, Health};
use crate::index::{Index, Key, Lane};
use crate::manifest::Object;
use crate::metrics::{Metrics, Standing};
use crate::queue::Queue;
use crate::reconcile::{Next, Reconciler};

/// Bounds and pacing of the loop.
#[derive(Clone, Debug)]
pub struct Pacing {
    /// Reconciles at a time.
    pub workers: usize,
    /// Reconciles at a time for one target.
    pub workers_per_target: usize,
    /// Reconciles at a time for targets that did not answer the last time, all together.
    pub workers_for_silent: usize,
    /// First delay after a failure; it doubles with each failure in a row.
    pub backoff_min: Duration,
    /// Longest delay after a failure.
    pub backoff_max: Duration,
    /// Seed of the jitter on delays.
    pub jitter_seed: u64,
}

impl Default for Pacing {
    fn default() -> Self {
        Self {
            workers: 64,
            workers_per_target: 2,
            workers_for_silent: 24,
            backoff_min: Duration::from_millis(500),
            backoff_max: Duration::from_secs(120),
            jitter_seed: 0,
        }
    }
}

/// Words for what becomes of passes.
pub const OUTCOMES: [&str; 5] = ["done", "failed", "unreachable", "conflict", "panicked"];

/// Runs until it is dropped: a term as the leader. `health` hears of it.
pub async fn run(hub: kube::Client, reconciler: Arc<Reconciler>, pacing: Pacing, health: Health) {
    reconciler.begin_term();
    let metrics = reconciler.metrics().clone();
    let _term = Term::begin(&health, &metrics);
    let (sender, mut watched) = mpsc::channel(1024);
    // Dropped with this future, and the watches with it.
    let mut watches = JoinSet::new();
    for subject in SUBJECTS {
        let report = Report { subject, health: health.clone(), metrics: metrics.clone() };
        watches.spawn(watch(hub.clone(), subject, sender.clone(), pacing.clone(), report));
    }
    let mut controller = Controller {
        reconciler,
        index: Index::default(),
        queue: Queue::new(pacing.workers_per_target).with_suspects(pacing.workers_for_silent),
        running: JoinSet::new(),
        failures: BTreeMap::new(),
        listing: BTreeMap::new(),
        listed: BTreeSet::new(),
        jitter: ChaCha8Rng::seed_from_u64(pacing.jitter_seed),
        pacing,
        metrics,
    };
    loop {
        let now = Instant::now();
        health.beat(now);
        controller.start_due();
        // What is due waits for a worker, not for the clock, when there is none.
        let due = controller.queue.wake_at().filter(|_| controller.has_worker());
        let wake = due.map_or(now + BEAT, |due| due.min(now + BEAT));
        tokio::select! {
            // Finished work first: it frees slots.
            biased;
            Some(Ok((key, next, took))) = controller.running.join_next() => controller.finish(key, next, took),
            Some(event) = watched.recv() => controller.take_in(event),
            () = sleep_until(wake) => {}
        }
    }
}

/// The time for which this replica leads, for those who look at it from outside.
struct Term {
    metrics: Metrics,
    _health: health::Term,
}

impl Term {
    fn begin(health: &Health, metrics: &Metrics) -> Self {
        metrics.set_leading(true);
        let kinds = SUBJECTS.map(|subject| subject.resource().1);
        Self { metrics: metrics.clone(), _health: health.lead(&kinds, Instant::now()) }
    }
}

impl Drop for Term {
    fn drop(&mut self) {
        self.metrics.set_leading(false);
        self.metrics.set_queue(0, 0);
        self.metrics.forget_fleet();
    }
}

struct Controller {
    reconciler: Arc<Reconciler>,
    index: Index,
    queue: Queue<Key, Lane>,
    running: JoinSet<(Key, Option<Next>, Duration)>,
    /// Failures in a row.
    failures: BTreeMap<Key, u32>,
    /// Keys seen in a list that has not ended.
    listing: BTreeMap<Subject, BTreeSet<Key>>,
    /// What has been listed once.
    listed: BTreeSet<Subject>,
    jitter: ChaCha8Rng,
    pacing: Pacing,
    metrics: Metrics,
}

impl Controller {
    fn start_due(&mut self) {
        while self.has_worker() {
            let Some(key) = self.queue.next(Instant::now()) else { break };
            let (reconciler, peers) = (self.reconciler.clone(), self.index.peers(&key));
            let labels = self.index.member(&key).map(|member| member.labels.clone()).unwrap_or_default();
            let span = tracing::info_span!("pass", object = %key, cluster = self.index.lane(&key));
            let pass = async move {
                let began = Instant::now();
                let next = AssertUnwindSafe(reconciler.reconcile(&key, labels, &peers)).catch_unwind().await;
                if next.is_err() {
                    tracing::error!("a pass panicked: this is a bug");
                }
                (key, next.ok(), began.elapsed())
            };
            self.running.spawn(pass.instrument(span));
        }
        self.metrics.set_queue(self.queue.len(), self.running.len());
    }

    /// Whether another pass may begin now.
    fn has_worker(&self) -> bool {
        self.listed.len() == SUBJECTS.len() && self.running.len() < self.pacing.workers
    }

    /// A pass is over; without a `next` it panicked.
    fn finish(&mut self, key: Key, next: Option<Next>, took: Duration) {
        let outcome = match next {
            Some(Next::OnChange | Next::After(_)) => "done",
            Some(Next::Backoff) => "failed",
            Some(Next::Unreachable(_)) => "unreachable",
            Some(Next::AtOnce) => "conflict",
            None => "panicked",
        };
        self.metrics.passed(key.kind, outcome, took);
        let next = next.unwrap_or(Next::Backoff);
        let lane = self.queue.done(&key);
        self.judge(lane, matches!(next, Next::Unreachable(_)));
        let delay = match next {
            Next::Backoff | Next::Unreachable(None) => self.backoff(&key),
            Next::Unreachable(Some(pause)) => Some(self.jittered(pause)),
            Next::AtOnce => Some(Duration::ZERO),
            Next::After(delay) => {
                self.failures.remove(&key);
                Some(self.jittered(delay))
            }
            Next::OnChange => {
                self.failures.remove(&key);
                None
            }
        };
        if let Some(delay) = delay.filter(|_| self.index.contains(&key)) {
            self.enqueue(key, delay);
        }
    }

    /// Whether a lane leads to a target that does not answer. When one answers again, everybody may go on.
    fn judge(&mut self, lane: Option<Lane>, silent: bool) {
        let Some(lane) = lane else { return };
        if self.queue.set_suspect(&lane, silent) && !silent {
            for key in self.index.keys_on(&lane) {
                self.enqueue(key, Duration::ZERO);
            }
        }
    }

    fn take_in(&mut self, event: Watched) {
        if let Watched::ListEnds(subject) | Watched::Absent(subject) = event {
            self.listed.insert(subject);
        }
        match event {
            // What was known of the kind stays known: an API that is not served for a moment has lost nothing.
            Watched::Absent(_) => {}
            Watched::ListBegins(subject) => drop(self.listing.insert(subject, BTreeSet::new())),
            Watched::ListEnds(Subject::Component(kind)) => {
                let seen = self.listing.remove(&Subject::Component(kind)).unwrap_or_default();
                for gone in self.index.retain(kind, |key| seen.contains(key)) {
                    self.metrics.set_standing(&gone, None);
                }
            }
            Watched::ListEnds(Subject::Profile) => {}
            Watched::Applied(Subject::Component(kind), object) => {
                let key = key_of(kind, &object);
                self.metrics.set_standing(&key, Some(Standing::of(&object)));
                if let Some(seen) = self.listing.get_mut(&Subject::Component(kind)) {
                    seen.insert(key.clone());
                }
                if self.index.apply(&key, &object) {
                    self.failures.remove(&key);
                    self.enqueue(key, Duration::ZERO);
                }
            }
            Watched::Deleted(Subject::Component(kind), object) => {
                let key = key_of(kind, &object);
                self.failures.remove(&key);
                self.metrics.set_standing(&key, None);
                let lane = self.index.lane(&key);
                self.index.delete(&key);
                if self.index.keys_on(&lane).is_empty() {
                    self.queue.set_suspect(&lane, false);
                }
                // Others may have waited for this one to go.
                self.enqueue_kind(kind);
            }
            Watched::Applied(Subject::Profile, object) => {
                self.index.apply_profile(&object);
                self.enqueue_users(&object);
            }
            Watched::Deleted(Subject::Profile, object) => {
                self.index.delete_profile(&object);
                self.enqueue_users(&object);
            }
        }
    }

    fn enqueue(&mut self, key: Key, delay: Duration) {
        let lane = self.index.lane(&key);
        self.queue.add(key, lane, Instant::now() + delay);
    }

    fn enqueue_users(&mut self, profile: &Object) {
        for key in self.index.users_of(profile.namespace(), profile.name()) {
            self.enqueue(key, Duration::ZERO);
        }
    }

    fn enqueue_kind(&mut self, kind: ComponentKind) {
        for key in self.index.keys(kind) {
            self.enqueue(key, Duration::ZERO);
        }
    }

    fn backoff(&mut self, key: &Key) -> Option<Duration> {
        let failures = self.failures.entry(key.clone()).or_default();
        *failures += 1;
        let doublings = (*failures - 1).min(16);
        let delay = self.pacing.backoff_min.saturating_mul(1 << doublings).min(self.pacing.backoff_max);
        Some(self.jittered(delay))
    }

    /// Up to a tenth longer, so that what failed together is not retried together.
    fn jittered(&mut self, delay: Duration) -> Duration {
        delay + delay.mul_f64(self.jitter.random_range(0.0..0.1))
    }
}

fn key_of(kind: ComponentKind, object: &Object) -> Key {
    Key { kind, namespace: object.namespace().into(), name: object.name().into() }
}
