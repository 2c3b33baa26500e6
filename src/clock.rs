//! The seam to wall-clock time.
//!
//! Only timestamps come from here. Everything that waits uses tokio's time, which a simulation pauses.

use jiff::Timestamp;

/// Tells the time of day.
pub trait Clock: Send + Sync + 'static {
    /// Now, in UTC.
    fn now(&self) -> Timestamp;
}

/// The machine's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the machine's clock")]
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
}

/// RFC 3339 in whole seconds, the form of `metav1.Time`.
pub fn rfc3339_secs(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
