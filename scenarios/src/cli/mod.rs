//! What the commands share: ranges, progress bars, real time, reports for machines.

pub(crate) mod fleet;
pub(crate) mod mutants;
pub(crate) mod search;
pub(crate) mod sweep;

use std::path::Path;

use anyhow::Context;
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

/// What was asked for does not exist: one line, and status 2.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Usage(pub(crate) String);

/// `A..B` without B.
pub(crate) fn seeds(text: &str) -> Result<std::ops::Range<u64>, String> {
    let parse = |part: &str| part.parse::<u64>().map_err(|error| format!("{part:?}: {error}"));
    let (from, to) = text.split_once("..").ok_or("expected A..B")?;
    let range = parse(from)?..parse(to)?;
    if range.is_empty() { Err("the range is empty".into()) } else { Ok(range) }
}

/// A bar that counts to `length`; nothing is drawn where there is no terminal.
pub(crate) fn progress(length: u64, what: &str) -> ProgressBar {
    let bar = ProgressBar::new(length);
    let template = format!("{{bar:40}} {{pos}}/{{len}} {what}, {{per_sec}}, {{eta}} left {{msg}}");
    if let Ok(style) = ProgressStyle::with_template(&template) {
        bar.set_style(style);
    }
    bar
}

/// The clock on the wall, which tokio's is not inside a world.
#[expect(clippy::disallowed_methods, reason = "how long a command takes a person who watches is real time")]
pub(crate) fn real_time() -> std::time::Instant {
    std::time::Instant::now()
}

/// Worlds to play at a time.
pub(crate) fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Writes a report for machines.
pub(crate) fn write_json(path: Option<&Path>, report: &impl Serialize) -> anyhow::Result<()> {
    let Some(path) = path else { return Ok(()) };
    let text = serde_json::to_string_pretty(report).context("a report is plain data")?;
    std::fs::write(path, text + "\n").with_context(|| format!("cannot write {}", path.display()))
}
