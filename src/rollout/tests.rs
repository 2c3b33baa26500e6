//! Whose turn it is.

use serde_json::json;

use super::*;
use crate::api::ComponentKind;

const OLD: &str = "1.22.0";
const NEW: &str = "1.23.0";

fn member(name: &str, stage: &str) -> Member {
    Member {
        key: Key { kind: ComponentKind::Serving, namespace: "ns".into(), name: name.into() },
        labels: Arc::new([("stage".to_owned(), stage.to_owned())].into()),
        installed: Some(OLD.into()),
        begun: None,
        ready: true,
    }
}

fn done(name: &str, stage: &str) -> Member {
    Member { installed: Some(NEW.into()), ..member(name, stage) }
}

fn under_way(name: &str, stage: &str) -> Member {
    Member { begun: Some(NEW.into()), ..member(name, stage) }
}

fn rollout(paused: bool, max: &str) -> Rollout {
    let waves = "- {name: first, selector: {matchLabels: {stage: a}}}\n\
                 - {name: second, selector: {matchLabels: {stage: b}}}\n";
    let paused = paused.to_string();
    Rollout::parse(&json!({"waves": waves, "paused": paused, "max-unavailable": max})).unwrap()
}

fn held(decision: Decision) -> (Why, bool) {
    match decision {
        Decision::Hold { why, next } => (why, next),
        Decision::Go => panic!("it goes"),
    }
}

#[test]
fn a_wave_begins_when_everybody_in_the_one_before_is_ready_with_the_new_release() {
    let rollout = rollout(false, "9");
    let go = |others: &[Member]| decide(&rollout, NEW, &member("me", "b"), others);
    assert_eq!(held(go(&[done("x", "a"), member("y", "a")])).0, Why::Wave("first".into()));
    assert_eq!(held(go(&[Member { ready: false, ..done("x", "a") }])).0, Why::Wave("first".into()));
    assert_eq!(go(&[done("x", "a"), member("y", "b"), member("z", "other")]), Decision::Go);
    let last = decide(&rollout, NEW, &member("me", "other"), &[done("x", "a"), member("y", "b")]);
    assert_eq!(held(last).0, Why::Wave("second".into()));
}

#[test]
fn a_resource_that_is_being_installed_for_the_first_time_holds_nobody_up_by_its_wave() {
    let fresh = Member { installed: None, ..member("x", "a") };
    assert_eq!(decide(&rollout(false, "9"), NEW, &member("me", "b"), &[fresh]), Decision::Go);
}

#[test]
fn while_paused_nothing_begins_and_what_has_begun_goes_on() {
    let rollout = rollout(true, "9");
    assert_eq!(held(decide(&rollout, NEW, &member("me", "a"), &[])), (Why::Paused, false));
    assert_eq!(decide(&rollout, NEW, &under_way("me", "a"), &[]), Decision::Go);
}

#[test]
fn no_more_begin_than_may_be_unavailable_and_the_next_in_line_know_it() {
    let rollout = rollout(false, "2");
    let others = [under_way("a", "a"), member("b", "a"), member("c", "a"), member("d", "a")];
    assert_eq!(decide(&rollout, NEW, &member("e", "a"), &others), Decision::Go);
    let others = [&others[..], &[Member { ready: false, ..member("z", "b") }]].concat();
    assert_eq!(held(decide(&rollout, NEW, &member("bb", "a"), &others)), (Why::Unavailable, true));
    assert_eq!(held(decide(&rollout, NEW, &member("e", "a"), &others)), (Why::Unavailable, false));
    let broken = Member { ready: false, ..member("e", "a") };
    assert_eq!(decide(&rollout, NEW, &broken, &others), Decision::Go, "it cannot get less available");
}

#[test]
fn passes_that_run_side_by_side_do_not_begin_more_than_may_be() {
    let (rollout, ledger) = (rollout(false, "1"), Ledger::default());
    let (x, y) = (member("x", "a"), member("y", "a"));
    assert_eq!(ledger.decide(&rollout, NEW, &x, std::slice::from_ref(&y)), Decision::Go);
    assert_eq!(held(ledger.decide(&rollout, NEW, &y, std::slice::from_ref(&x))).0, Why::Unavailable);
    assert_eq!(ledger.decide(&rollout, NEW, &x, std::slice::from_ref(&y)), Decision::Go, "it goes on");
    ledger.forget(&x.key);
    assert_eq!(ledger.decide(&rollout, NEW, &y, &[done("x", "a")]), Decision::Go);
}
