//! The simulated wall clock: a fixed epoch plus the time that tokio says has passed.
//!
//! With a paused tokio clock nothing here moves unless the test moves it. It never reads the operating
//! system's clock itself.

use jiff::Timestamp;
use tokio::time::Instant;

/// Tells the time of one cluster.
#[derive(Clone, Debug)]
pub struct Clock {
    epoch: Timestamp,
    origin: Instant,
}

impl Clock {
    /// A clock that shows `epoch` now.
    pub fn starting_at(epoch: Timestamp) -> Self {
        Self { epoch, origin: Instant::now() }
    }

    /// The current time; saturates at the end of representable time.
    pub fn now(&self) -> Timestamp {
        self.at(Instant::now())
    }

    /// What the clock shows at `instant`.
    pub fn at(&self, instant: Instant) -> Timestamp {
        self.epoch.checked_add(instant.saturating_duration_since(self.origin)).unwrap_or(Timestamp::MAX)
    }

    /// When the clock will show `time`; now if that has passed.
    pub fn instant_of(&self, time: Timestamp) -> Instant {
        let wait = time.duration_since(self.epoch);
        self.origin + std::time::Duration::try_from(wait).unwrap_or_default()
    }
}

/// RFC 3339 in whole seconds, UTC, as `metav1.Time` is written.
pub fn rfc3339(time: Timestamp) -> String {
    format!("{}", time.strftime("%Y-%m-%dT%H:%M:%SZ"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_in_whole_seconds() {
        let time: Timestamp = "2024-05-06T07:08:09.987Z".parse().unwrap();
        assert_eq!(rfc3339(time), "2024-05-06T07:08:09Z");
    }

    #[tokio::test(start_paused = true)]
    async fn the_clock_moves_with_tokio_time_only() {
        let clock = Clock::starting_at("2024-01-01T00:00:00Z".parse().unwrap());
        tokio::time::advance(std::time::Duration::from_secs(90)).await;
        assert_eq!(rfc3339(clock.now()), "2024-01-01T00:01:30Z");
    }
}
