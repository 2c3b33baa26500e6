//! Quantities (`k8s.io/apimachinery/pkg/api/resource`): how a server reads `1000m` and writes `1`.

/// What the server says of a text that has not the form of a quantity.
const FORM: &str =
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

/// Which suffixes a quantity was written with, and so is written again.
#[derive(Clone, Copy, PartialEq)]
enum Format {
    Binary,
    Decimal,
    Exponent,
}

/// The canonical form of a quantity.
///
/// # Errors
/// What the server says of a text that is no quantity.
pub(crate) fn canonical(text: &str) -> Result<String, &'static str> {
    let text = text.trim();
    // What is beyond all measure stays as it was written.
    let Some((format, value)) = parse(text)? else { return Ok(text.to_owned()) };
    let sign = if text.starts_with('-') && value.mantissa != 0 { "-" } else { "" };
    Ok(format!("{sign}{}", value.written(format)))
}

/// Format and value, without the sign; `None` when the value is too large.
fn parse(text: &str) -> Result<Option<(Format, Number)>, &'static str> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let digits = unsigned.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(unsigned.len());
    let (number, suffix) = unsigned.split_at(digits);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') || !has_form(suffix) {
        return Err(FORM);
    }
    let (format, base_two, base_ten) = scale(suffix).ok_or("unable to parse quantity's suffix")?;
    let fraction = fraction.trim_end_matches('0');
    let Ok(mantissa) = format!("0{whole}{fraction}").parse::<i128>() else { return Ok(None) };
    let exponent = base_ten - i32::try_from(fraction.len()).unwrap_or(i32::MAX);
    let Some(mantissa) = mantissa.checked_mul(1_i128 << base_two) else { return Ok(None) };
    let mut value = Number { mantissa, exponent };
    value.round_up_to_nano();
    Ok(Some((format, value)))
}

/// The value in billionths, which is as fine as a quantity gets; `None` for what is none, or beyond all measure.
pub(crate) fn nanos(text: &str) -> Option<i128> {
    let (_, value) = parse(text.trim()).ok()??;
    if value.mantissa == 0 {
        return Some(0);
    }
    let power = 10_i128.checked_pow(u32::try_from(value.exponent + 9).ok()?)?;
    let nanos = value.mantissa.checked_mul(power)?;
    Some(if text.trim().starts_with('-') { -nanos } else { nanos })
}

/// A value in billionths as a quantity, written as `like` is.
pub(crate) fn of_nanos(nanos: i128, like: &str) -> String {
    let format = parse(like.trim()).ok().flatten().map_or(Format::Decimal, |(format, _)| format);
    let sign = if nanos < 0 { "-" } else { "" };
    let value = Number { mantissa: nanos.saturating_abs(), exponent: -9 };
    format!("{sign}{}", value.written(format))
}

/// Whether one quantity is greater than another; false if either is none.
pub(crate) fn exceeds(one: &str, other: &str) -> bool {
    matches!((nanos(one), nanos(other)), (Some(one), Some(other)) if one > other)
}

fn has_form(suffix: &str) -> bool {
    let letters = suffix.find(|c: char| !"eEinumkKMGTP".contains(c)).unwrap_or(suffix.len());
    let rest = suffix[letters..].strip_prefix(['+', '-']).unwrap_or(&suffix[letters..]);
    rest.chars().all(|c| c.is_ascii_digit())
}

/// The format of a suffix, and the powers of two and ten it stands for.
fn scale(suffix: &str) -> Option<(Format, u32, i32)> {
    const DECIMAL: [(&str, i32); 10] = [
        ("n", -9),
        ("u", -6),
        ("m", -3),
        ("", 0),
        ("k", 3),
        ("M", 6),
        ("G", 9),
        ("T", 12),
        ("P", 15),
        ("E", 18),
    ];
    const BINARY: [&str; 6] = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
    if let Some((_, power)) = DECIMAL.iter().find(|(name, _)| *name == suffix) {
        return Some((Format::Decimal, 0, *power));
    }
    if let Some((power, _)) = (10..).step_by(10).zip(BINARY).find(|(_, name)| *name == suffix) {
        return Some((Format::Binary, power, 0));
    }
    let exponent = suffix.strip_prefix(['e', 'E'])?.parse::<i32>().ok()?;
    (-1000..=1000).contains(&exponent).then_some((Format::Exponent, 0, exponent))
}

/// `mantissa * 10^exponent`.
struct Number {
    mantissa: i128,
    exponent: i32,
}

impl Number {
    fn round_up_to_nano(&mut self) {
        while self.exponent < -9 && self.mantissa != 0 {
            let rest = self.mantissa % 10;
            self.mantissa = self.mantissa / 10 + i128::from(rest != 0);
            self.exponent += 1;
        }
    }

    /// The value, if it has no fraction and is small enough.
    fn whole(&self) -> Option<i128> {
        let power = 10_i128.checked_pow(self.exponent.unsigned_abs())?;
        if self.exponent >= 0 {
            return self.mantissa.checked_mul(power);
        }
        (self.mantissa % power == 0).then(|| self.mantissa / power)
    }

    fn written(self, format: Format) -> String {
        if self.mantissa == 0 {
            return "0".into();
        }
        match self.whole().filter(|whole| format == Format::Binary && *whole >= 1024) {
            Some(whole) => in_binary(whole),
            None => self.in_decimal(if format == Format::Binary { Format::Decimal } else { format }),
        }
    }

    fn in_decimal(mut self, format: Format) -> String {
        while self.mantissa % 10 == 0 && self.mantissa != 0 {
            self.mantissa /= 10;
            self.exponent += 1;
        }
        // The exponent of a suffix is a multiple of three, and the largest suffix is E.
        let mut rest = self.exponent.rem_euclid(3);
        if format == Format::Decimal && self.exponent > 18 {
            rest = self.exponent - 18;
        }
        let factor = 10_i128.checked_pow(rest.unsigned_abs()).unwrap_or(1);
        let mantissa = self.mantissa.saturating_mul(factor);
        let exponent = self.exponent - rest;
        let suffix = match (format, exponent) {
            (_, 0) => String::new(),
            (Format::Decimal, exponent) => match exponent {
                -9 => "n".into(),
                -6 => "u".into(),
                -3 => "m".into(),
                3 => "k".into(),
                6 => "M".into(),
                9 => "G".into(),
                12 => "T".into(),
                15 => "P".into(),
                _ => "E".into(),
            },
            (_, exponent) => format!("e{exponent}"),
        };
        format!("{mantissa}{suffix}")
    }
}

fn in_binary(mut whole: i128) -> String {
    let mut suffixes = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"].into_iter();
    let mut suffix = suffixes.next().unwrap_or_default();
    while whole % 1024 == 0 {
        let Some(next) = suffixes.next() else { break };
        (whole, suffix) = (whole / 1024, next);
    }
    format!("{whole}{suffix}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_written_in_their_shortest_form() {
        for (given, expected) in [
            ("1000m", "1"),
            ("0.5", "500m"),
            ("1024Mi", "1Gi"),
            ("1.5Gi", "1536Mi"),
            ("1500", "1500"),
            ("2000", "2k"),
            ("0.1Ki", "102400m"),
            ("100Ki", "100Ki"),
            ("1023", "1023"),
            ("0", "0"),
            ("0Gi", "0"),
            ("-2000m", "-2"),
            ("+3", "3"),
            ("1e3", "1e3"),
            ("12e4", "120e3"),
            ("1E", "1E"),
            ("0.0000000001", "1n"),
            (".5", "500m"),
            ("5.", "5"),
        ] {
            assert_eq!(canonical(given).as_deref(), Ok(expected), "{given}");
        }
    }

    #[test]
    fn what_is_no_quantity_is_refused() {
        assert_eq!(canonical(""), Err(FORM));
        assert_eq!(canonical("abc"), Err(FORM));
        assert_eq!(canonical("1x"), Err(FORM));
        assert_eq!(canonical("1Zi"), Err(FORM));
        assert_eq!(canonical("1mm"), Err("unable to parse quantity's suffix"));
    }

    #[test]
    fn quantities_compare_by_value() {
        assert!(exceeds("2", "1") && exceeds("1Gi", "1G") && exceeds("1", "999m"));
        assert!(!exceeds("1000m", "1") && !exceeds("", "1") && !exceeds("-1", "0"));
    }

    #[test]
    fn sums_are_written_like_what_was_added_to() {
        let sum = |one: &str, other: &str| of_nanos(nanos(one).unwrap() + nanos(other).unwrap(), one);
        assert_eq!(sum("100m", "1"), "1100m");
        assert_eq!(sum("1Gi", "1Gi"), "2Gi");
        assert_eq!(sum("1", "1Gi"), "1073741825");
        assert_eq!(of_nanos(-2_000_000_000, "1"), "-2");
        assert_eq!(nanos("1e400"), None);
    }

    proptest::proptest! {
        #[test]
        fn the_canonical_form_of_a_canonical_form_is_itself(text in "[+-]?[0-9]{0,6}[.]?[0-9]{0,4}(Ki|Mi|Gi|m|k|M|e3|)") {
            if let Ok(once) = canonical(&text) {
                proptest::prop_assert_eq!(canonical(&once), Ok(once));
            }
        }
    }
}
