//! The loop: watches on the hub feed the index, the index feeds the queue, the queue feeds reconciles.
//!
//! One loop for both kinds and for production and simulation. Each reconcile is a task of its own, so a panic in one
//! is contained and reported, and dropping the loop stops them all.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::{FutureExt, StreamExt};
use kube::api::{Api, DynamicObject};
use kube::core::{ApiResource, GroupVersionKind};
use kube::runtime::watcher;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until};

use crate::api::ComponentKind;
use crate::index::{Index, Key, Lane};
use crate::manifest::Object;
use crate::queue::Queue;
use crate::reconcile::{Next, Reconciler};
use crate::target::resolve::PROFILE_API;

/// Bounds and pacing of the loop.
#[derive(Clone, Debug)]
pub struct Pacing {
    /// Reconciles at a time.
    pub workers: usize,
    /// Reconciles at a time for one target.
    pub workers_per_target: usize,
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
            backoff_min: Duration::from_millis(500),
            backoff_max: Duration::from_secs(120),
            jitter_seed: 0,
        }
    }
}

/// What a watch tells.
enum Watched {
    Applied(Subject, Box<Object>),
    Deleted(Subject, Box<Object>),
    /// A complete list begins, and ends.
    ListBegins(Subject),
    ListEnds(Subject),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Subject {
    Component(ComponentKind),
    Profile,
}

impl Subject {
    /// `apiVersion`, kind and plural.
    fn resource(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Component(kind) => (kind.api_version(), kind.kind(), kind.plural()),
            Self::Profile => (PROFILE_API, "ClusterProfile", "clusterprofiles"),
        }
    }
}

/// Runs until it is dropped.
pub async fn run(hub: kube::Client, reconciler: Arc<Reconciler>, pacing: Pacing) {
    let (sender, mut watched) = mpsc::channel(1024);
    // Dropped with this future, and the watches with it.
    let mut watches = JoinSet::new();
    for subject in [
        Subject::Component(ComponentKind::Serving),
        Subject::Component(ComponentKind::Eventing),
        Subject::Profile,
    ] {
        watches.spawn(watch(hub.clone(), subject, sender.clone(), pacing.clone()));
    }
    let mut controller = Controller {
        reconciler,
        index: Index::default(),
        queue: Queue::new(pacing.workers_per_target),
        running: JoinSet::new(),
        failures: BTreeMap::new(),
        listing: BTreeMap::new(),
        jitter: ChaCha8Rng::seed_from_u64(pacing.jitter_seed),
        pacing,
    };
    loop {
        controller.start_due();
        let wake = controller.wake_at().unwrap_or_else(far_away);
        tokio::select! {
            // Finished work first: it frees slots.
            biased;
            Some(Ok((key, next))) = controller.running.join_next() => controller.finish(key, next),
            Some(event) = watched.recv() => controller.take_in(event),
            () = sleep_until(wake) => {}
        }
    }
}

fn far_away() -> Instant {
    Instant::now() + Duration::from_secs(24 * 3600)
}

struct Controller {
    reconciler: Arc<Reconciler>,
    index: Index,
    queue: Queue<Key, Lane>,
    running: JoinSet<(Key, Next)>,
    /// Failures in a row.
    failures: BTreeMap<Key, u32>,
    /// Keys seen in a list that has not ended.
    listing: BTreeMap<Subject, BTreeSet<Key>>,
    jitter: ChaCha8Rng,
    pacing: Pacing,
}

impl Controller {
    fn start_due(&mut self) {
        while self.running.len() < self.pacing.workers {
            let Some(key) = self.queue.next(Instant::now()) else { return };
            let (reconciler, peers) = (self.reconciler.clone(), self.index.peers(&key));
            self.running.spawn(async move {
                let pass = AssertUnwindSafe(reconciler.reconcile(&key, &peers)).catch_unwind();
                let next = pass.await.unwrap_or_else(|_| {
                    tracing::error!(object = %key, "a reconcile panicked: this is a bug");
                    Next::Backoff
                });
                (key, next)
            });
        }
    }

    /// When to look at the queue again, if nothing happens before. While every worker is busy nothing can be started,
    /// however long it has been due, so only a worker that finishes matters.
    fn wake_at(&self) -> Option<Instant> {
        self.queue.wake_at().filter(|_| self.running.len() < self.pacing.workers)
    }

    fn finish(&mut self, key: Key, next: Next) {
        self.queue.done(&key);
        let delay = match next {
            Next::Backoff => self.backoff(&key),
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

    fn take_in(&mut self, event: Watched) {
        match event {
            Watched::ListBegins(subject) => drop(self.listing.insert(subject, BTreeSet::new())),
            Watched::ListEnds(Subject::Component(kind)) => {
                let seen = self.listing.remove(&Subject::Component(kind)).unwrap_or_default();
                self.index.retain(kind, |key| seen.contains(key));
            }
            Watched::ListEnds(Subject::Profile) => {}
            Watched::Applied(Subject::Component(kind), object) => {
                let key = key_of(kind, &object);
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
                self.index.delete(&key);
                // Others may have waited for this one to go.
                self.enqueue_kind(kind);
            }
            Watched::Applied(Subject::Profile, object) | Watched::Deleted(Subject::Profile, object) => {
                for key in self.index.users_of(object.namespace(), object.name()) {
                    self.enqueue(key, Duration::ZERO);
                }
            }
        }
    }

    fn enqueue(&mut self, key: Key, delay: Duration) {
        let lane = self.index.lane(&key);
        self.queue.add(key, lane, Instant::now() + delay);
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

/// Follows one kind on the hub for ever. Objects stay untyped, so that one malformed custom resource does not hide
/// the others.
async fn watch(hub: kube::Client, subject: Subject, events: mpsc::Sender<Watched>, pacing: Pacing) {
    let (api_version, kind, plural) = subject.resource();
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let resource = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural);
    let api: Api<DynamicObject> = Api::all_with(hub, &resource);
    let mut stream = pin!(watcher(api, watcher::Config::default()));
    let mut failures = 0;
    while let Some(event) = stream.next().await {
        let message = match event {
            Ok(event) => {
                failures = 0;
                translate(subject, event)
            }
            Err(error) => {
                tracing::debug!(kind, error = &error as &dyn std::error::Error, "watch failed");
                let delay = pacing.backoff_min.saturating_mul(1 << failures).min(pacing.backoff_max / 4);
                failures = (failures + 1).min(16);
                sleep(delay).await;
                None
            }
        };
        if let Some(message) = message
            && events.send(message).await.is_err()
        {
            return;
        }
    }
}

fn translate(subject: Subject, event: watcher::Event<DynamicObject>) -> Option<Watched> {
    let (api_version, kind, _) = subject.resource();
    let object = |object: DynamicObject| {
        let mut value = serde_json::to_value(object).ok()?;
        // Items of a list carry no type of their own.
        value["apiVersion"] = api_version.into();
        value["kind"] = kind.into();
        Object::try_from(value).ok().map(Box::new)
    };
    match event {
        watcher::Event::Init => Some(Watched::ListBegins(subject)),
        watcher::Event::InitDone => Some(Watched::ListEnds(subject)),
        watcher::Event::Apply(found) | watcher::Event::InitApply(found) => {
            Some(Watched::Applied(subject, object(found)?))
        }
        watcher::Event::Delete(found) => Some(Watched::Deleted(subject, object(found)?)),
    }
}
