//! Runs a target on one input after the other, and tells how to repeat what fails.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::time::Duration;

use tokio::time::Instant;

use crate::source::Source;

/// CPU time from which an iteration counts as hanging, where time is looked at.
const TOO_SLOW: Duration = Duration::from_secs(2);

/// How much is run.
enum Extent {
    Count(u64),
    Time(Duration),
    Only(u64),
}

/// Runs `target`: `count` times, or as long as the environment says.
pub(crate) fn run(name: &str, count: u64, target: impl Fn(&mut Source)) {
    let extent = match (number("FUZZ_SEED"), number("FUZZ_SECONDS")) {
        (Some(seed), _) => Extent::Only(seed),
        (None, Some(seconds)) => Extent::Time(Duration::from_secs(seconds)),
        (None, None) => Extent::Count(count),
    };
    let first = match extent {
        Extent::Only(seed) => seed,
        _ => number("FUZZ_FROM").unwrap_or(0),
    };
    let (started, mut seed) = (Instant::now(), first);
    loop {
        let done = match extent {
            Extent::Count(count) => seed - first >= count,
            Extent::Time(time) => started.elapsed() >= time,
            Extent::Only(_) => seed > first,
        };
        if done {
            break;
        }
        iteration(name, seed, matches!(extent, Extent::Time(_)), &target);
        seed += 1;
    }
    eprintln!("{name}: {} inputs, seeds {first}..{seed}", seed - first);
}

/// Runs the target on one input.
fn iteration(name: &str, seed: u64, timed: bool, target: &impl Fn(&mut Source)) {
    // A stack overflow ends the process: then this file is all that is left.
    let _ = std::fs::write(last_seed(name), seed.to_string());
    let mut source = Source::new(seed);
    let before = cpu_time();
    let outcome = catch_unwind(AssertUnwindSafe(|| target(&mut source)));
    let took = cpu_time().saturating_sub(before);
    let why = match outcome {
        Ok(()) if timed && took > TOO_SLOW => format!("took {took:?} of CPU time"),
        Ok(()) => return,
        Err(panic) => panic
            .downcast_ref::<String>()
            .cloned()
            .or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()))
            .unwrap_or_default(),
    };
    panic!(
        "{why}\n\nInput {seed} of target `{name}`:\n{}\n\nRepeat it with\n    FUZZ_SEED={seed} cargo test -p fake-apiserver --test fuzz {name}\n",
        source.story()
    );
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

fn last_seed(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("fuzz-{name}.seed"))
}

/// CPU time of this thread so far; none where the system does not tell.
fn cpu_time() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    Duration::from_nanos(text.split(' ').next().and_then(|nanos| nanos.parse().ok()).unwrap_or(0))
}
