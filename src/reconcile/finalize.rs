//! Taking an installation back before its custom resource goes.
//!
//! The finalizer leaves only when the inventory is empty, or when the deletion policy says to leave everything.

use std::collections::BTreeSet;

use jiff::SignedDuration;

use super::error::StepError;
use super::events::Severity;
use super::session::Session;
use super::{ADOPT, DELETION_POLICY, Next, Reconciler};
use crate::api::{ConditionType, Reason};
use crate::apply::anchor::{Anchor, Claim};
use crate::apply::uninstall::{Removal, Uninstall};
use crate::index::Peer;
use crate::manifest::ObjectKey;
use crate::target::resolve::Target;

/// How long deleted objects may take to go before the status speaks of it.
const PATIENCE: SignedDuration = SignedDuration::from_secs(120);

impl Reconciler {
    pub(super) async fn finalize(
        &self,
        session: &mut Session<'_>,
        peers: &[Peer],
    ) -> Result<Next, StepError> {
        let ours = session.key.kind.finalizer();
        if !session.finalizers().iter().any(|finalizer| finalizer == ours) {
            return Ok(Next::OnChange);
        }
        if session.annotation(DELETION_POLICY) == Some("orphan") {
            return self.orphan(session).await;
        }
        if session.record.target.is_none() && !session.status.manifests.is_empty() {
            self.take_over(session, peers).await?;
        }
        let Some(bound) = session.record.target.clone() else {
            return self.release_finalizer(session).await;
        };
        let target = self.targets.resolve(bound.profile.as_ref()).await?;
        let now = self.clock.now();
        if target.uid != bound.cluster {
            let text = format!(
                "installed on the cluster with kube-system uid {}, but its profile now leads to {}; \
                 point it back, or set annotation {DELETION_POLICY}: orphan",
                bound.cluster, target.uid
            );
            let condition = ConditionType::TargetClusterResolved;
            session.conditions().mark_false(condition, Reason::TargetChanged, &text, now);
            self.mark_blocked(session, Reason::TargetChanged, &text).await;
            return Ok(Next::Backoff);
        }
        session.conditions().mark_true(ConditionType::TargetClusterResolved, now);
        let anchor = match bound.profile.is_some() {
            true => {
                let me = self.identity(session).await?;
                let lives = |uid: &str| peers.iter().any(|peer| peer.uid == uid);
                let (cluster, adopt) = (&target.cluster, session.annotation(ADOPT));
                Claim { cluster, namespace: &bound.namespace, me: &me, lives: &lives, adopt }.find().await?
            }
            false => None,
        };
        let removal = self.uninstall(session, &target, anchor.as_ref(), peers).await?;
        if removal.is_complete() {
            return self.release_finalizer(session).await;
        }
        self.note_removal(session, &removal).await;
        Ok(if removal.blocked.is_empty() { Next::After(self.intervals.removal_poll) } else { Next::Backoff })
    }

    /// Records what an operator that kept no record has installed: the plan for the version in the status.
    async fn take_over(&self, session: &mut Session<'_>, peers: &[Peer]) -> Result<(), StepError> {
        let mut component = Self::component(session)?;
        if let Some(installed) = &session.status.version {
            component.spec.common.version = installed.clone();
        }
        let release = self.catalog.release(&component).await?;
        if let Some(target) = self.target(session, &component, peers).await? {
            self.plan_and_record(session, &component, &release, &target, peers).await?;
        }
        Ok(())
    }

    async fn uninstall(
        &self,
        session: &mut Session<'_>,
        target: &Target,
        anchor: Option<&Anchor>,
        peers: &[Peer],
    ) -> Result<Removal, StepError> {
        let keep = needed_by_others(peers, &target.uid);
        let selector = self.selector(session);
        let uid = session.object.uid().to_owned();
        let uninstall =
            Uninstall { cluster: &target.cluster, selector: &selector, anchor, owner_uid: &uid, keep: &keep };
        uninstall.pass(&mut session.record.inventory).await.map_err(StepError::Target)
    }

    /// Lets a namespace drain that somebody deletes while we want to install into it.
    pub(super) async fn withdraw_webhooks(
        &self,
        session: &Session<'_>,
        target: &Target,
        anchor: Option<&Anchor>,
        peers: &[Peer],
    ) -> Result<(), StepError> {
        let keep = needed_by_others(peers, &target.uid);
        let (selector, uid) = (self.selector(session), session.object.uid());
        let uninstall =
            Uninstall { cluster: &target.cluster, selector: &selector, anchor, owner_uid: uid, keep: &keep };
        uninstall.webhooks(&session.record.inventory).await.map_err(StepError::Target)
    }

    async fn note_removal(&self, session: &mut Session<'_>, removal: &Removal) {
        let waited = session.deleted_at().map(|since| self.clock.now().duration_since(since));
        let late = waited.is_some_and(|waited| waited > PATIENCE);
        match removal.remaining.first() {
            _ if !removal.blocked.is_empty() => {
                self.mark_blocked(session, Reason::DeletionFailed, &removal.blocked.join("; ")).await;
            }
            Some(first) if late => {
                let count = removal.remaining.len();
                let text = format!("{count} objects that were deleted are still there, {first} among them");
                self.mark_blocked(session, Reason::DeletionPending, &text).await;
            }
            _ => session.conditions().clear(ConditionType::DeletionBlocked),
        }
    }

    async fn mark_blocked(&self, session: &mut Session<'_>, reason: Reason, text: &str) {
        let now = self.clock.now();
        session.conditions().note(ConditionType::DeletionBlocked, reason, text, now);
        self.events.record(&session.key, &session.object, Severity::Warning, "DeletionBlocked", text).await;
    }

    /// Lets the custom resource go and leaves its objects, with an Event that lists them.
    async fn orphan(&self, session: &mut Session<'_>) -> Result<Next, StepError> {
        let objects: Vec<_> = session.record.inventory.objects.keys().map(ToString::to_string).collect();
        let place = session.record.target.as_ref().map_or_else(
            || "nowhere".into(),
            |bound| match &bound.profile {
                Some(profile) => format!("ClusterProfile {}/{}", profile.namespace, profile.name),
                None => "the local cluster".into(),
            },
        );
        let heading = format!("Orphaned {} objects on {place}", objects.len());
        self.events.record_list(&session.key, &session.object, "Orphaned", (&heading, &objects)).await;
        tracing::warn!(object = %session.key, objects = objects.join(", "), "{heading}: deletion policy is orphan");
        self.release_finalizer(session).await
    }

    async fn release_finalizer(&self, session: &mut Session<'_>) -> Result<Next, StepError> {
        let ours = session.key.kind.finalizer();
        let others: Vec<_> = session.finalizers().into_iter().filter(|finalizer| finalizer != ours).collect();
        let uid = session.object.uid().to_owned();
        match session.set_finalizers(&others).await {
            Ok(()) => {}
            Err(error) if error.failure.is_absent() => {}
            Err(error) => return Err(StepError::Hub(error)),
        }
        self.forget(&uid);
        Ok(Next::OnChange)
    }
}

/// Cluster-scoped objects that another custom resource on the same cluster still lists.
pub(super) fn needed_by_others(peers: &[Peer], cluster: &str) -> BTreeSet<ObjectKey> {
    let there = peers
        .iter()
        .filter_map(|peer| peer.record.as_ref())
        .filter(|record| record.target.as_ref().is_some_and(|target| target.cluster == cluster));
    there
        .flat_map(|record| record.inventory.objects.keys())
        .filter(|key| key.namespace.is_empty())
        .cloned()
        .collect()
}
