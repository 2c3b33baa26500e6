//! Drift: what somebody else changed or deleted of an installation that was complete.
//!
//! An installation is *settled* once everything of its plan was applied and had rolled out; a digest of that plan is noted in
//! the status then, and taken away before anything of another plan is applied. What differs from the plan of a settled
//! installation is drift, also after a restart of the operator; what differs from any other is work that is not done yet.
//!
//! Drift is repaired, or, by annotation, only reported. Either way the condition `Drifted` says what the last look has
//! found, and an annotation of the status keeps count. Neither counts for `Ready`.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::converge::Planned;
use super::events::Severity;
use super::session::Session;
use super::{DRIFT_POLICY, Next, Reconciler};
use crate::api::{ConditionType, Reason, message};
use crate::apply::install::{Installation, Upkeep};
use crate::clock::rfc3339_secs;
use crate::manifest::ObjectKey;
use crate::metrics::Change;

/// Annotation of the status with the digest of the plan that is completely installed.
pub const SETTLED: &str = "operator.knative.dev/settled";
/// Annotation of the status that keeps count of drift.
pub const DRIFT: &str = "operator.knative.dev/drift";

/// How much drift there was and is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Objects that were repaired so far.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub repaired: u64,
    /// When the last of them was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<String>,
    /// Objects that are drifted now and are left so.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub reported: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Tally {
    /// What the annotation says; nothing, if it is absent or damaged.
    pub fn read(annotation: Option<&str>) -> Self {
        annotation.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
    }

    fn repaired(self, objects: usize, now: Timestamp) -> Self {
        let repaired = self.repaired.saturating_add(objects as u64);
        Self { repaired, last: Some(rfc3339_secs(now)), reported: 0 }
    }

    fn text(&self) -> Option<String> {
        (*self != Self::default()).then(|| serde_json::to_string(self).expect("numbers and texts serialise"))
    }
}

/// What differences from a plan with this digest mean on a cluster. Before anything of another plan is applied, the note about the
/// settled one goes.
pub(super) fn upkeep(session: &mut Session<'_>, digest: &str, cluster: &str) -> Upkeep {
    let annotations = &mut session.status.annotations;
    let there = session.record.target.as_ref().is_some_and(|bound| bound.cluster == cluster);
    if !there || annotations.get(SETTLED).is_none_or(|settled| settled != digest) {
        annotations.remove(SETTLED);
        return Upkeep::Install;
    }
    match session.annotation(DRIFT_POLICY) {
        Some("report") => Upkeep::Report,
        _ => Upkeep::Repair,
    }
}

impl Reconciler {
    /// Without its anchor an installation is being collected, which is more than drift; but nothing is written.
    pub(super) async fn report_lost_anchor(&self, session: &mut Session<'_>, planned: &Planned) -> Next {
        let text = message::left_drifted(&planned.drifted);
        let now = self.clock.now();
        let (condition, reason) = (ConditionType::InstallSucceeded, Reason::DriftReported);
        session.conditions().mark_false(condition, reason, &text, now);
        self.note_drift(session, planned.upkeep, &planned.drifted).await;
        Next::After(self.intervals.drift)
    }

    /// Says what a look at a settled installation has found.
    pub(super) async fn note_drift(&self, session: &mut Session<'_>, upkeep: Upkeep, drifted: &[ObjectKey]) {
        if upkeep == Upkeep::Install || (drifted.is_empty() && upkeep == Upkeep::Repair) {
            return;
        }
        let now = self.clock.now();
        let tally = Tally::read(session.status.annotations.get(DRIFT).map(String::as_str));
        let (tally, reason, text) = match upkeep {
            Upkeep::Report => {
                let tally = Tally { reported: drifted.len() as u64, ..tally };
                (tally, Reason::DriftReported, message::left_drifted(drifted))
            }
            _ => (tally.repaired(drifted.len(), now), Reason::ObjectsDrifted, message::repaired(drifted)),
        };
        match tally.text() {
            Some(text) => drop(session.status.annotations.insert(DRIFT.into(), text)),
            None => drop(session.status.annotations.remove(DRIFT)),
        }
        if drifted.is_empty() {
            session.conditions().clear(ConditionType::Drifted);
            return;
        }
        let known = session.conditions().get(ConditionType::Drifted).is_some_and(|said| said.message == text);
        if upkeep == Upkeep::Repair || !known {
            let change = if upkeep == Upkeep::Repair { Change::Repaired } else { Change::Reported };
            self.metrics().changed(change, drifted.len());
            tracing::warn!(object = %session.key, objects = drifted.len(), text, "drift");
        }
        session.conditions().note(ConditionType::Drifted, reason, &text, now);
        self.events.record(&session.key, &session.object, Severity::Warning, reason.as_str(), &text).await;
    }

    /// Everything of the plan is applied, has rolled out and is alone.
    pub(super) fn settle(session: &mut Session<'_>, upkeep: Upkeep, drifted: &[ObjectKey], digest: &str) {
        session.status.annotations.insert(SETTLED.into(), digest.into());
        if upkeep == Upkeep::Report {
            return;
        }
        if drifted.is_empty() {
            session.conditions().clear(ConditionType::Drifted);
        }
        // What was reported under another policy is not there any more.
        let tally = Tally::read(session.status.annotations.get(DRIFT).map(String::as_str));
        if tally.reported > 0 {
            match (Tally { reported: 0, ..tally }).text() {
                Some(text) => drop(session.status.annotations.insert(DRIFT.into(), text)),
                None => drop(session.status.annotations.remove(DRIFT)),
            }
        }
    }
}

/// What somebody else had changed.
pub(super) fn drifted(planned: &Planned, report: &Installation) -> Vec<ObjectKey> {
    match planned.upkeep {
        Upkeep::Install => Vec::new(),
        Upkeep::Report => report.left.clone(),
        Upkeep::Repair if planned.drifted.is_empty() => report.written.clone(),
        Upkeep::Repair => planned.drifted.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tally_counts_on_and_reads_what_it_wrote() {
        let now: Timestamp = "2030-01-01T00:00:00Z".parse().unwrap();
        let tally = Tally::default().repaired(3, now).repaired(1, now);
        assert_eq!(tally.text().as_deref(), Some(r#"{"repaired":4,"last":"2030-01-01T00:00:00Z"}"#));
        assert_eq!(Tally::read(tally.text().as_deref()), tally);
    }

    #[test]
    fn nothing_to_count_is_no_annotation_and_a_damaged_one_counts_from_zero() {
        assert_eq!(Tally::default().text(), None);
        assert_eq!(Tally::read(Some("?")), Tally::default());
        assert_eq!(Tally::read(None), Tally::default());
    }
}
