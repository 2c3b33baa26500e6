//! Durations as people read them: two units at most, fewer the longer it is
//! (`k8s.io/apimachinery/pkg/util/duration`).

use jiff::Timestamp;
use serde_json::Value;

/// How long before `now` an RFC 3339 time is; `<unknown>` without a time.
pub(super) fn since(time: &Value, now: Timestamp) -> String {
    match time.as_str() {
        None | Some("") => "<unknown>".into(),
        Some(text) => text.parse().map_or_else(|_| "<invalid>".into(), |then| between(then, now)),
    }
}

/// The time from `start` to `end`.
pub(super) fn between(start: Timestamp, end: Timestamp) -> String {
    human(end.duration_since(start).as_secs())
}

fn human(seconds: i64) -> String {
    let (minutes, hours, days, years) =
        (seconds / 60, seconds / 3_600, seconds / 86_400, seconds / (365 * 86_400));
    let two = |whole: i64, unit: &str, rest: i64, small: &str| match rest {
        0 => format!("{whole}{unit}"),
        rest => format!("{whole}{unit}{rest}{small}"),
    };
    match seconds {
        ..-1 => "<invalid>".into(),
        -1 => "0s".into(),
        0..120 => format!("{seconds}s"),
        _ if minutes < 10 => two(minutes, "m", seconds % 60, "s"),
        _ if minutes < 180 => format!("{minutes}m"),
        _ if hours < 8 => two(hours, "h", minutes % 60, "m"),
        _ if hours < 48 => format!("{hours}h"),
        _ if days < 8 => two(days, "d", hours % 24, "h"),
        _ if years < 2 => format!("{days}d"),
        _ if years < 8 => two(years, "y", days % 365, "d"),
        _ => format!("{years}y"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longer_the_coarser() {
        const HOUR: i64 = 3_600;
        for (seconds, expected) in [
            (-2, "<invalid>"),
            (-1, "0s"),
            (119, "119s"),
            (120, "2m"),
            (125, "2m5s"),
            (10 * 60 + 1, "10m"),
            (179 * 60, "179m"),
            (3 * HOUR + 60, "3h1m"),
            (9 * HOUR + 60, "9h"),
            (50 * HOUR, "2d2h"),
            (100 * 24 * HOUR, "100d"),
            (3 * 365 * 24 * HOUR, "3y"),
            (3 * 365 * 24 * HOUR + 24 * HOUR, "3y1d"),
            (9 * 365 * 24 * HOUR + 24 * HOUR, "9y"),
        ] {
            assert_eq!(human(seconds), expected, "{seconds}");
        }
    }
}
