//! The living set of conditions.

use serde_json::json;

use super::*;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_700_000_000 + second).unwrap()
}

fn ready() -> Conditions {
    let mut conditions = Conditions::default();
    conditions.initialize(at(0));
    ConditionType::DEPENDENTS.into_iter().for_each(|kind| conditions.mark_true(kind, at(1)));
    conditions
}

fn read_back(conditions: &Conditions) -> Conditions {
    let value = serde_json::to_value(conditions).unwrap();
    value.as_array().unwrap().iter().collect()
}

#[test]
fn a_first_reconcile_knows_nothing_and_sorts_by_type() {
    let mut conditions = Conditions::default();
    conditions.initialize(at(0));
    let types: Vec<_> = conditions.iter().map(|c| c.kind.as_str()).collect();
    assert_eq!(
        types,
        [
            "DependenciesInstalled",
            "DeploymentsAvailable",
            "InstallSucceeded",
            "Ready",
            "TargetClusterResolved",
            "VersionMigrationEligible"
        ]
    );
    assert!(conditions.iter().all(|c| c.status == ConditionStatus::Unknown));
}

#[test]
fn ready_needs_every_dependent() {
    let mut conditions = Conditions::default();
    conditions.initialize(at(0));
    for (index, kind) in ConditionType::DEPENDENTS.into_iter().enumerate() {
        assert!(!conditions.is_ready(), "before {kind}");
        conditions.mark_true(kind, at(index as i64));
    }
    assert!(conditions.is_ready());
}

#[test]
fn losing_the_spoke_flips_only_the_target_and_ready() {
    let before = ready();
    let mut after = before.clone();
    after.mark_false(ConditionType::TargetClusterResolved, Reason::ClusterProfileNotReady, "100%Foo", at(9));
    for condition in after.iter() {
        match condition.kind {
            ConditionType::Ready | ConditionType::TargetClusterResolved => {
                assert_eq!(condition.status, ConditionStatus::False);
                assert_eq!(condition.reason, "ClusterProfileNotReady");
                assert_eq!(condition.message, "100%Foo");
            }
            other => assert_eq!(Some(condition), before.get(other)),
        }
    }
    after.mark_true(ConditionType::TargetClusterResolved, at(10));
    assert!(after.is_ready());
}

#[test]
fn ready_follows_the_most_recent_failure_and_failures_before_unknowns() {
    let mut conditions = ready();
    conditions.mark_false(ConditionType::InstallSucceeded, Reason::Error, "older", at(2));
    conditions.mark_false(ConditionType::DeploymentsAvailable, Reason::NotReady, "newer", at(3));
    conditions.mark_unknown(ConditionType::DependenciesInstalled, Reason::Installing, "latest", at(4));
    assert_eq!(conditions.get(ConditionType::Ready).unwrap().message, "newer");
    conditions.mark_true(ConditionType::TargetClusterResolved, at(5));
    assert_eq!(conditions.get(ConditionType::Ready).unwrap().message, "newer");
    conditions.mark_true(ConditionType::DeploymentsAvailable, at(6));
    assert_eq!(conditions.get(ConditionType::Ready).unwrap().message, "older");
    conditions.mark_true(ConditionType::InstallSucceeded, at(7));
    let ready = conditions.get(ConditionType::Ready).unwrap();
    assert_eq!((ready.status, ready.message.as_str()), (ConditionStatus::Unknown, "latest"));
}

#[test]
fn a_dependency_added_to_a_ready_resource_starts_true() {
    let stored = [json!({"type": "Ready", "status": "True"})];
    let mut conditions: Conditions = stored.iter().collect();
    conditions.initialize(at(0));
    assert!(
        ConditionType::DEPENDENTS.into_iter().all(|kind| conditions.status(kind) == ConditionStatus::True)
    );
}

#[test]
fn an_identical_write_keeps_the_time() {
    let mut conditions = ready();
    let before = conditions.clone();
    ConditionType::DEPENDENTS.into_iter().for_each(|kind| conditions.mark_true(kind, at(99)));
    assert_eq!(conditions, before);
    conditions.mark_false(ConditionType::InstallSucceeded, Reason::Error, "a", at(100));
    conditions.mark_false(ConditionType::InstallSucceeded, Reason::Error, "b", at(101));
    assert_eq!(conditions.get(ConditionType::InstallSucceeded).unwrap().last_transition_time, Some(at(101)));
}

#[test]
fn informational_conditions_do_not_touch_ready() {
    let mut conditions = ready();
    conditions.mark_false(ConditionType::OverridesApplied, Reason::UnknownNames, "spec.config: x", at(5));
    conditions.note(ConditionType::Paused, Reason::PausedByAnnotation, "", at(5));
    assert!(conditions.is_ready());
    assert_eq!(conditions.get(ConditionType::Paused).unwrap().severity, "Info");
    conditions.clear(ConditionType::Paused);
    conditions.clear(ConditionType::Ready);
    assert!(conditions.get(ConditionType::Paused).is_none() && conditions.is_ready());
}

#[test]
fn true_conditions_carry_neither_reason_nor_message() {
    let mut conditions = ready();
    conditions.note(ConditionType::Ready, Reason::Error, "x", at(2));
    let value = serde_json::to_value(&conditions).unwrap();
    assert_eq!(
        value[3],
        json!({"type": "Ready", "status": "True", "lastTransitionTime": "2023-11-14T22:13:21Z"})
    );
}

#[test]
fn what_is_written_is_what_is_read_back() {
    let mut conditions = ready();
    conditions.mark_false(
        ConditionType::InstallSucceeded,
        Reason::Error,
        "no",
        Timestamp::from_millisecond(1_700_000_000_987).unwrap(),
    );
    assert_eq!(read_back(&conditions), conditions);
}

#[test]
fn w35_a_long_message_is_cut_between_characters() {
    let mut conditions = ready();
    conditions.mark_false(ConditionType::InstallSucceeded, Reason::Error, &"ü".repeat(20_000), at(2));
    let message = &conditions.get(ConditionType::InstallSucceeded).unwrap().message;
    assert_eq!(message.len(), MESSAGE_LIMIT);
    conditions.mark_false(
        ConditionType::InstallSucceeded,
        Reason::Error,
        &format!("a{}", "ü".repeat(20_000)),
        at(3),
    );
    assert_eq!(conditions.get(ConditionType::InstallSucceeded).unwrap().message.len(), MESSAGE_LIMIT - 1);
}

#[test]
fn a_condition_that_ends_as_it_began_keeps_its_time() {
    let at = |second| Timestamp::from_second(second).unwrap();
    let mut conditions = Conditions::default();
    conditions.mark_false(ConditionType::DeploymentsAvailable, Reason::NotReady, "waiting", at(1));
    conditions.mark_false(ConditionType::InstallSucceeded, Reason::Error, "refused", at(2));
    let stored = conditions.clone();
    conditions.mark_false(ConditionType::DeploymentsAvailable, Reason::NotReady, "waiting", at(9));
    conditions.mark_false(ConditionType::InstallSucceeded, Reason::Error, "refused", at(9));
    assert_ne!(conditions, stored);
    conditions.settle(&stored);
    assert_eq!(conditions, stored);
    conditions.mark_true(ConditionType::InstallSucceeded, at(10));
    conditions.settle(&stored);
    assert_eq!(conditions.get(ConditionType::InstallSucceeded).unwrap().last_transition_time, Some(at(10)));
}
