//! A sample of the points in every test run; all of them are `scenarios sweep`.

use super::*;
use crate::seed::Seed;
use crate::strike::{Blow, Stroke};

#[test]
fn a_sample_of_all_flows_converges_whichever_request_fails_in_whichever_way() {
    let flows = Flow::all();
    let report = run(&flows, &Choice::Singles { stride: 499 }, 2, &Ground::default(), &|_| {});
    assert!(report.failed.is_empty(), "{:#?}", report.failed);
    assert!(report.passed >= flows.len(), "{} points", report.passed);
    assert_eq!(report.coverage.len(), flows.len());
}

#[test]
fn pairs_of_faults_around_what_must_not_be_done_by_halves_converge() {
    let choice = Choice::Pairs { stride: 997, sample: 2, seed: Seed(1) };
    let report = run(&Flow::named("install"), &choice, 2, &Ground::default(), &|_| {});
    assert!(report.failed.is_empty(), "{:#?}", report.failed);
    assert!(report.passed > 2, "{} points", report.passed);
}

#[test]
fn a_leader_without_the_hub_is_replaced_in_the_middle_of_an_install() {
    let failover = Flow::named("failover-serving")[0];
    let (point, _, lines) = point::run(failover, &[], &Ground::default());
    assert_eq!(point.violation, None);
    let by = |replica: &str| lines.iter().any(|line| line.contains(replica));
    assert!(by("operator 1 is cut off"), "nobody was cut off");
}

#[test]
fn both_strokes_of_a_pair_land_and_are_written_down_with_what_they_hit() {
    let install = Flow::named("install-eventing")[0];
    let requests = point::requests(install, &Ground::default());
    let after = requests.iter().position(|request| request.purpose.is_delicate()).unwrap();
    let strokes = [Stroke { after, blow: Blow::ErrorAfter }, Stroke { after: 0, blow: Blow::LinkCut }];
    let (point, seen, _) = point::run(install, &strokes, &Ground::default());
    assert_eq!(point.violation, None);
    assert_eq!(point.landed.len(), 2, "{:?}", point.landed);
    assert_eq!(point.landed[0], (Blow::ErrorAfter, requests[after].purpose));
    assert!(!seen.failures.is_empty(), "{seen:?}");
}
