//! A dozen scripts in every test run; long campaigns are `scenarios run`.

use fake_apiserver::FakeApiServer;
use knative_operator::plan::PART_OF_LABEL;
use serde_json::json;

use super::campaign;
use super::play::play;
use super::reference::{References, installed};
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

/// Found by seed 3451, whose last step deletes a namespace.
#[test]
fn what_is_being_deleted_does_not_count_as_installed() {
    let cluster = FakeApiServer::builder().build();
    cluster
        .create(json!({
            "apiVersion": "v1", "kind": "Namespace",
            "metadata": {"name": "knative-serving", "labels": {PART_OF_LABEL: "set"}},
        }))
        .unwrap();
    assert_eq!(installed(&cluster.snapshot()).len(), 1);
    cluster.remove("", "Namespace", "", "knative-serving").unwrap();
    assert!(cluster.get("", "Namespace", "", "knative-serving").is_some(), "its content goes first");
    assert!(installed(&cluster.snapshot()).is_empty());
}
