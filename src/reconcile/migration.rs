//! Whether the release that is asked for may follow what is there: by the word of the status, and by that of the
//! definitions on the cluster, which outlive a custom resource and a half-finished upgrade.

use std::collections::BTreeSet;

use super::Reconciler;
use super::error::StepError;
use super::session::Session;
use crate::api::{Component, ConditionType, Reason, message};
use crate::manifest::{Object, Release, VERSION_LABEL, version};
use crate::target::cluster::{Detail, Failure};
use crate::target::resolve::Target;

impl Reconciler {
    /// Judges by `status.version`. Returns whether the release may be installed.
    pub(super) fn may_follow_status(
        &self,
        session: &mut Session<'_>,
        component: &Component,
        wanted: &str,
    ) -> bool {
        let now = self.clock.now();
        let installed = session.status.version.clone();
        match version::check_migration(component.kind, wanted, installed.as_deref()) {
            Ok(()) => {
                session.conditions().mark_true(ConditionType::VersionMigrationEligible, now);
                true
            }
            Err(error) => {
                self.refuse_migration(session, &message::not_eligible(&error));
                false
            }
        }
    }

    /// Judges by the definitions of the release that are on the target. They are asked only when the status cannot know:
    /// before the first install, and on the way from one minor version to another. Returns whether the release may be
    /// installed.
    ///
    /// # Errors
    /// Any failure of the target.
    pub(super) async fn may_follow_definitions(
        &self,
        session: &mut Session<'_>,
        component: &Component,
        release: &Release,
        target: &Target,
    ) -> Result<bool, StepError> {
        let wanted = &release.target_version;
        let installed = session.status.version.as_deref();
        if installed.is_some_and(|installed| version::minor(installed) == version::minor(wanted)) {
            return Ok(true);
        }
        let ours: BTreeSet<&str> = release
            .parts
            .iter()
            .flat_map(|part| part.objects.iter())
            .filter(|object| object.kind() == "CustomResourceDefinition")
            .map(Object::name)
            .collect();
        if ours.is_empty() {
            return Ok(true);
        }
        let resource =
            match target.cluster.resource("apiextensions.k8s.io/v1", "CustomResourceDefinition").await {
                Err(error) if matches!(error.failure, Failure::NoMatch { .. }) => return Ok(true),
                resource => resource.map_err(StepError::Target)?,
            };
        let live = target
            .cluster
            .list(&resource, VERSION_LABEL, Detail::Metadata)
            .await
            .map_err(StepError::Target)?;
        for definition in live.iter().filter(|definition| ours.contains(definition.name())) {
            let Some(found) = definition.label(VERSION_LABEL).filter(|label| version::parse(label).is_some())
            else {
                continue;
            };
            if let Err(error) = version::check_migration(component.kind, wanted, Some(found)) {
                let text = message::not_eligible_by(&error, definition.name(), target.cluster.name());
                self.refuse_migration(session, &text);
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn refuse_migration(&self, session: &mut Session<'_>, text: &str) {
        let now = self.clock.now();
        session.conditions().mark_false(ConditionType::VersionMigrationEligible, Reason::Error, text, now);
    }
}
