//! Replays exchanges that were recorded with a real API server and compares what the fake answers.
//!
//! The cases are read from the directory `$CONFORMANCE_CASES`, one JSON file a case; without it nothing is replayed,
//! and the test says so. A case is a sequence of requests ([`case`]) with variables ([`vars`]); [`run`] sends them
//! through the in-process service under simulated time, [`view`] selects what is compared, [`matching`] compares.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test that reports"
)]

mod case;
mod matching;
mod run;
mod vars;
mod view;

use std::collections::BTreeMap;

use fake_apiserver::FakeApiServer;

use case::Case;
use run::Runner;

/// As served by the binary: permissions are enforced, all controllers run.
fn cluster() -> FakeApiServer {
    FakeApiServer::builder().seed(1).rbac(true).epoch("2026-01-01T00:00:00Z".parse().unwrap()).build()
}

/// Runs every case in turn; the failures, and how many of how many passed in each area.
async fn replay(cluster: &FakeApiServer, cases: &[Case], turn: usize) -> Vec<String> {
    let mut areas: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    let mut failures = Vec::new();
    for (number, case) in cases.iter().enumerate() {
        let outcome = Runner::new(cluster, case, turn * cases.len() + number).run().await;
        let (passed, all) = areas.entry(&case.area).or_default();
        *all += 1;
        match outcome {
            Ok(()) => *passed += 1,
            Err(difference) => failures.push(format!("{}: {difference}", case.name)),
        }
    }
    for (area, (passed, all)) in areas {
        println!("{area}: {passed}/{all}");
    }
    failures
}

#[tokio::test(start_paused = true)]
async fn recorded_requests_are_answered_as_recorded_twice_in_a_row() {
    let Some(cases) = case::load_all() else {
        println!("SKIPPED: CONFORMANCE_CASES is not set");
        return;
    };
    assert!(!cases.is_empty(), "there are cases in $CONFORMANCE_CASES");
    let cluster = cluster();
    for turn in 0..2 {
        let failures = replay(&cluster, &cases, turn).await;
        let count = cases.len() - failures.len();
        println!("turn {turn}: {count} of {} cases passed", cases.len());
        assert!(failures.is_empty(), "{}", failures.join("\n"));
    }
}
