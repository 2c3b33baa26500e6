//! A dozen scripts in every test run; long campaigns are `scenarios run`.

use super::campaign;
use super::play::play;
use super::reference::References;
use super::script::Script;
use crate::seed::Seed;

/// Steps in the scripts here.
const SHORT: usize = 10;

#[test]
fn no_oracle_alarms_in_the_scripts_of_a_dozen_seeds() {
    let report = campaign::run(0..12, SHORT, 2, &References::default(), &|_, _| {});
    let failures: Vec<_> = report.failures.iter().map(|f| (f.violation.to_string(), &f.replay)).collect();
    assert!(failures.is_empty(), "{failures:#?}");
    assert_eq!(report.passed, 12);
    assert!(report.recovery_seconds_max <= report.recovery_seconds_bound);
}

#[test]
fn the_same_script_leaves_the_same_trace_byte_for_byte() {
    let references = References::default();
    let script = Script::of(Seed(5), SHORT);
    let first = play(&script, &references, None);
    assert_eq!(first.lines, play(&script, &references, None).lines);
    assert_ne!(first.lines, play(&Script::of(Seed(6), SHORT), &references, None).lines);
}
