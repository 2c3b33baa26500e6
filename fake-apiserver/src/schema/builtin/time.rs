//! Times (`metav1.Time`, `metav1.MicroTime`): read with any offset, written in UTC.

use jiff::Timestamp;

/// The layout that both kinds of time are read by, piece by piece.
const LAYOUT: [&str; 12] = ["2006", "-", "01", "-", "02", "T", "15", ":", "04", ":", "05", "Z07:00"];

/// The canonical form of a time, in seconds or microseconds.
///
/// # Errors
/// What Go says of a text that is no time.
pub(crate) fn canonical(text: &str, micros: bool) -> Result<String, String> {
    let layout = if micros { "2006-01-02T15:04:05.000000Z07:00" } else { "2006-01-02T15:04:05Z07:00" };
    let time =
        in_layout(text, micros).and_then(|()| text.parse::<Timestamp>().map_err(|_| (text.to_owned(), "")));
    let time = time.map_err(|(rest, piece)| {
        let why = if piece.is_empty() {
            "day out of range".to_owned()
        } else {
            format!("cannot parse {rest:?} as {piece:?}")
        };
        match piece {
            "" => format!("parsing time {text:?}: {why}"),
            _ => format!("parsing time {text:?} as {layout:?}: {why}"),
        }
    })?;
    Ok(written(time, micros))
}

/// A time as the server writes it.
pub(crate) fn written(time: Timestamp, micros: bool) -> String {
    let format = if micros { "%Y-%m-%dT%H:%M:%S.%6fZ" } else { "%Y-%m-%dT%H:%M:%SZ" };
    time.strftime(format).to_string()
}

/// Checks the form of a time; tells what was left when a piece did not fit.
fn in_layout(text: &str, micros: bool) -> Result<(), (String, &'static str)> {
    let mut rest = text;
    for piece in LAYOUT {
        let fits = |length: usize| {
            rest.get(..length).is_some_and(|head| head.bytes().all(|byte| byte.is_ascii_digit()))
        };
        let length = match piece {
            "Z07:00" => {
                if micros {
                    let six = |rest: &str| {
                        let digits = rest.strip_prefix('.').and_then(|rest| rest.get(..6));
                        digits.is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))
                    };
                    if !six(rest) {
                        return Err((rest.to_owned(), ".000000"));
                    }
                }
                let fraction = rest.strip_prefix(['.', ',']).map_or(0, |fraction| {
                    1 + fraction.find(|c: char| !c.is_ascii_digit()).unwrap_or(fraction.len())
                });
                rest = &rest[fraction..];
                let offset = rest.len() == 6 && rest.starts_with(['+', '-']);
                if rest == "Z" || offset { Some(rest.len()) } else { None }
            }
            "2006" | "01" | "02" | "15" | "04" | "05" => Some(piece.len()).filter(|length| fits(*length)),
            mark => rest.starts_with(mark).then_some(mark.len()),
        };
        let Some(length) = length else { return Err((rest.to_owned(), piece)) };
        rest = &rest[length..];
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_in_utc() {
        assert_eq!(canonical("2024-02-03T04:05:06+02:00", false).unwrap(), "2024-02-03T02:05:06Z");
        assert_eq!(canonical("2024-02-03T04:05:06.5Z", false).unwrap(), "2024-02-03T04:05:06Z");
        assert_eq!(canonical("2024-02-03T04:05:06.500000Z", true).unwrap(), "2024-02-03T04:05:06.500000Z");
    }

    #[test]
    fn what_is_no_time_is_refused_with_the_piece_that_did_not_fit() {
        let refusal = canonical("tomorrow", false).unwrap_err();
        assert_eq!(
            refusal,
            "parsing time \"tomorrow\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"tomorrow\" as \"2006\""
        );
        let refusal = canonical("2024-02-03T04:05:06.5Z", true).unwrap_err();
        assert!(refusal.ends_with("cannot parse \".5Z\" as \".000000\""), "{refusal}");
        let refusal = canonical("2024-02-03 04:05", false).unwrap_err();
        assert!(refusal.ends_with("cannot parse \" 04:05\" as \"T\""), "{refusal}");
    }
}
