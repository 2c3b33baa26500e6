//! What a Lease says, and what a candidate makes of it. Pure.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::Election;

/// Who holds a Lease.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Holder {
    Nobody,
    Named(String),
}

pub(super) fn holder(lease: &Value) -> Holder {
    match lease["spec"]["holderIdentity"].as_str() {
        None | Some("") => Holder::Nobody,
        Some(name) => Holder::Named(name.to_owned()),
    }
}

/// When a candidate last saw a Lease change, by its own clock: those of two machines need not agree.
#[derive(Debug, Default)]
pub(super) struct Sighting(Option<(Value, Instant)>);

impl Sighting {
    /// Whether the Lease may be taken now.
    pub(super) fn may_take(&mut self, lease: &Value, identity: &str, now: Instant) -> bool {
        let Holder::Named(name) = holder(lease) else { return true };
        if name == identity {
            return true;
        }
        match &self.0 {
            Some((seen, since)) if *seen == lease["spec"] => {
                let seconds = lease["spec"]["leaseDurationSeconds"].as_u64().unwrap_or(0);
                now.saturating_duration_since(*since) >= Duration::from_secs(seconds)
            }
            _ => {
                self.0 = Some((lease["spec"].clone(), now));
                false
            }
        }
    }
}

/// The Lease of the first leader.
pub(super) fn fresh(election: &Election, now: Timestamp) -> Value {
    let lease = json!({
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": { "name": election.name, "namespace": election.namespace },
    });
    held(lease, election, now, 0)
}

/// The Lease as its next holder writes it.
pub(super) fn claimed(lease: Value, election: &Election, now: Timestamp) -> Value {
    let before = lease["spec"]["leaseTransitions"].as_i64().unwrap_or(0);
    if holder(&lease) != Holder::Named(election.identity.clone()) {
        return held(lease, election, now, before + 1);
    }
    let acquired = lease["spec"]["acquireTime"].clone();
    let mut renewed = held(lease, election, now, before);
    renewed["spec"]["acquireTime"] = acquired;
    renewed
}

fn held(mut lease: Value, election: &Election, now: Timestamp, transitions: i64) -> Value {
    lease["spec"] = json!({
        "holderIdentity": election.identity,
        "leaseDurationSeconds": election.timing.lease.as_secs(),
        "acquireTime": micro(now),
        "renewTime": micro(now),
        "leaseTransitions": transitions,
    });
    lease
}

/// The Lease of a leader that has gone.
pub(super) fn released(mut lease: Value, now: Timestamp) -> Value {
    lease["spec"]["holderIdentity"] = json!("");
    lease["spec"]["leaseDurationSeconds"] = json!(1);
    lease["spec"]["renewTime"] = json!(micro(now));
    lease
}

/// `metav1.MicroTime`
fn micro(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lease(holder: &str, renewed: &str) -> Value {
        json!({ "spec": { "holderIdentity": holder, "leaseDurationSeconds": 15, "renewTime": renewed } })
    }

    #[test]
    fn a_lease_is_taken_when_nobody_has_it_or_it_was_left_alone_for_its_time() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut sighting = Sighting::default();
        assert!(sighting.may_take(&lease("", "1"), "me", at(0)));
        assert!(sighting.may_take(&lease("me", "1"), "me", at(0)));
        assert!(!sighting.may_take(&lease("other", "1"), "me", at(0)));
        assert!(!sighting.may_take(&lease("other", "1"), "me", at(14)));
        // Renewed meanwhile: the time begins anew.
        assert!(!sighting.may_take(&lease("other", "2"), "me", at(16)));
        assert!(!sighting.may_take(&lease("other", "2"), "me", at(30)));
        assert!(sighting.may_take(&lease("other", "2"), "me", at(31)));
    }

    #[test]
    fn times_have_microseconds() {
        assert_eq!(micro("2030-01-02T03:04:05.678901234Z".parse().unwrap()), "2030-01-02T03:04:05.678901Z");
    }
}
