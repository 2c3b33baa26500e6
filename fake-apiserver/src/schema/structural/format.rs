//! String formats (`k8s.io/kube-openapi/pkg/validation/strfmt`), those that occur in CRDs. Others accept everything.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use base64::Engine as _;

/// Whether `text` is of `format`.
pub(super) fn accepts(format: &str, text: &str) -> bool {
    match format {
        "date-time" | "datetime" => text.contains(['T', 't']) && text.parse::<jiff::Timestamp>().is_ok(),
        "date" => text.len() == 10 && text.parse::<jiff::civil::Date>().is_ok(),
        "duration" => is_duration(text),
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

/// A sequence of numbers with units as Go writes it (`1h30m`), or one with a word (`3 days`).
fn is_duration(text: &str) -> bool {
    const UNITS: &[&str] = &["ns", "us", "µs", "ms", "s", "m", "h", "d", "w"];
    const WORDS: &[&str] =
        &["nanosecond", "microsecond", "millisecond", "second", "minute", "hour", "day", "week"];
    let mut rest = text.strip_prefix(['-', '+']).unwrap_or(text).trim();
    if rest == "0" {
        return true;
    }
    let mut parts = 0;
    while !rest.is_empty() {
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.').len();
        if digits == 0 || rest[..digits].parse::<f64>().is_err() {
            return false;
        }
        rest = rest[digits..].trim_start();
        let letters = rest.len() - rest.trim_start_matches(|c: char| c.is_alphabetic()).len();
        let unit = &rest[..letters];
        let word = unit.strip_suffix('s').unwrap_or(unit);
        if !UNITS.contains(&unit) && !WORDS.contains(&word) {
            return false;
        }
        rest = rest[letters..].trim_start();
        parts += 1;
    }
    parts > 0
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
