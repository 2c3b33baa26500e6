//! When to stop asking a cluster that does not answer, and when to ask again.
//!
//! [`Breaker`] decides, and is pure: time and chance come in. [`Gate`] holds one at the door of a cluster and remembers
//! what was last heard from there.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use parking_lot::Mutex;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use sha2::{Digest, Sha256};
use tokio::time::Instant;

use super::cluster::Failure;
use crate::api::message::chain;
use crate::clock::Clock;
use crate::lead::Deposed;
use crate::metrics::{ClusterState, Metrics};

/// Failures in a row after which a cluster is left alone.
const TOLERANCE: u32 = 3;
/// For how long, at first; twice as long each time, up to [`PAUSE_MAX`]. Chance adds up to a quarter.
const PAUSE_MIN: Duration = Duration::from_secs(5);
/// See [`PAUSE_MIN`].
const PAUSE_MAX: Duration = Duration::from_secs(60);
/// How long one request is waited for that finds out whether the cluster answers again. Whoever sent it may be gone.
const PROBE: Duration = Duration::from_secs(15);

/// A circuit breaker: closed (everything passes), open (nothing does), or probing (one request finds out).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Breaker(State);

#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    Closed { failures: u32 },
    Open { until: Instant, pause: Duration },
    Probing { until: Instant, pause: Duration },
}

impl Default for Breaker {
    fn default() -> Self {
        Self(State::Closed { failures: 0 })
    }
}

impl Breaker {
    /// Whether a request may be sent now.
    ///
    /// # Errors
    /// How long to wait before asking again.
    pub fn admit(&mut self, now: Instant) -> Result<(), Duration> {
        match self.0 {
            State::Closed { .. } => Ok(()),
            State::Open { until, .. } | State::Probing { until, .. } if now < until => Err(until - now),
            State::Open { pause, .. } | State::Probing { pause, .. } => {
                self.0 = State::Probing { until: now + PROBE, pause };
                Ok(())
            }
        }
    }

    /// The cluster has answered, whatever it said.
    pub fn answered(&mut self) {
        self.0 = State::Closed { failures: 0 };
    }

    /// The cluster has not answered. `chance` is from 0 to 1.
    pub fn failed(&mut self, now: Instant, chance: f64) {
        let pause = match self.0 {
            State::Closed { failures } if failures + 1 < TOLERANCE => {
                self.0 = State::Closed { failures: failures + 1 };
                return;
            }
            State::Closed { .. } => PAUSE_MIN,
            // Sent before it opened.
            State::Open { .. } => return,
            State::Probing { pause, .. } => (pause * 2).min(PAUSE_MAX),
        };
        self.0 = State::Open { until: now + pause + pause.mul_f64(chance / 4.0), pause };
    }

    /// How long nothing will pass from now on.
    pub fn pause(&self, now: Instant) -> Option<Duration> {
        match self.0 {
            State::Closed { .. } => None,
            State::Open { until, .. } | State::Probing { until, .. } => {
                Some(until.saturating_duration_since(now))
            }
        }
    }

    /// For metrics.
    pub fn state(&self) -> ClusterState {
        match self.0 {
            State::Closed { failures: 0 } => ClusterState::Answering,
            State::Closed { .. } => ClusterState::Failing,
            State::Open { .. } | State::Probing { .. } => ClusterState::Suspended,
        }
    }
}

/// The door of one cluster. Clones are handles of the same one.
#[derive(Clone)]
pub struct Gate(Arc<Inner>);

struct Inner {
    cluster: String,
    clock: Arc<dyn Clock>,
    metrics: Metrics,
    door: Mutex<Door>,
}

struct Door {
    breaker: Breaker,
    chance: ChaCha8Rng,
    /// What went wrong the last time.
    because: String,
    last_answer: Option<Timestamp>,
}

impl Gate {
    /// An open door. Gates of different clusters draw different chances from one `seed`.
    pub fn new(cluster: &str, seed: u64, clock: Arc<dyn Clock>, metrics: Metrics) -> Self {
        let digest: [u8; 32] =
            Sha256::new().chain_update(seed.to_le_bytes()).chain_update(cluster).finalize().into();
        let door = Door {
            breaker: Breaker::default(),
            chance: ChaCha8Rng::from_seed(digest),
            because: String::new(),
            last_answer: None,
        };
        Self(Arc::new(Inner { cluster: cluster.into(), clock, metrics, door: Mutex::new(door) }))
    }

    /// Whether a request may be sent now.
    ///
    /// # Errors
    /// [`Failure::Suspended`], in the words of the last failure.
    pub fn admit(&self) -> Result<(), Failure> {
        let mut door = self.0.door.lock();
        door.breaker.admit(Instant::now()).map_err(|_| Failure::Suspended(door.because.clone()))
    }

    /// Takes note of what became of a request.
    pub fn note(&self, failure: Option<&Failure>) {
        let mut door = self.0.door.lock();
        let before = door.breaker.state();
        match failure {
            // It never left this process, and says nothing of the cluster.
            Some(Failure::Credentials(_) | Failure::Suspended(_)) => return,
            Some(Failure::Connection(cause)) if cause.is::<Deposed>() => return,
            Some(failure) if failure.is_unreachable() => {
                let chance = door.chance.random_range(0.0..1.0);
                door.breaker.failed(Instant::now(), chance);
                door.because = chain(failure);
            }
            _ => {
                door.breaker.answered();
                door.last_answer = Some(self.0.clock.now());
            }
        }
        let after = door.breaker.state();
        if before == after && after != ClusterState::Answering {
            return;
        }
        self.0.metrics.set_cluster(&self.0.cluster, Some(after));
        let cluster = &self.0.cluster;
        match (before, after) {
            (ClusterState::Suspended, ClusterState::Answering) => tracing::info!(cluster, "it answers again"),
            (_, ClusterState::Suspended) => {
                tracing::warn!(
                    cluster,
                    error = door.because,
                    "it does not answer and is asked now and then only"
                );
            }
            _ => {}
        }
    }

    /// How long nothing will pass from now on, if nothing does.
    pub fn pause(&self) -> Option<Duration> {
        self.0.door.lock().breaker.pause(Instant::now())
    }

    /// When the cluster last answered, as far as this process knows.
    pub fn last_answer(&self) -> Option<Timestamp> {
        self.0.door.lock().last_answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failing(times: u32, now: Instant) -> Breaker {
        let mut breaker = Breaker::default();
        (0..times).for_each(|_| breaker.failed(now, 0.0));
        breaker
    }

    #[tokio::test(start_paused = true)]
    async fn it_opens_after_three_failures_in_a_row() {
        let now = Instant::now();
        assert_eq!(failing(2, now).admit(now), Ok(()));
        assert_eq!(failing(3, now).admit(now), Err(PAUSE_MIN));
        let mut interrupted = failing(2, now);
        interrupted.answered();
        interrupted.failed(now, 0.0);
        assert_eq!(interrupted.admit(now), Ok(()));
    }

    #[tokio::test(start_paused = true)]
    async fn one_request_finds_out_and_the_others_wait_for_it() {
        let (mut breaker, later) = (failing(3, Instant::now()), Instant::now() + PAUSE_MIN);
        assert_eq!(breaker.admit(later), Ok(()));
        assert!(breaker.admit(later).is_err());
        breaker.answered();
        assert_eq!(breaker.admit(later), Ok(()));
        assert_eq!(breaker.pause(later), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_probe_that_never_ends_does_not_hold_the_door_for_ever() {
        let (mut breaker, later) = (failing(3, Instant::now()), Instant::now() + PAUSE_MIN);
        assert_eq!(breaker.admit(later), Ok(()));
        assert_eq!(breaker.admit(later + PROBE), Ok(()));
    }

    #[tokio::test(start_paused = true)]
    async fn pauses_grow_to_a_minute_and_chance_adds_a_quarter_at_most() {
        let (mut breaker, mut now) = (failing(3, Instant::now()), Instant::now());
        let mut pauses = Vec::new();
        for _ in 0..6 {
            now += breaker.pause(now).unwrap();
            assert_eq!(breaker.admit(now), Ok(()));
            breaker.failed(now, 1.0);
            pauses.push(breaker.pause(now).unwrap().as_millis());
        }
        assert_eq!(pauses, [12_500, 25_000, 50_000, 75_000, 75_000, 75_000]);
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_sent_before_it_opened_changes_nothing_if_it_fails_and_closes_it_if_it_is_answered() {
        let now = Instant::now();
        assert_eq!(failing(8, now), failing(3, now));
        let mut breaker = failing(8, now);
        breaker.answered();
        assert_eq!(breaker, Breaker::default());
    }
}
