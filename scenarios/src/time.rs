//! Simulated time: tokio's paused clock, with a date.

use jiff::{SignedDuration, Timestamp};
use knative_operator::clock::Clock;
use tokio::time::Instant;

/// When every world begins that does not go on from another: 2030-01-01T00:00:00Z.
pub const BEGINNING: Timestamp = Timestamp::constant(1_893_456_000, 0);

/// The wall clock of a world.
#[derive(Clone, Copy, Debug)]
pub struct SimulatedClock {
    beginning: Timestamp,
    origin: Instant,
}

impl SimulatedClock {
    /// A clock that shows [`BEGINNING`] now.
    pub fn start() -> Self {
        Self::starting_at(BEGINNING)
    }

    /// A clock that shows another date now.
    pub fn starting_at(beginning: Timestamp) -> Self {
        Self { beginning, origin: Instant::now() }
    }

    /// Milliseconds since the beginning.
    pub fn millis(&self) -> u128 {
        self.origin.elapsed().as_millis()
    }
}

impl Clock for SimulatedClock {
    fn now(&self) -> Timestamp {
        let elapsed = SignedDuration::try_from(self.origin.elapsed()).unwrap_or(SignedDuration::MAX);
        self.beginning.saturating_add(elapsed).unwrap_or(Timestamp::MAX)
    }
}
