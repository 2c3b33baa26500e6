//! `SHA256SUMS`: which files a data root holds, with the digest of each, as the program `sha256sum` writes and reads it.

use std::collections::BTreeMap;
use std::fmt::Write;

pub(super) use crate::process::fetch::sha256 as digest;

/// Name of the file in a data root, and on a mirror of one.
pub(super) const NAME: &str = "SHA256SUMS";

/// Digests in lower-case hexadecimal by path, which is relative to the data root.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Sums(pub(super) BTreeMap<String, String>);

/// Why a list of digests cannot be used. Lines count from 1.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum SumsError {
    /// It is not text.
    #[error("it is not text in UTF-8")]
    NotText,
    /// A line is neither empty nor `DIGEST  PATH`.
    #[error("line {0} is not a SHA-256 digest, two spaces and a path")]
    Line(usize),
    /// A path leads out of the data root, or holds characters that no release has.
    #[error("line {line}: {path:?} is not a plain path below the data root")]
    Path {
        /// Where.
        line: usize,
        /// What it says.
        path: String,
    },
    /// A path has two digests.
    #[error("line {line}: {path} is listed twice")]
    Twice {
        /// Where.
        line: usize,
        /// What it says.
        path: String,
    },
}

impl Sums {
    /// Reads the file.
    ///
    /// # Errors
    /// [`SumsError`] for the first line that is wrong.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, SumsError> {
        let text = std::str::from_utf8(bytes).map_err(|_| SumsError::NotText)?;
        let mut sums = BTreeMap::new();
        for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let line_number = at + 1;
            let (digest, path) = line.split_once([' ', '\t']).ok_or(SumsError::Line(line_number))?;
            if digest.len() != 64 || !digest.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                return Err(SumsError::Line(line_number));
            }
            // `*` marks binary mode; `find` writes `./`.
            let path = path.trim().trim_start_matches('*');
            let path = path.strip_prefix("./").unwrap_or(path).to_owned();
            if !is_plain(&path) {
                return Err(SumsError::Path { line: line_number, path });
            }
            if sums.insert(path.clone(), digest.to_ascii_lowercase()).is_some() {
                return Err(SumsError::Twice { line: line_number, path });
            }
        }
        Ok(Self(sums))
    }

    /// The file's content.
    pub(super) fn format(&self) -> String {
        self.0.iter().fold(String::new(), |mut text, (path, digest)| {
            let _ = writeln!(text, "{digest}  {path}");
            text
        })
    }
}

/// Whether a path stays below the data root whatever the system, and needs no quoting in a URL.
fn is_plain(path: &str) -> bool {
    path.split('/').all(|part| {
        !part.is_empty()
            && !part.starts_with('.')
            && part
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-' | b'+'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(path: &str) -> String {
        format!("{}  {path}\n", digest(b"x"))
    }

    #[test]
    fn what_sha256sum_writes_is_read_and_written_back() {
        let text = line("knative-serving/1.23.0/1-crds.yaml") + &line("knative-serving/1.23.0/2-core.yaml");
        let sums = Sums::parse(text.as_bytes()).unwrap();
        assert_eq!(sums.format(), text);
        assert_eq!(Sums::parse(text.replace("  knative", " *./knative").as_bytes()), Ok(sums));
        assert_eq!(digest(b""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    }

    #[test]
    fn no_line_leads_out_of_the_data_root() {
        for path in
            ["../a", "/etc/passwd", "a/../../b", "a//b", "a\\b", "a/.git", "a b", "a/%2e%2e/b", "", "a/"]
        {
            let wrong = Sums::parse(line(path).as_bytes());
            assert!(matches!(wrong, Err(SumsError::Path { line: 1, .. })), "{path:?}: {wrong:?}");
        }
    }

    #[test]
    fn every_other_line_is_refused_by_its_number() {
        assert_eq!(Sums::parse(b"\n\nno digest\n"), Err(SumsError::Line(3)));
        assert_eq!(Sums::parse(b"abc  a.yaml\n"), Err(SumsError::Line(1)));
        assert_eq!(Sums::parse(b"\xff"), Err(SumsError::NotText));
        let twice = line("a.yaml") + &line("./a.yaml");
        assert_eq!(Sums::parse(twice.as_bytes()), Err(SumsError::Twice { line: 2, path: "a.yaml".into() }));
    }
}
