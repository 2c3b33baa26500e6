//! What the exposition holds and how much of it, whatever the fleet.

use super::*;
use crate::api::Reason;
use crate::manifest::Object;

/// Series of an exposition: lines that are no comments.
fn series(metrics: &Metrics) -> Vec<String> {
    metrics.text().lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect()
}

fn resource(name: usize, status: &str, reason: &str) -> (Key, Object) {
    let kind = if name.is_multiple_of(2) { ComponentKind::Serving } else { ComponentKind::Eventing };
    let name = format!("resource-{name}");
    let object = serde_json::json!({
        "apiVersion": kind.api_version(), "kind": kind.kind(), "metadata": {"name": name, "namespace": "ns"},
        "status": {"conditions": [{"type": "Ready", "status": status, "reason": reason}]},
    });
    (Key { kind, namespace: "ns".into(), name }, Object::try_from(object).unwrap())
}

/// Everything that can be told of a fleet of so many clusters, each in all ways there are.
fn fleet_of(clusters: usize) -> Metrics {
    let metrics = Metrics::default();
    let reasons: Vec<&str> = Reason::ALL.iter().map(|reason| reason.as_str()).collect();
    for number in 0..clusters {
        let status = ["True", "False", "Unknown"][number % 3];
        let (key, object) = resource(number, status, reasons.get(number % 40).unwrap_or(&"Strange"));
        metrics.set_standing(&key, Some(Standing::of(&object)));
        let state = [ClusterState::Answering, ClusterState::Failing, ClusterState::Suspended][number / 2 % 3];
        metrics.set_cluster(&format!("fleet/spoke-{number}"), Some(state));
        for side in [Side::Hub, Side::Spoke] {
            for verb in crate::target::cluster::VERBS {
                for outcome in crate::target::cluster::OUTCOMES {
                    metrics.requested(side, verb, outcome, Duration::from_millis(number as u64));
                }
            }
        }
        for outcome in crate::controller::OUTCOMES {
            metrics.passed(key.kind, outcome, Duration::from_secs(1));
        }
        for outcome in ["ok", "failed", "timed_out", "expired"] {
            metrics.ran_plugin(outcome, Duration::from_secs(1));
        }
        for change in [Change::Applied, Change::Repaired, Change::Reported, Change::Pruned] {
            metrics.changed(change, 3);
        }
        metrics.watch_failed(key.kind.kind());
    }
    metrics
}

#[test]
fn w48_a_thousand_clusters_have_no_more_series_than_a_hundred_and_twenty() {
    // 120 is the smallest number with every combination of the above.
    let (some, many) = (series(&fleet_of(120)).len(), series(&fleet_of(1_000)).len());
    assert!(some > 400, "{some} series: the fleet was not in all states");
    // Of the suspended ones, 40 and 333, the same number is named.
    assert_eq!((many, many < SERIES_MAX), (some, true), "{some} series of 120 clusters, {many} of 1,000");
}

#[test]
fn resources_are_counted_by_state_and_forgotten_when_they_are_gone() {
    let metrics = Metrics::default();
    for (number, status) in [(0, "True"), (2, "True"), (4, "False")] {
        let (key, object) = resource(number, status, if status == "False" { "NotReady" } else { "" });
        metrics.set_standing(&key, Some(Standing::of(&object)));
    }
    let ready = r#"knative_operator_resources{kind="KnativeServing",state="ready",reason=""} "#;
    let count = |metrics: &Metrics| {
        let found = series(metrics).iter().find_map(|line| Some(line.strip_prefix(ready)?.to_owned()));
        found.map(|count| count.parse::<u32>().unwrap())
    };
    assert_eq!(count(&metrics), Some(2));
    metrics.set_standing(&resource(0, "", "").0, None);
    assert_eq!(count(&metrics), Some(1));
    metrics.forget_fleet();
    assert_eq!(count(&metrics), None);
}

#[test]
fn reasons_that_are_none_of_ours_share_one_word() {
    let of = |reason: &str| Standing::of(&resource(0, "False", reason).1);
    assert_eq!(of("RemoteClusterUnreachable").reason, "RemoteClusterUnreachable");
    assert_eq!(of("Whatever1").reason, of("Whatever2").reason);
}

#[test]
fn of_many_silent_clusters_a_few_are_named() {
    let metrics = Metrics::default();
    for number in 0..100 {
        metrics.set_cluster(&format!("fleet/{number}"), Some(ClusterState::Suspended));
    }
    let named =
        |metrics: &Metrics| series(metrics).iter().filter(|line| line.contains("suspended_cluster{")).count();
    assert_eq!(named(&metrics), NAMED_CLUSTERS);
    for number in 0..99 {
        metrics.set_cluster(&format!("fleet/{number}"), Some(ClusterState::Answering));
    }
    assert_eq!(named(&metrics), 1);
}
