//! A sample of the points in every test run; all of them are `scenarios sweep`.

use super::*;
use crate::purpose::Purpose;
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

#[test]
fn flows_are_named_one_by_one_or_by_what_is_done() {
    let names = |name: &str| Flow::named(name).iter().map(Flow::name).collect::<Vec<_>>();
    assert_eq!(names("delete-eventing"), ["delete-eventing"]);
    assert_eq!(names("rotation"), ["rotation-serving", "rotation-eventing"]);
    assert_eq!(names("all").len(), 12);
    assert!(names("install-").is_empty());
}

#[test]
fn every_request_of_every_flow_is_for_something() {
    let ground = Ground::default();
    for flow in Flow::all() {
        let requests = point::requests(flow, &ground);
        let other = requests.iter().find(|request| request.purpose == Purpose::Other);
        assert_eq!(other, None, "{}", flow.name());
        assert!(requests.iter().any(|request| request.purpose.is_delicate()), "{}", flow.name());
    }
}

#[test]
fn credentials_that_rotate_in_the_middle_are_refused_and_replaced() {
    let rotation = Flow::named("rotation-eventing")[0];
    let (point, seen, lines) = point::run(rotation, &[], &Ground::default());
    assert_eq!(point.violation, None);
    assert!(lines.iter().any(|line| line.contains("unknown authority")), "the authority is as before");
    assert!(lines.iter().filter(|line| line.contains("plugin for https://a")).count() > 2, "one token did");
    assert!(seen.failures.contains_key("connection"), "{seen:?}");
}

#[test]
fn near_pairs_begin_with_what_is_delicate_and_samples_follow_from_their_seed() {
    let install = Flow::named("install-serving")[0];
    let requests = point::requests(install, &Ground::default());
    let delicate = |stroke: Stroke| requests[stroke.after].purpose.is_delicate();
    let all = [(install, requests.clone())].into();
    let pairs = |sample, seed, stride| Choice::Pairs { stride, sample, seed: Seed(seed) }.points(&all);
    let near = pairs(0, 0, 1);
    assert!(near.len() > 1_000, "{}", near.len());
    assert!(near.iter().all(|(_, strokes)| delicate(strokes[0]) && strokes[1].after < choice::NEAR));
    let sampled = pairs(50, 1, usize::MAX).split_off(1);
    assert_eq!(sampled.len(), 50);
    assert!(sampled.iter().all(|pair| !near.contains(pair)));
    assert_eq!(pairs(50, 1, usize::MAX), pairs(50, 1, usize::MAX));
    assert_ne!(pairs(50, 1, usize::MAX), pairs(50, 2, usize::MAX));
}

#[test]
fn what_was_never_tried_is_said() {
    let choice = Choice::Singles { stride: usize::MAX };
    let report = run(&Flow::named("reconfigure-serving"), &choice, 1, &Ground::default(), &|_| {});
    assert_eq!(report.passed, 1);
    assert!(report.never.purposes.contains(&Purpose::Finalizer), "{:?}", report.never);
    assert!(report.never.branches.contains(&"malformed"), "{:?}", report.never);
    let text = serde_json::to_string(&report).unwrap();
    assert!(text.contains(r#""purposes":{"read":1"#), "{text}");
}

#[test]
fn a_flow_goes_on_from_ground_that_no_other_flow_has_trodden() {
    let ground = Ground::default();
    let delete = Flow::named("delete-eventing")[0];
    let first = point::run(delete, &[], &ground).2;
    assert_eq!(first, point::run(delete, &[], &ground).2);
    assert_eq!(first, point::run(delete, &[], &Ground::default()).2);
}
