//! Whether the process is alive and ready, as its parts tell: pure bookkeeping, asked by the probes of the kubelet.
//!
//! *Ready* is a leader whose watches have listed everything once, and a standby that waits for its turn. *Alive* is
//! everything but a leader whose loop does not turn, or whose watches fail again and again while its Lease is renewed all
//! along: the hub answers then, and only a fresh process helps. A hub that is down is no reason to die: a leader loses its
//! Lease over it and is a standby.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// How often the loop of a leader shows that it turns, at least.
pub const BEAT: Duration = Duration::from_secs(15);
/// How long a leader may make no progress.
pub const PATIENCE: Duration = Duration::from_secs(300);
/// Failures of a watch further apart than this are not one trouble: it worked in between. More than the longest time
/// between two attempts, a deadline included.
const LULL: Duration = Duration::from_secs(90);

/// See the module. A cheap handle; a new one is starting.
#[derive(Clone, Debug, Default)]
pub struct Health(Arc<Mutex<State>>);

#[derive(Debug, Default)]
enum State {
    /// The hub has not answered yet.
    #[default]
    Starting,
    /// Another replica leads.
    Standby,
    /// This one does.
    Leading(Leading),
    /// The process was told to end.
    Stopping,
}

#[derive(Debug)]
struct Leading {
    beat: Instant,
    watches: BTreeMap<&'static str, Watch>,
}

#[derive(Debug, Default)]
struct Watch {
    synced: bool,
    /// First and last of the failures that are one trouble.
    trouble: Option<(Instant, Instant)>,
}

/// What is wrong, for whoever reads the answer of a probe.
pub type Complaint = String;

impl Health {
    /// The hub can be used; whether this replica leads is to be seen.
    pub fn stand_by(&self) {
        self.pass_to(State::Standby);
    }

    /// This replica leads from `now` on, with these watches, until the value is dropped.
    #[must_use]
    pub fn lead(&self, watches: &[&'static str], now: Instant) -> Term {
        let watches = watches.iter().map(|name| (*name, Watch::default())).collect();
        self.pass_to(State::Leading(Leading { beat: now, watches }));
        Term(self.clone())
    }

    /// The process ends.
    pub fn stop(&self) {
        self.pass_to(State::Stopping);
    }

    /// The loop turns.
    pub fn beat(&self, now: Instant) {
        self.leading(|leading| leading.beat = now);
    }

    /// A watch has told everything there is. Returns whether that is the last one of a term.
    pub fn synced(&self, watch: &'static str) -> bool {
        let mut last = false;
        self.leading(|leading| {
            let new = !std::mem::replace(&mut leading.watches.entry(watch).or_default().synced, true);
            last = new && leading.watches.values().all(|watch| watch.synced);
        });
        last
    }

    /// A watch works.
    pub fn heard(&self, watch: &'static str) {
        self.leading(|leading| leading.watches.entry(watch).or_default().trouble = None);
    }

    /// A watch failed.
    pub fn failed(&self, watch: &'static str, now: Instant) {
        self.leading(|leading| {
            let trouble = &mut leading.watches.entry(watch).or_default().trouble;
            let first =
                trouble.filter(|(_, last)| now.duration_since(*last) < LULL).map_or(now, |(first, _)| first);
            *trouble = Some((first, now));
        });
    }

    /// Whether requests for service are welcome.
    ///
    /// # Errors
    /// Why not.
    pub fn readiness(&self) -> Result<(), Complaint> {
        match &*self.0.lock() {
            State::Starting => Err("the hub has not answered yet".into()),
            State::Standby => Ok(()),
            State::Stopping => Err("stopping".into()),
            State::Leading(leading) => {
                let waits: Vec<_> = leading.watches.iter().filter(|(_, watch)| !watch.synced).collect();
                match waits.is_empty() {
                    true => Ok(()),
                    false => {
                        let names: Vec<_> = waits.into_iter().map(|(name, _)| *name).collect();
                        Err(format!("not listed yet: {}", names.join(", ")))
                    }
                }
            }
        }
    }

    /// Whether the process should go on living.
    ///
    /// # Errors
    /// Why not.
    pub fn liveness(&self, now: Instant) -> Result<(), Complaint> {
        let state = self.0.lock();
        let State::Leading(leading) = &*state else { return Ok(()) };
        let still = now.duration_since(leading.beat);
        if still > PATIENCE {
            return Err(format!("the loop has not turned for {} s", still.as_secs()));
        }
        for (name, watch) in &leading.watches {
            if let Some((first, last)) = watch.trouble
                && now.duration_since(last) < LULL
                && last.duration_since(first) > PATIENCE
            {
                let seconds = now.duration_since(first).as_secs();
                return Err(format!("the watch of {name} has been failing for {seconds} s"));
            }
        }
        Ok(())
    }

    /// Nothing comes after the end.
    fn pass_to(&self, next: State) {
        let mut state = self.0.lock();
        if !matches!(*state, State::Stopping) {
            *state = next;
        }
    }

    fn leading(&self, change: impl FnOnce(&mut Leading)) {
        if let State::Leading(leading) = &mut *self.0.lock() {
            change(leading);
        }
    }
}

/// The time for which a replica leads.
#[derive(Debug)]
pub struct Term(Health);

impl Drop for Term {
    fn drop(&mut self) {
        self.0.stand_by();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn a_leader_is_ready_once_every_watch_has_listed_everything() {
        let health = Health::default();
        assert!(health.readiness().is_err());
        health.stand_by();
        assert_eq!(health.readiness(), Ok(()));
        let term = health.lead(&["a", "b"], Instant::now());
        health.synced("a");
        assert_eq!(health.readiness(), Err("not listed yet: b".into()));
        health.synced("b");
        assert_eq!(health.readiness(), Ok(()));
        drop(term);
        assert_eq!(health.readiness(), Ok(()));
        let _term = health.lead(&["a", "b"], Instant::now());
        assert!(health.readiness().is_err(), "a second term begins with lists of its own");
    }

    #[tokio::test(start_paused = true)]
    async fn a_process_that_ends_is_alive_and_never_ready_again() {
        let health = Health::default();
        let term = health.lead(&[], Instant::now());
        health.stop();
        drop(term);
        assert!(health.readiness().is_err());
        assert_eq!(health.liveness(Instant::now() + 9 * PATIENCE), Ok(()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_loop_that_stands_still_is_dead_after_five_minutes() {
        let (health, now) = (Health::default(), Instant::now());
        let term = health.lead(&[], now);
        assert_eq!(health.liveness(now + PATIENCE), Ok(()));
        assert!(health.liveness(now + PATIENCE + SECOND).is_err());
        health.beat(now + PATIENCE);
        assert_eq!(health.liveness(now + PATIENCE + SECOND), Ok(()));
        drop(term);
        assert_eq!(health.liveness(now + 9 * PATIENCE), Ok(()), "a standby has no loop");
    }

    #[tokio::test(start_paused = true)]
    async fn br53_a_watch_that_fails_again_and_again_is_death_but_not_if_it_works_in_between() {
        let (health, mut now) = (Health::default(), Instant::now());
        let _term = health.lead(&["a"], now);
        let mut fail = |health: &Health, times: u32, apart: Duration| {
            for _ in 0..times {
                now += apart;
                health.beat(now);
                health.failed("a", now);
            }
            health.liveness(now)
        };
        assert_eq!(fail(&health, 10, 30 * SECOND), Ok(()), "four and a half minutes");
        assert!(fail(&health, 2, 30 * SECOND).is_err());
        health.heard("a");
        assert_eq!(fail(&health, 1, SECOND), Ok(()));
        // A watch that ends every few minutes, and works without a word in between.
        assert_eq!(fail(&health, 20, 2 * LULL), Ok(()));
    }
}
