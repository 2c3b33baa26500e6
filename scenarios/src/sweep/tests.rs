//! A sample of the points in every test run; all of them are `scenarios sweep`.

use super::flow::FLOWS;
use super::*;

#[test]
fn a_sample_of_all_flows_converges_whichever_request_fails_in_whichever_way() {
    let report = run(&FLOWS, 331, 2, &References::default(), &|_| {});
    assert!(report.failed.is_empty(), "{:#?}", report.failed);
    assert!(report.passed >= 12, "{} points", report.passed);
    assert_eq!(report.coverage.len(), FLOWS.len());
}
