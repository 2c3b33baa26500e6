//! `status`: the fleet as a table, read from the hub.
//!
//! The operator writes nothing while nothing happens, so the table says of a cluster that is fine only that it is: it was
//! asked within the last look for drift, as long as some replica renews its Lease. If none does, a warning says so.

use std::io::Write;

use jiff::Timestamp;
use serde_json::Value;

use super::{CommandError, table};
use crate::api::ComponentKind;
use crate::args::StatusArgs;
use crate::clock::{Clock, SystemClock};
use crate::manifest::Object;
use crate::process::hub::{self, HubArgs};
use crate::reconcile::LAST_CONTACT;
use crate::reconcile::drift::{DRIFT, Tally};
use crate::run::LEASE;
use crate::target::cluster::{Cluster, Detail};
use crate::target::resolve::Limits;
use crate::target::stack;

const COLUMNS: usize = 10;
const HEADINGS: [&str; COLUMNS] = [
    "KIND",
    "NAMESPACE",
    "NAME",
    "CLUSTER",
    "VERSION",
    "READY",
    "SINCE",
    "DRIFT",
    "CONTACT",
    "WHAT IS THE MATTER",
];

/// Prints a line for each custom resource of the hub.
pub(super) async fn run(
    args: StatusArgs,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<(), CommandError> {
    let hub_args = HubArgs { kubeconfig: args.kubeconfig, server: args.server, cluster: args.cluster };
    let config = hub::config(hub_args).await.map_err(CommandError::Configuration)?;
    let transport = hub::transport(&config).map_err(CommandError::Connect)?;
    let hub = Cluster::new("the hub", stack::client(transport, None, Limits::default().request));
    let mut rows = vec![HEADINGS.map(str::to_owned)];
    for kind in ComponentKind::ALL {
        let resource = hub.resource(kind.api_version(), kind.kind()).await.map_err(CommandError::Fleet)?;
        let objects = hub.list(&resource, "", Detail::Full).await.map_err(CommandError::Fleet)?;
        rows.extend(objects.iter().map(|object| row(object, SystemClock.now())));
    }
    let resource = hub.resource("coordination.k8s.io/v1", "Lease").await.map_err(CommandError::Fleet)?;
    // Who may not read Leases still gets the table.
    let lease = hub.get(&resource, &args.system_namespace, LEASE).await;
    if let Ok(lease) = lease
        && let Some(warning) = idle(lease.as_ref(), SystemClock.now())
    {
        writeln!(err, "warning: {warning}").map_err(CommandError::Output)?;
    }
    table::print(&rows, out).map_err(CommandError::Output)
}

/// What to say when no replica of the operator seems to work.
fn idle(lease: Option<&Object>, now: Timestamp) -> Option<String> {
    let spec = lease.map(|lease| &lease.value()["spec"]);
    let held =
        spec.is_some_and(|spec| spec["holderIdentity"].as_str().is_some_and(|holder| !holder.is_empty()));
    let time = spec.and_then(|spec| spec["renewTime"].as_str()?.parse::<Timestamp>().ok());
    let lasts = spec.and_then(|spec| spec["leaseDurationSeconds"].as_i64()).unwrap_or_default();
    let since = match time {
        Some(time) if held && now.duration_since(time).as_secs() <= lasts => return None,
        Some(time) => format!("for {}", age(now, time)),
        None => "yet".to_owned(),
    };
    Some(format!("no operator has renewed its Lease {since}; unless it runs with --disable-ha, this is old"))
}

fn row(object: &Object, now: Timestamp) -> [String; COLUMNS] {
    let value = object.value();
    let text = |pointer: &str| value.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let cluster = match text("/spec/clusterProfileRef/name") {
        "" => "-".to_owned(),
        name => match text("/spec/clusterProfileRef/namespace") {
            "" => name.to_owned(),
            namespace => format!("{namespace}/{name}"),
        },
    };
    let condition = |kind: &str| {
        let conditions = value["status"]["conditions"].as_array().into_iter().flatten();
        conditions.into_iter().find(|condition| condition["type"] == kind).unwrap_or(&Value::Null)
    };
    let ready = condition("Ready");
    // What was seen of an older specification says nothing of this one.
    let current = value["status"]["observedGeneration"] == value["metadata"]["generation"];
    let state = if current { ready["status"].as_str().unwrap_or("Unknown") } else { "Unknown" };
    let since = ready["lastTransitionTime"].as_str().and_then(|time| time.parse().ok());
    [
        text("/kind").to_owned(),
        object.namespace().to_owned(),
        object.name().to_owned(),
        cluster,
        Some(text("/status/version")).filter(|version| !version.is_empty()).unwrap_or("-").to_owned(),
        state.to_owned(),
        since.map_or_else(|| "-".into(), |since| age(now, since)),
        drift(value, now),
        contact(value, now, condition("TargetClusterResolved")),
        matter(value, current, &condition),
    ]
}

/// What is drifted now, or else what was repaired so far and when last.
fn drift(value: &Value, now: Timestamp) -> String {
    let tally = Tally::read(value["status"]["annotations"][DRIFT].as_str());
    let last = tally.last.as_deref().and_then(|time| time.parse().ok());
    match (tally.reported, tally.repaired, last) {
        (0, 0, _) => "-".to_owned(),
        (0, repaired, Some(last)) => format!("{repaired} repaired, {} ago", age(now, last)),
        (0, repaired, None) => format!("{repaired} repaired"),
        (reported, ..) => format!("{reported} left"),
    }
}

/// Whether the cluster answers, or else when it last did.
fn contact(value: &Value, now: Timestamp, resolved: &Value) -> String {
    let last = value["status"]["annotations"][LAST_CONTACT].as_str().and_then(|time| time.parse().ok());
    match last {
        Some(last) => format!("{} ago", age(now, last)),
        None if resolved["status"] == "True" => "ok".to_owned(),
        None => "-".to_owned(),
    }
}

/// The first thing that is not as it should be, in a line.
fn matter<'a>(value: &Value, current: bool, condition: &impl Fn(&str) -> &'a Value) -> String {
    let told = |kind: &str, condition: &Value| {
        let text = |field: &str| condition[field].as_str().unwrap_or_default();
        let message = text("message").lines().next().unwrap_or_default();
        let reason = if text("reason").is_empty() { kind } else { text("reason") };
        if message.is_empty() { reason.to_owned() } else { format!("{reason}: {message}") }
    };
    let bad = |kind: &str, state: &str| {
        let found = condition(kind);
        (found["status"] == state).then(|| told(kind, found))
    };
    if value["metadata"]["deletionTimestamp"].is_string() {
        return bad("DeletionBlocked", "True").unwrap_or_else(|| "is being removed".into());
    }
    if !current {
        return "the latest specification has not been looked at".into();
    }
    let bad_when = [
        ("Paused", "True"),
        ("TargetClusterResolved", "False"),
        ("VersionMigrationEligible", "False"),
        ("InstallSucceeded", "False"),
        ("DeploymentsAvailable", "False"),
        ("DependenciesInstalled", "False"),
        ("Drifted", "True"),
        ("UpgradeHeld", "True"),
        ("OverridesApplied", "False"),
        ("ManifestsCurrent", "False"),
    ];
    bad_when.into_iter().find_map(|(kind, state)| bad(kind, state)).unwrap_or_default()
}

/// `5s`, `3m`, `2h` or `9d`.
fn age(now: Timestamp, since: Timestamp) -> String {
    let seconds = now.duration_since(since).as_secs().max(0);
    match seconds {
        0..120 => format!("{seconds}s"),
        120..7_200 => format!("{}m", seconds / 60),
        7_200..172_800 => format!("{}h", seconds / 3_600),
        _ => format!("{}d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn line(spec: Value, status: Value) -> String {
        let metadata = json!({"name": "ks", "namespace": "east", "generation": 2});
        let object = json!({
            "apiVersion": "operator.knative.dev/v1beta1", "kind": "KnativeServing", "metadata": metadata, "spec": spec,
            "status": status,
        });
        let now = "2030-01-01T03:00:00Z".parse().expect("a time");
        row(&Object::try_from(object).expect("an object"), now).join(" | ")
    }

    #[test]
    fn a_line_says_where_it_is_installed_since_when_and_what_is_the_matter() {
        let remote = json!({"clusterProfileRef": {"namespace": "fleet", "name": "spoke-1"}});
        let ready = json!({"type": "Ready", "status": "True", "lastTransitionTime": "2030-01-01T00:00:00Z"});
        let status = json!({"version": "1.23.0", "observedGeneration": 2, "conditions": [ready]});
        assert_eq!(
            line(remote.clone(), status),
            "KnativeServing | east | ks | fleet/spoke-1 | 1.23.0 | True | 3h | - | - | "
        );
        let unresolved = json!({
            "type": "TargetClusterResolved", "status": "False", "reason": "RemoteClusterUnreachable",
            "message": "spoke-1 does not answer\nsince long",
        });
        let status = json!({"observedGeneration": 2, "conditions": [{"type": "Ready", "status": "False"}, unresolved]});
        assert_eq!(
            line(remote, status),
            "KnativeServing | east | ks | fleet/spoke-1 | - | False | - | - | - | RemoteClusterUnreachable: spoke-1 \
             does not answer"
        );
        assert_eq!(
            line(json!({}), json!({"observedGeneration": 1})),
            "KnativeServing | east | ks | - | - | Unknown | - | - | - | the latest specification has not been looked at"
        );
    }

    #[test]
    fn drift_and_contact_are_what_the_operator_noted_in_the_status() {
        let of = |annotations: Value, resolved: &str| {
            let resolved = json!({"type": "TargetClusterResolved", "status": resolved});
            let status =
                json!({"observedGeneration": 2, "annotations": annotations, "conditions": [resolved]});
            let line = line(json!({}), status);
            let cells: Vec<_> = line.split(" | ").map(str::to_owned).collect();
            (cells[7].clone(), cells[8].clone())
        };
        let pair = |drift: &str, contact: &str| (drift.to_owned(), contact.to_owned());
        assert_eq!(of(json!({}), "True"), pair("-", "ok"));
        let repaired = r#"{"repaired":3,"last":"2030-01-01T02:00:00Z"}"#;
        assert_eq!(of(json!({DRIFT: repaired}), "True"), pair("3 repaired, 60m ago", "ok"));
        let lost = json!({DRIFT: r#"{"repaired":3,"reported":2}"#, LAST_CONTACT: "2030-01-01T02:59:00Z"});
        assert_eq!(of(lost, "False"), pair("2 left", "60s ago"));
        assert_eq!(of(json!({}), "False"), pair("-", "-"));
    }

    #[test]
    fn a_lease_that_nobody_renews_is_warned_about() {
        let now = "2030-01-01T00:01:00Z".parse().expect("a time");
        let lease = |holder: &str, time: &str| {
            let spec = json!({"holderIdentity": holder, "renewTime": time, "leaseDurationSeconds": 15});
            let metadata = json!({"name": LEASE, "namespace": "knative-operator"});
            let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec});
            Object::try_from(lease).expect("an object")
        };
        assert_eq!(idle(Some(&lease("a", "2030-01-01T00:00:50.000000Z")), now), None);
        for (lease, words) in [
            (Some(lease("a", "2030-01-01T00:00:10.000000Z")), "for 50s"),
            (Some(lease("", "2030-01-01T00:00:59.000000Z")), "for 1s"),
            (None, "yet"),
        ] {
            let warning = idle(lease.as_ref(), now).expect("a warning");
            assert!(warning.contains(words), "{warning}");
        }
    }
}
