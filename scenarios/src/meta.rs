//! Whether the promise holds: the same seed gives the same trace, byte for byte, also in another process.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail, ensure};

use crate::search::play::play;
use crate::search::reference::References;
use crate::search::script::{STEPS, Script};
use crate::seed::Seed;

/// A trace shorter than this means that nothing was simulated.
const LINES_MIN: usize = 200;

/// The trace of the script of a seed.
pub fn trace_of(seed: Seed) -> Vec<String> {
    play(&Script::of(seed, STEPS), &References::default(), None).lines
}

/// Compares each seed's trace with that of a second process, and with that of the seed before.
///
/// # Errors
/// The first broken promise, with the first line that differs.
pub fn check(
    program: &Path,
    seeds: std::ops::Range<u64>,
    mut progress: impl FnMut(u64),
) -> anyhow::Result<()> {
    let mut before: Option<Vec<String>> = None;
    for number in seeds {
        let here = trace_of(Seed(number));
        ensure!(here.len() >= LINES_MIN, "seed {number}: only {} lines, nothing was simulated", here.len());
        let there = Command::new(program).args(["replay", &number.to_string()]).output();
        let there = there.with_context(|| format!("cannot run {}", program.display()))?;
        ensure!(there.status.success(), "seed {number}: the second process failed");
        let there = String::from_utf8(there.stdout).context("a trace is text")?;
        if let Some((line, a, b)) = first_difference(&here, &there) {
            bail!("seed {number}: traces differ at line {line}\n  here:  {a}\n  there: {b}");
        }
        ensure!(before.as_ref() != Some(&here), "seed {number}: another seed has the same trace");
        before = Some(here);
        progress(number);
    }
    Ok(())
}

fn first_difference(here: &[String], there: &str) -> Option<(usize, String, String)> {
    let mut there = there.lines();
    for (number, line) in here.iter().enumerate() {
        let other = there.next().unwrap_or("(end)");
        if line != other {
            return Some((number, line.clone(), other.into()));
        }
    }
    there.next().map(|extra| (here.len(), "(end)".into(), extra.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case;
    use crate::world::Options;

    fn story(options: Options) -> Vec<String> {
        crate::runtime::run(move || async move { case::reference(options).await.lines() })
    }

    #[test]
    fn a_seed_replays_byte_for_byte_with_another_in_between() {
        let first = story(Options::new(Seed(1)));
        let other = story(Options::new(Seed(2)));
        assert_ne!(first, other);
        assert_eq!(first, story(Options::new(Seed(1))));
        assert!(first.len() >= LINES_MIN, "{} lines", first.len());
    }

    #[test]
    fn one_draw_more_changes_the_trace() {
        let perturbed = Options { extra_draws: 1, ..Options::new(Seed(1)) };
        assert_ne!(story(Options::new(Seed(1))), story(perturbed));
    }
}
