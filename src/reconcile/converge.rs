//! Towards what the custom resource asks for.
//!
//! Order matters: nothing is written to a target before the record names it and what will be there; nothing is
//! pruned before what replaces it has rolled out.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::desired::Desired;
use super::drift;
use super::error::StepError;
use super::events::Severity;
use super::finalize::needed_by_others;
use super::record::BoundTarget;
use super::session::Session;
use super::{ADOPT, Next, Reconciler};
use crate::api::message;
use crate::api::{ClusterProfileRef, Component, ComponentKind, ConditionStatus, ConditionType, Reason};
use crate::apply::anchor::{self, AnchorError, Claim, Identity};
use crate::apply::install::{Gate, Installation, Memory, Terms, Upkeep, install};
use crate::apply::namespace::{self, NamespaceMetadata};
use crate::apply::observe::{Observed, observe};
use crate::apply::prune::prune;
use crate::index::Peer;
use crate::manifest::{GroupKind, ObjectKey, Release};
use crate::metrics::Change;
use crate::plan::{self, Facts, Owner, PhaseName, Plan};
use crate::target::cluster::Failure;
use crate::target::grant::Applicant;
use crate::target::resolve::Target;

/// UID in plans that are made before the anchor exists.
const NO_UID: &str = "00000000-0000-0000-0000-000000000000";

impl Reconciler {
    pub(super) async fn converge(
        &self,
        session: &mut Session<'_>,
        peers: &[Peer],
    ) -> Result<Next, StepError> {
        let mut component = Self::component(session)?;
        let hold = self.hold(session, &mut component, peers).await?;
        let release = match self.release(session, &component).await {
            Ok(Some(release)) => release,
            Ok(None) => return Ok(Next::After(self.intervals.drift)),
            // The release that is to stay for now is not at hand any more. It stays as it is.
            Err(StepError::Manifest(_)) if let Some(hold) = hold => return Ok(hold),
            Err(error) => return Err(error),
        };
        let Some(target) = self.target(session, &component, peers).await? else {
            return Ok(Next::After(self.intervals.drift));
        };
        if !self.may_follow_definitions(session, &component, &release, &target).await? {
            return Ok(Next::After(self.intervals.drift));
        }
        let planned = self.plan_and_record(session, &component, &release, &target, peers).await?;
        if planned.upkeep == Upkeep::Report && !planned.drifted.is_empty() {
            return Ok(self.report_lost_anchor(session, &planned).await);
        }
        let memory = self.take_memory(session.object.uid());
        let (next, memory) = self.install(session, &component, &planned, &target, peers, memory).await?;
        self.keep_memory(session.object.uid(), memory);
        session.status.manifests = release.sources;
        if session.becomes_ready() {
            self.targets.confirm(component.spec.common.cluster_profile_ref.as_ref(), &target).await?;
        }
        Ok(hold.map_or(next, |hold| hold.earlier(next)))
    }

    /// The release that is asked for; `None` when it must not be migrated to.
    async fn release(
        &self,
        session: &mut Session<'_>,
        component: &Component,
    ) -> Result<Option<Release>, StepError> {
        let now = self.clock.now();
        let wanted = self.catalog.target_version(component).await?;
        if !self.may_follow_status(session, component, &wanted) {
            return Ok(None);
        }
        let release = self.catalog.release(component).await?;
        if release.stale.is_empty() {
            session.conditions().clear(ConditionType::ManifestsCurrent);
        } else {
            let text = message::last_good(&release.stale);
            session.conditions().mark_false(
                ConditionType::ManifestsCurrent,
                Reason::LastGoodCopy,
                &text,
                now,
            );
        }
        Ok(Some(release))
    }

    /// The target, resolved and not in use by an older custom resource; `None` when it must not be touched.
    pub(super) async fn target(
        &self,
        session: &mut Session<'_>,
        component: &Component,
        peers: &[Peer],
    ) -> Result<Option<Target>, StepError> {
        let now = self.clock.now();
        let asked = component.spec.common.cluster_profile_ref.as_ref();
        let refuse = |session: &mut Session<'_>, reason, text: &str| {
            session.conditions().mark_false(ConditionType::TargetClusterResolved, reason, text, now);
            Ok(None)
        };
        if let Some(bound) = &session.record.target
            && bound.profile.as_ref() != asked
        {
            let name = |profile: Option<&ClusterProfileRef>| {
                profile.map_or_else(
                    || "the local cluster".into(),
                    |p| format!("ClusterProfile {}/{}", p.namespace, p.name),
                )
            };
            let text = format!(
                "installed on {}, which cannot be changed to {}; delete this resource and create another",
                name(bound.profile.as_ref()),
                name(asked)
            );
            return refuse(session, Reason::TargetChanged, &text);
        }
        let applicant = Applicant { kind: session.key.kind, namespace: session.key.namespace.clone() };
        self.targets.permit(&applicant, asked).await?;
        let target = self.targets.resolve(asked).await?;
        let created = session.object.value()["metadata"]["creationTimestamp"].as_str().unwrap_or_default();
        let senior = peers.iter().find(|peer| {
            let same = peer.key.kind == session.key.kind;
            let bound = peer.record.as_ref().and_then(|record| record.target.as_ref());
            same && bound.is_some_and(|bound| bound.cluster == target.uid)
                && peer.is_senior_to(created, session.object.uid())
        });
        if let Some(senior) = senior {
            let text =
                format!("{} already installs into this cluster; only the oldest of a kind does", senior.key);
            return refuse(session, Reason::TargetClusterInUse, &text);
        }
        session.conditions().mark_true(ConditionType::TargetClusterResolved, now);
        Ok(Some(target))
    }

    /// Makes the plan, and records target and inventory before anything is written to the target.
    pub(super) async fn plan_and_record(
        &self,
        session: &mut Session<'_>,
        component: &Component,
        release: &Release,
        target: &Target,
        peers: &[Peer],
    ) -> Result<Planned, StepError> {
        let remote = component.is_remote();
        let namespace = namespace(session, component);
        let me = self.identity(session).await?;
        let lives = |uid: &str| peers.iter().any(|peer| peer.uid == uid);
        let adopt = session.annotation(ADOPT).map(str::to_owned);
        let claim = Claim {
            cluster: &target.cluster,
            namespace: &namespace,
            me: &me,
            lives: &lives,
            adopt: adopt.as_deref(),
        };
        let found = match remote {
            true => claim.find().await?,
            false => None,
        };
        let planned_uid: String = match (&found, remote) {
            (Some(anchor), _) => anchor.uid().into(),
            (None, true) => NO_UID.into(),
            (None, false) => session.object.uid().into(),
        };
        let mut facts = self.facts(session, component, release, target, &namespace).await?;
        facts.owner = Some(owner(component, planned_uid.clone()));
        let desired = self.plans.desired(component, release, &facts)?;
        self.note_overrides(session, &desired.plan);
        let upkeep = drift::upkeep(session, &desired.digest, &target.uid);
        self.record(session, component, target, &namespace, &desired.plan).await?;
        if !remote {
            let id = apply_set(session, &namespace, remote);
            let parent = anchor::parent_metadata(&id, &namespace, &session.record.inventory);
            session.merge_metadata(&parent).await.map_err(StepError::Hub)?;
            return Ok(Planned { desired, owner_uid: planned_uid, upkeep, drifted: Vec::new() });
        }
        if upkeep == Upkeep::Report {
            let name = plan::anchor_name(session.key.kind, &session.key.name);
            let lost = ObjectKey { kind: GroupKind::new("", "ConfigMap"), namespace, name };
            let drifted = if found.is_none() { vec![lost] } else { Vec::new() };
            return Ok(Planned { desired, owner_uid: planned_uid, upkeep, drifted });
        }
        let metadata = namespace_metadata(component);
        let live = namespace::ensure(&target.cluster, &namespace, &me.uid, &metadata).await;
        let live = live.map_err(StepError::Target)?;
        if namespace::is_terminating(&live) {
            self.withdraw_webhooks(session, target, found.as_ref(), peers).await?;
            let cluster = target.cluster.name().into();
            let held_by = namespace::hindrances(&live);
            return Err(AnchorError::NamespaceTerminating { namespace, cluster, held_by }.into());
        }
        let anchor = claim.ensure(found, &session.record.inventory).await?;
        if anchor.is_terminating() {
            self.withdraw_webhooks(session, target, Some(&anchor), peers).await?;
            let (ObjectKey { namespace, name, .. }, cluster) = (anchor.key(), target.cluster.name().into());
            return Err(AnchorError::Terminating { namespace, name, cluster }.into());
        }
        let owner_uid = anchor.uid().to_owned();
        if owner_uid == planned_uid {
            return Ok(Planned { desired, owner_uid, upkeep, drifted: Vec::new() });
        }
        facts.owner = Some(owner(component, owner_uid.clone()));
        let desired = self.plans.desired(component, release, &facts)?;
        // A settled installation had an anchor. That everything gets the new one as its owner is no drift of its own.
        let drifted = if upkeep == Upkeep::Repair { vec![anchor.key()] } else { Vec::new() };
        Ok(Planned { desired, owner_uid, upkeep, drifted })
    }

    /// Says which overrides are without effect (W42).
    fn note_overrides(&self, session: &mut Session<'_>, plan: &Plan) {
        let now = self.clock.now();
        if plan.unknown_names.is_empty() {
            session.conditions().clear(ConditionType::OverridesApplied);
            return;
        }
        let text = message::without_effect(&plan.unknown_names);
        session.conditions().mark_false(ConditionType::OverridesApplied, Reason::UnknownNames, &text, now);
    }

    /// Writes target and inventory ahead, if they say anything new.
    async fn record(
        &self,
        session: &mut Session<'_>,
        component: &Component,
        target: &Target,
        namespace: &str,
        plan: &Plan,
    ) -> Result<(), StepError> {
        let profile = component.spec.common.cluster_profile_ref.clone();
        let bound = BoundTarget { profile, cluster: target.uid.clone(), namespace: namespace.into() };
        let members = members(plan, &bound);
        let before = session.record.target.replace(bound);
        if let Some(before) = before.filter(|before| before.cluster != target.uid) {
            let text = message::moved(&before.cluster, &target.uid, session.record.inventory.objects.len());
            let severity = Severity::Warning;
            self.events.record(&session.key, &session.object, severity, "TargetReplaced", &text).await;
        }
        session.record.inventory.extend(&members);
        session.save_record().await.map_err(StepError::Hub)
    }

    async fn install(
        &self,
        session: &mut Session<'_>,
        component: &Component,
        planned: &Planned,
        target: &Target,
        peers: &[Peer],
        mut memory: Memory,
    ) -> Result<(Next, Memory), StepError> {
        let selector = self.selector(session);
        let kinds = session.record.inventory.kinds();
        let observed =
            observe(&target.cluster, &kinds, &selector, &memory).await.map_err(StepError::Target)?;
        let Planned { desired, upkeep, .. } = planned;
        let Desired { plan, digests, .. } = &**desired;
        let gates = gates(component.kind, session, plan);
        let uid = session.object.uid().to_owned();
        let inventory = &mut session.record.inventory;
        let phases = (plan.phases.as_slice(), digests);
        let terms = Terms { upkeep: *upkeep, created_for: &uid };
        let report = install(&target.cluster, phases, terms, &gates, &observed, inventory, &mut memory)
            .await
            .map_err(StepError::Target)?;
        let drifted = drift::drifted(planned, &report);
        self.note_drift(session, *upkeep, &drifted).await;
        if *upkeep == Upkeep::Install || !planned.drifted.is_empty() {
            self.metrics().changed(Change::Applied, report.written.len());
        }
        if !report.written.is_empty() {
            tracing::info!(object = %session.key, cluster = target.cluster.name(), owner = planned.owner_uid,
                objects = report.written.len(), "applied");
        }
        if !self.judge(session, &report) {
            // What was just written changes soon; what waits for others is looked at at the usual pace.
            let soon = !report.deferred.is_empty() && *upkeep != Upkeep::Report;
            return Ok((
                Next::After(if soon { self.intervals.removal_poll } else { self.intervals.poll }),
                memory,
            ));
        }
        let (next, settled) = self.prune(session, plan, target, peers, &observed).await?;
        if settled {
            Self::settle(session, *upkeep, &drifted, &desired.digest);
            self.end_rollout(session);
        }
        Ok((next, memory))
    }

    /// Turns a report into conditions. Returns whether the installation is complete.
    fn judge(&self, session: &mut Session<'_>, report: &Installation) -> bool {
        let now = self.clock.now();
        if !report.unready.is_empty() {
            let text = message::waiting_on(report.unready.iter().map(|(key, _)| key.name.as_str()));
            session.conditions().mark_false(
                ConditionType::DeploymentsAvailable,
                Reason::NotReady,
                &text,
                now,
            );
        } else if report.held.is_empty() && report.deferred.is_empty() {
            session.conditions().mark_true(ConditionType::DeploymentsAvailable, now);
        } else {
            // Without a word about it, what was True for the specification before would seem so for this one.
            let text = "what is left to apply waits for its definitions or its webhook";
            session.conditions().mark_unknown(
                ConditionType::DeploymentsAvailable,
                Reason::NotReady,
                text,
                now,
            );
        }
        // Last, so that Ready tells of the refusal rather than of what waits because of it.
        if !report.rejected.is_empty() {
            let refusals: Vec<_> =
                report.rejected.iter().map(|(key, refusal)| format!("{key}: {refusal}")).collect();
            let text = format!("Install failed with message: {}", refusals.join("; "));
            let reason = Reason::ObjectsRejected;
            session.conditions().mark_false(ConditionType::InstallSucceeded, reason, &text, now);
        }
        report.is_complete()
    }

    /// Removes what is not wanted any more, and declares success when that is done too. Also tells whether everything is
    /// gone by now.
    async fn prune(
        &self,
        session: &mut Session<'_>,
        plan: &Plan,
        target: &Target,
        peers: &[Peer],
        observed: &Observed,
    ) -> Result<(Next, bool), StepError> {
        let now = self.clock.now();
        let bound = session.record.target.as_ref().expect("it was recorded before anything was installed");
        let (wanted, keep) = (members(plan, bound), needed_by_others(peers, &target.uid));
        let obsolete: BTreeMap<_, _> = session
            .record
            .inventory
            .objects
            .iter()
            .filter(|(key, _)| !wanted.contains_key(key) && !keep.contains(key))
            .filter(|(key, _)| key.kind.kind != "CustomResourceDefinition")
            .map(|(key, api_version)| (key.clone(), api_version.clone()))
            .collect();
        let uid = session.object.uid();
        let left = prune(&target.cluster, &obsolete, uid, observed).await.map_err(StepError::Target)?;
        self.metrics().changed(Change::Pruned, left.iter().filter(|(_, error)| error.is_none()).count());
        let still: BTreeSet<&ObjectKey> = left.iter().map(|(key, _)| key).collect();
        session.record.inventory.objects.retain(|key, _| wanted.contains_key(key) || still.contains(key));
        let refused: Vec<_> = left
            .iter()
            .filter_map(|(key, error)| Some(format!("{key}: {}", error.as_ref()?.failure)))
            .collect();
        if !refused.is_empty() {
            let text = format!("failed to delete obsolete resources: {}", refused.join("; "));
            let reason = Reason::PruneFailed;
            session.conditions().mark_false(ConditionType::InstallSucceeded, reason, &text, now);
            return Ok((Next::Backoff, false));
        }
        session.status.version = Some(plan.target_version.clone());
        session.conditions().mark_true(ConditionType::InstallSucceeded, now);
        if session.conditions().status(ConditionType::DependenciesInstalled) == ConditionStatus::Unknown {
            session.conditions().mark_true(ConditionType::DependenciesInstalled, now);
        }
        let rest = if left.is_empty() { self.intervals.drift } else { self.intervals.removal_poll };
        Ok((Next::After(rest), left.is_empty()))
    }

    pub(super) async fn identity(&self, session: &Session<'_>) -> Result<Identity, StepError> {
        Ok(Identity {
            hub: self.targets.hub_uid().await?,
            namespace: session.key.namespace.clone(),
            name: session.key.name.clone(),
            uid: session.object.uid().into(),
            kind: session.key.kind,
        })
    }

    /// The label selector of everything that belongs to the custom resource.
    pub(super) fn selector(&self, session: &Session<'_>) -> String {
        let bound = session.record.target.as_ref();
        let remote = bound.is_some_and(|bound| bound.profile.is_some());
        let namespace = bound.map_or(session.key.namespace.as_str(), |bound| &bound.namespace);
        format!("{}={}", plan::PART_OF_LABEL, apply_set(session, namespace, remote))
    }

    async fn facts(
        &self,
        session: &Session<'_>,
        component: &Component,
        release: &Release,
        target: &Target,
        namespace: &str,
    ) -> Result<Facts, StepError> {
        let kinds: BTreeSet<(&str, &str)> = release
            .parts
            .iter()
            .flat_map(|part| part.objects.iter())
            .map(|o| (o.api_version(), o.kind()))
            .collect();
        for (api_version, kind) in kinds {
            match target.cluster.resource(api_version, kind).await {
                Ok(_) => {}
                Err(error) if matches!(error.failure, Failure::NoMatch { .. }) => {}
                Err(error) => return Err(StepError::Target(error)),
            }
        }
        let pingsource_adapter = match plan::pingsource_adapter(component, release) {
            None => None,
            Some(name) => {
                let resource =
                    target.cluster.resource("apps/v1", "Deployment").await.map_err(StepError::Target)?;
                target.cluster.get(&resource, namespace, name).await.map_err(StepError::Target)?
            }
        };
        Ok(Facts {
            owner: None,
            namespace: namespace.into(),
            apply_set: Some(apply_set(session, namespace, component.is_remote())),
            namespaced: target.cluster.mapping().scopes(),
            kubernetes_min_version: self.kubernetes_min_version.clone(),
            pingsource_adapter,
        })
    }
}

/// A plan, recorded, with what owns it and what differences from it mean.
pub(super) struct Planned {
    pub(super) desired: Arc<Desired>,
    pub(super) owner_uid: String,
    pub(super) upkeep: Upkeep,
    /// What was found drifted, and already put right, while planning: the anchor.
    pub(super) drifted: Vec<ObjectKey>,
}

/// ApplySet id: of the anchor, or of the custom resource itself when it is local.
fn apply_set(session: &Session<'_>, namespace: &str, remote: bool) -> String {
    let key = &session.key;
    match remote {
        true => plan::apply_set_id(
            &GroupKind::new("", "ConfigMap"),
            namespace,
            &plan::anchor_name(key.kind, &key.name),
        ),
        false => {
            let parent = GroupKind::new(key.kind.group(), key.kind.kind());
            plan::apply_set_id(&parent, &key.namespace, &key.name)
        }
    }
}

/// The anchor with this UID, or the custom resource itself when it is local.
fn owner(component: &Component, uid: String) -> Owner {
    if component.is_remote() { Owner::anchor(component, uid) } else { Owner::component(component) }
}

/// Where namespaced objects go: fixed by the first install.
fn namespace(session: &Session<'_>, component: &Component) -> String {
    let bound = session.record.target.as_ref().map(|bound| bound.namespace.as_str());
    bound.unwrap_or_else(|| plan::target_namespace(component)).to_owned()
}

fn namespace_metadata(component: &Component) -> NamespaceMetadata {
    let namespace = component.spec.common.namespace.as_ref();
    namespace.map_or_else(NamespaceMetadata::default, |namespace| NamespaceMetadata {
        labels: namespace.labels.clone(),
        annotations: namespace.annotations.clone(),
    })
}

/// Everything a plan holds, as inventory entries, and on a spoke the namespace of the anchor: we create it, also when
/// no manifest mentions it.
fn members(plan: &Plan, bound: &BoundTarget) -> BTreeMap<ObjectKey, String> {
    let namespace = bound.profile.is_some().then(|| ObjectKey {
        kind: GroupKind::new("", "Namespace"),
        namespace: String::new(),
        name: bound.namespace.clone(),
    });
    let planned = plan.objects().map(|object| (object.key(), object.api_version().to_owned()));
    namespace.map(|key| (key, "v1".to_owned())).into_iter().chain(planned).collect()
}

/// Serving's internal certificates are admitted by its own webhook.
fn gates(kind: ComponentKind, session: &Session<'_>, plan: &Plan) -> Vec<Gate> {
    let namespace = session.record.target.as_ref().map(|bound| bound.namespace.clone()).unwrap_or_default();
    let webhook = ObjectKey { kind: GroupKind::new("apps", "Deployment"), namespace, name: "webhook".into() };
    let planned = plan.objects().any(|object| object.key() == webhook);
    let gate = Gate { phase: PhaseName::WebhookDependents, workload: webhook };
    if kind == ComponentKind::Serving && planned { vec![gate] } else { Vec::new() }
}
