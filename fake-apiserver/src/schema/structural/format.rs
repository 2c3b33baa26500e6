//! String formats (`k8s.io/kube-openapi/pkg/validation/strfmt`), those that occur in CRDs. Others accept everything.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use base64::Engine as _;

/// Whether `text` is of `format`.
pub(super) fn accepts(format: &str, text: &str) -> bool {
    match format {
        "date-time" | "datetime" => text.contains(['T', 't']) && text.parse::<jiff::Timestamp>().is_ok(),
        "date" => text.len() == 10 && text.parse::<jiff::civil::Date>().is_ok(),
        "duration" => parse_duration(text).is_some(),
        "byte" => base64::engine::general_purpose::STANDARD.decode(text).is_ok(),
        "ipv4" => text.parse::<Ipv4Addr>().is_ok(),
        "ipv6" => text.parse::<Ipv6Addr>().is_ok(),
        "ip" => text.parse::<IpAddr>().is_ok(),
        "cidr" => is_cidr(text),
        "mac" => is_mac(text),
        "uuid" | "uuid3" | "uuid4" | "uuid5" => is_uuid(text),
        "hostname" => is_hostname(text),
        "email" => text.split_once('@').is_some_and(|(user, host)| !user.is_empty() && is_hostname(host)),
        "uri" => text.starts_with('/') || text.split_once(':').is_some_and(|(scheme, _)| is_scheme(scheme)),
        _ => true,
    }
}

/// Reads a duration as Go writes it (`1h30m`), or with words (`3 days`); in nanoseconds.
pub(super) fn parse_duration(text: &str) -> Option<i64> {
    const UNITS: &[(&[&str], f64)] = &[
        (&["ns", "nanosecond", "nanoseconds"], 1.0),
        (&["us", "µs", "microsecond", "microseconds"], 1e3),
        (&["ms", "millisecond", "milliseconds"], 1e6),
        (&["s", "second", "seconds"], 1e9),
        (&["m", "minute", "minutes"], 6e10),
        (&["h", "hour", "hours"], 3.6e12),
        (&["d", "day", "days"], 8.64e13),
        (&["w", "week", "weeks"], 6.048e14),
    ];
    let sign = if text.starts_with('-') { -1.0 } else { 1.0 };
    let mut rest = text.strip_prefix(['-', '+']).unwrap_or(text).trim();
    if rest == "0" {
        return Some(0);
    }
    let mut nanoseconds = None;
    while !rest.is_empty() {
        let (digits, after) = split_at_first(rest, |c| !c.is_ascii_digit() && c != '.');
        let (unit, after) = split_at_first(after.trim_start(), |c| !c.is_alphabetic());
        let (_, size) = UNITS.iter().find(|(names, _)| names.contains(&unit))?;
        let part = digits.parse::<f64>().ok()? * size;
        nanoseconds = Some(nanoseconds.unwrap_or(0.0) + part);
        rest = after.trim_start();
    }
    // Beyond the range of Go's type there is no duration.
    nanoseconds.filter(|total| *total < 9.2e18).map(|total| (sign * total) as i64)
}

fn split_at_first(text: &str, stop: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(stop).unwrap_or(text.len()))
}

fn is_cidr(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else { return false };
    let most = match address.parse::<IpAddr>() {
        Ok(IpAddr::V4(_)) => 32,
        Ok(IpAddr::V6(_)) => 128,
        Err(_) => return false,
    };
    bits.parse::<u8>().is_ok_and(|bits| bits <= most)
}

fn is_mac(text: &str) -> bool {
    let parts: Vec<&str> = text.split([':', '-']).collect();
    matches!(parts.len(), 6 | 8) && parts.iter().all(|part| part.len() == 2 && is_hex(part))
}

fn is_uuid(text: &str) -> bool {
    let hex: String = text.chars().filter(|c| *c != '-').collect();
    hex.len() == 32 && is_hex(&hex)
}

fn is_hex(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn is_hostname(text: &str) -> bool {
    let label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    text.len() <= 255 && text.strip_suffix('.').unwrap_or(text).split('.').all(label)
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
}
