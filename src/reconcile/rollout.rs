//! Asking the rollout before a custom resource moves to a newer release. Reads the ConfigMap only then.

use super::error::StepError;
use super::session::Session;
use super::{Next, Reconciler};
use crate::api::{Component, ConditionType, Reason};
use crate::index::Peer;
use crate::rollout::config::{NAME, Rollout};
use crate::rollout::{BEGUN, Decision, Member, Why};

impl Reconciler {
    /// Keeps a custom resource at its installed release while a rollout holds it there. Returns when to ask again, then.
    pub(super) async fn hold(
        &self,
        session: &mut Session<'_>,
        component: &mut Component,
        peers: &[Peer],
    ) -> Result<Option<Next>, StepError> {
        let spec = &component.spec.common;
        let follows_newest = matches!(spec.version.as_str(), "" | "latest") && spec.manifests.is_empty();
        let installed = session.status.version.clone();
        let (Some(installed), true) = (installed, follows_newest) else { return Ok(self.free(session)) };
        let newest = self.catalog.target_version(component).await?;
        if newest == installed {
            return Ok(self.free(session));
        }
        let rollout = match self.rollout().await? {
            None => return Ok(self.free(session)),
            Some(rollout) => rollout,
        };
        let me = Member {
            key: session.key.clone(),
            labels: session.labels.clone(),
            installed: Some(installed.clone()),
            begun: session.status.annotations.get(BEGUN).cloned(),
            ready: session.conditions().is_ready(),
        };
        let same_kind = peers.iter().filter(|peer| peer.key.kind == session.key.kind);
        let others: Vec<_> = same_kind.filter_map(|peer| peer.member.clone()).collect();
        let (why, next) = match rollout {
            Err(complaint) => (Why::Malformed(complaint), false),
            Ok(rollout) => match self.ledger.decide(&rollout, &newest, &me, &others) {
                Decision::Hold { why, next } => (why, next),
                Decision::Go => {
                    tracing::info!(object = %session.key, from = installed, to = newest, "upgrading");
                    session.status.annotations.insert(BEGUN.into(), newest);
                    session.conditions().clear(ConditionType::UpgradeHeld);
                    return Ok(None);
                }
            },
        };
        let (text, now) = (format!("{installed} stays, {newest} waits: {why}"), self.clock.now());
        session.conditions().note(ConditionType::UpgradeHeld, Reason::RolloutHeld, &text, now);
        component.spec.common.version = installed;
        Ok(Some(Next::After(if next { self.intervals.poll } else { self.intervals.drift })))
    }

    /// Nothing holds it.
    fn free(&self, session: &mut Session<'_>) -> Option<Next> {
        session.conditions().clear(ConditionType::UpgradeHeld);
        None
    }

    /// It is where it was moving to.
    pub(super) fn end_rollout(&self, session: &mut Session<'_>) {
        let there = session.status.annotations.get(BEGUN) == session.status.version.as_ref();
        if there && session.status.annotations.remove(BEGUN).is_some() {
            self.ledger.forget(&session.key);
        }
    }

    /// What the ConfigMap says, or what is wrong with it; `None` without one.
    async fn rollout(&self) -> Result<Option<Result<Rollout, String>>, StepError> {
        let Some(namespace) = &self.rollout_namespace else { return Ok(None) };
        let hub = self.targets.hub();
        let resource = hub.resource("v1", "ConfigMap").await.map_err(StepError::Hub)?;
        let found = hub.get(&resource, namespace, NAME).await.map_err(StepError::Hub)?;
        Ok(found.map(|found| Rollout::parse(&found.value()["data"])))
    }
}
