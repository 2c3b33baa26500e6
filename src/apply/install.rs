//! Applies the phases of a plan: what differs, in order, concurrently inside a phase.

use std::collections::{BTreeMap, BTreeSet};

use futures::StreamExt;

use super::inventory::{Inventory, JobRecord};
use super::namespace;
use super::observe::Observed;
use super::ownership::{claim_items, has_predecessor, inherit};
use super::ready::{Readiness, job_finished, readiness};
use super::shape::{Fingerprint, fingerprint, is_as_desired, owned_fields};
use crate::manifest::{GroupKind, Object, ObjectKey};
use crate::plan::{Phase, PhaseName, Plan};
use crate::target::cluster::{Cluster, ClusterError, FIELD_MANAGER, Propagation};

/// Applies at a time, for one custom resource (the cluster has a bound of its own over all of them).
const APPLIES_IN_FLIGHT: usize = 16;

/// What the last apply of each object left behind, so that an unchanged object can be told from its metadata. It
/// may be lost at any time; then the objects are read once in full.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    objects: BTreeMap<ObjectKey, Remembered>,
}

#[derive(Clone, Debug)]
struct Remembered {
    uid: String,
    desired: Fingerprint,
    owned: Fingerprint,
}

impl Memory {
    /// Whether this very object was applied before.
    pub fn knows(&self, live: &Object) -> bool {
        self.objects.get(&live.key()).is_some_and(|known| known.uid == live.uid())
    }

    /// Whether the object is as it was when `desired` was last applied to it.
    fn unchanged(&self, desired: Fingerprint, live: &Object) -> bool {
        let Some(known) = self.objects.get(&live.key()) else { return false };
        let owned = owned_fields(live, FIELD_MANAGER).map(fingerprint);
        known.uid == live.uid() && known.desired == desired && owned == Some(known.owned)
    }

    /// A definition counts as known only once it is established, so that its status is read until then.
    fn remember(&mut self, desired: Fingerprint, live: &Object) {
        if live.kind() == "CustomResourceDefinition" && !is_established(live) {
            return;
        }
        if let Some(owned) = owned_fields(live, FIELD_MANAGER).map(fingerprint) {
            self.objects.insert(live.key(), Remembered { uid: live.uid().into(), desired, owned });
        }
    }

    /// Drops everything about objects that are not wanted any more.
    fn retain(&mut self, wanted: &BTreeSet<ObjectKey>) {
        self.objects.retain(|key, _| wanted.contains(key));
    }
}

/// Digests of desired objects, by identity.
pub type Digests = BTreeMap<ObjectKey, Fingerprint>;

/// The digests of everything in a plan.
pub fn digests(plan: &Plan) -> Digests {
    plan.objects().map(|object| (object.key(), fingerprint(object.value()))).collect()
}

/// What a difference between the cluster and the plan means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Upkeep {
    /// The plan is not installed yet: it is work to do.
    Install,
    /// The plan was installed, and somebody else did it: it is put right.
    Repair,
    /// The plan was installed, and somebody else did it: it is told, and nothing is written.
    Report,
}

/// On which terms objects are written.
#[derive(Clone, Copy, Debug)]
pub struct Terms<'a> {
    /// What differences mean.
    pub upkeep: Upkeep,
    /// UID of the custom resource for which namespaces that are not there are created.
    pub created_for: &'a str,
}

/// What an install pass did and found.
#[derive(Debug, Default)]
pub struct Installation {
    /// Objects that were written.
    pub written: Vec<ObjectKey>,
    /// Objects that differ and were left so.
    pub left: Vec<ObjectKey>,
    /// Objects that the cluster refused, each with its words.
    pub rejected: Vec<(ObjectKey, String)>,
    /// Workloads that have not rolled out, with why, in the order of the plan.
    pub unready: Vec<(ObjectKey, String)>,
    /// Objects of kinds whose definitions are not established yet.
    pub deferred: Vec<ObjectKey>,
    /// Phases held back by a gate.
    pub held: Vec<PhaseName>,
}

impl Installation {
    /// Whether everything is applied and rolled out.
    pub fn is_complete(&self) -> bool {
        self.rejected.is_empty()
            && self.unready.is_empty()
            && self.deferred.is_empty()
            && self.held.is_empty()
    }
}

/// A phase that must wait for a workload.
#[derive(Clone, Debug)]
pub struct Gate {
    /// The phase.
    pub phase: PhaseName,
    /// The workload that must have rolled out.
    pub workload: ObjectKey,
}

/// Applies what differs, unless the terms are to report it; `digests` are those of the objects in `phases`. `status` of
/// desired objects must be left out: it is not ours to write. An object that the cluster refuses for what it is does not
/// stop the others.
///
/// # Errors
/// The first failure that concerns the cluster rather than one object.
pub async fn install(
    cluster: &Cluster,
    (phases, digests): (&[Phase], &Digests),
    terms: Terms<'_>,
    gates: &[Gate],
    observed: &Observed,
    inventory: &mut Inventory,
    memory: &mut Memory,
) -> Result<Installation, ClusterError> {
    let wanted: BTreeSet<_> = phases.iter().flat_map(|p| &p.objects).map(Object::key).collect();
    memory.retain(&wanted);
    let mut live = Live { observed: &observed.objects, written: BTreeMap::new() };
    let mut report = Installation::default();
    for phase in phases {
        let held = gates.iter().any(|gate| {
            gate.phase == phase.name
                && live.get(&gate.workload).is_none_or(|w| readiness(w) != Readiness::Ready)
        });
        if held && !phase.objects.is_empty() {
            report.held.push(phase.name);
            continue;
        }
        let pending = pending_kinds(phases, &live);
        let mut steps = Vec::new();
        for object in &phase.objects {
            let key = object.key();
            if pending.contains(&key.kind) {
                report.deferred.push(key);
                continue;
            }
            if let Some(refusal) = observed.forbidden_kinds.get(&key.kind) {
                report.rejected.push((key, refusal.clone()));
                continue;
            }
            let step =
                decide(cluster, (object, digests[&key]), terms.upkeep, live.get(&key), inventory, memory)
                    .await?;
            steps.push(take(cluster, step, terms));
        }
        let mut steps = futures::stream::iter(steps).buffered(APPLIES_IN_FLIGHT);
        while let Some(outcome) = steps.next().await {
            match outcome {
                None => {}
                Some((object, Ok(Taken::Left))) => report.left.push(object.key()),
                Some((object, Ok(Taken::InShape(stored)))) => {
                    memory.remember(digests[&object.key()], &stored);
                }
                Some((object, Ok(Taken::Written(stored)))) => {
                    memory.remember(digests[&object.key()], &stored);
                    report.written.push(object.key());
                    live.written.insert(object.key(), stored);
                }
                Some((object, Err(error))) if error.failure.is_rejection() => {
                    report.rejected.push((object.key(), error.failure.to_string()));
                }
                Some((_, Err(error))) => return Err(error),
            }
        }
    }
    let objects = phases.iter().flat_map(|phase| &phase.objects);
    report.unready = objects.filter_map(|object| unready(&object.key(), &live)).collect();
    record_jobs(phases, &live, inventory);
    Ok(report)
}

/// The objects on the cluster: as they were found, and as they were written since.
struct Live<'a> {
    observed: &'a BTreeMap<ObjectKey, Object>,
    written: BTreeMap<ObjectKey, Object>,
}

impl Live<'_> {
    fn get(&self, key: &ObjectKey) -> Option<&Object> {
        self.written.get(key).or_else(|| self.observed.get(key))
    }
}

/// What has to be done about an object.
enum Step<'a> {
    /// It is in shape.
    Nothing,
    /// It must be sent.
    Apply(&'a Object),
    /// Only the server can tell whether sending it would change this live object.
    Ask(&'a Object, Object),
}

/// Decides about one object. What is found in shape without being remembered is remembered now.
async fn decide<'a>(
    cluster: &Cluster,
    (desired, digest): (&'a Object, Fingerprint),
    upkeep: Upkeep,
    live: Option<&Object>,
    inventory: &Inventory,
    memory: &mut Memory,
) -> Result<Step<'a>, ClusterError> {
    if desired.is("batch", "Job") {
        let due = job_needs_apply(cluster, desired, upkeep, live, inventory).await?;
        return Ok(if due { Step::Apply(desired) } else { Step::Nothing });
    }
    let Some(live) = live.filter(|live| !has_predecessor(live)) else { return Ok(Step::Apply(desired)) };
    if memory.unchanged(digest, live) {
        return Ok(Step::Nothing);
    }
    if is_as_desired(desired, live, FIELD_MANAGER) {
        memory.remember(digest, live);
        return Ok(Step::Nothing);
    }
    let unsure = !memory.knows(live) && owned_fields(live, FIELD_MANAGER).is_some();
    Ok(if unsure { Step::Ask(desired, live.clone()) } else { Step::Apply(desired) })
}

/// What became of a step.
enum Taken {
    /// The object, which is in shape.
    InShape(Object),
    /// The object, as it was just stored.
    Written(Object),
    /// It differs, and nothing was written.
    Left,
}

/// Takes the step.
async fn take<'a>(
    cluster: &Cluster,
    step: Step<'a>,
    terms: Terms<'_>,
) -> Option<(&'a Object, Result<Taken, ClusterError>)> {
    match step {
        Step::Nothing => None,
        Step::Apply(desired) => Some((desired, write(cluster, desired, terms).await)),
        Step::Ask(desired, live) => match cluster.dry_run(desired).await {
            Ok(would_be) if would_be == live => Some((desired, Ok(Taken::InShape(live)))),
            Err(error) if !error.failure.is_invalid() => Some((desired, Err(error))),
            _ => Some((desired, write(cluster, desired, terms).await)),
        },
    }
}

async fn write(cluster: &Cluster, desired: &Object, terms: Terms<'_>) -> Result<Taken, ClusterError> {
    match terms.upkeep {
        Upkeep::Report => Ok(Taken::Left),
        _ => send_undisputed(cluster, desired, terms.created_for).await.map(Taken::Written),
    }
}

/// Sends an object. Claims of others that are in the way are given up, once: those of the operator before us, which
/// would keep for ever what we leave out, and those on items of lists that cannot be beside ours.
async fn send_undisputed(
    cluster: &Cluster,
    desired: &Object,
    created_for: &str,
) -> Result<Object, ClusterError> {
    let (stored, claim) = match send(cluster, desired, created_for).await {
        // Jobs are replaced, never updated.
        Ok(stored) if desired.is("batch", "Job") => return Ok(stored),
        Ok(stored) => {
            let claim = inherit(&stored);
            (Ok(stored), claim)
        }
        Err(error) if error.failure.is_invalid() => {
            let resource = cluster.resource(desired.api_version(), desired.kind()).await?;
            let live = cluster.get(&resource, desired.namespace(), desired.name()).await?;
            (Err(error), live.as_ref().and_then(claim_items))
        }
        Err(error) => return Err(error),
    };
    let Some(claim) = claim else { return stored };
    match cluster.json_patch(desired, &claim).await {
        Ok(_) => send(cluster, desired, created_for).await,
        // Somebody else wrote meanwhile: the claim is still there in the next pass.
        Err(error) if error.failure.is_conflict() => stored,
        Err(error) => Err(error),
    }
}

async fn send(cluster: &Cluster, desired: &Object, created_for: &str) -> Result<Object, ClusterError> {
    match desired.is("", "Namespace") {
        true => namespace::apply(cluster, desired, created_for).await,
        false => cluster.apply(desired).await,
    }
}

/// A Job runs once for each content: it is created when its content has not run yet, and replaced, never updated,
/// when it changes, because its template is immutable.
async fn job_needs_apply(
    cluster: &Cluster,
    desired: &Object,
    upkeep: Upkeep,
    live: Option<&Object>,
    inventory: &Inventory,
) -> Result<bool, ClusterError> {
    let record = inventory.jobs.get(&job_name(desired));
    let same = record.is_some_and(|record| record.content == job_content(desired));
    match live {
        None => Ok(!(same && record.is_some_and(|record| record.finished))),
        Some(_) if same => Ok(false),
        // The record is lost, as after a hub was restored from a backup, but this is what we once created.
        Some(live) if record.is_none() && is_settled(cluster, desired, live).await? => Ok(false),
        Some(_) if upkeep == Upkeep::Report => Ok(true),
        Some(live) => {
            let resource = cluster.resource(desired.api_version(), "Job").await?;
            cluster.delete(&resource, &live.key(), live.uid(), Propagation::Background).await?;
            Ok(true)
        }
    }
}

/// Whether applying `desired` would change nothing of an object that we have applied before.
async fn is_settled(cluster: &Cluster, desired: &Object, live: &Object) -> Result<bool, ClusterError> {
    if is_as_desired(desired, live, FIELD_MANAGER) {
        return Ok(true);
    }
    if owned_fields(live, FIELD_MANAGER).is_none() {
        return Ok(false);
    }
    match cluster.dry_run(desired).await {
        Ok(would_be) => Ok(would_be == *live),
        Err(error) if error.failure.is_rejection() => Ok(false),
        Err(error) => Err(error),
    }
}

fn record_jobs(phases: &[Phase], live: &Live<'_>, inventory: &mut Inventory) {
    let jobs: Vec<_> = phases.iter().flat_map(|p| &p.objects).filter(|o| o.is("batch", "Job")).collect();
    let wanted: BTreeSet<_> = jobs.iter().map(|job| job_name(job)).collect();
    inventory.jobs.retain(|name, _| wanted.contains(name));
    for job in jobs {
        let content = job_content(job);
        if let Some(found) = live.get(&job.key()) {
            let finished = job_finished(found) == Some(true);
            inventory.jobs.insert(job_name(job), JobRecord { content, finished });
        }
    }
}

fn job_name(job: &Object) -> String {
    format!("{}/{}", job.namespace(), job.name())
}

/// Digest of what makes the Job run, which its owner is not part of.
fn job_content(job: &Object) -> String {
    fingerprint(&job.value()["spec"])[..8].iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unready(key: &ObjectKey, live: &Live<'_>) -> Option<(ObjectKey, String)> {
    let workload = super::ready::is_workload(&key.kind.group, &key.kind.kind) && key.kind.kind != "Job";
    if !workload {
        return None;
    }
    let why = match live.get(key).map(readiness) {
        Some(Readiness::Ready) => return None,
        Some(Readiness::Waiting(why) | Readiness::Failed(why)) => why,
        None => "missing".into(),
    };
    Some((key.clone(), why))
}

/// Kinds that the plan defines and the cluster does not serve yet.
fn pending_kinds(phases: &[Phase], live: &Live<'_>) -> BTreeSet<GroupKind> {
    let definitions =
        phases.iter().filter(|phase| phase.name == PhaseName::Definitions).flat_map(|p| &p.objects);
    let pending = definitions.filter(|d| d.kind() == "CustomResourceDefinition").filter(|definition| {
        // A list of metadata says nothing about conditions; what was there before this pass is established.
        live.get(&definition.key())
            .is_none_or(|live| live.value()["spec"].is_object() && !is_established(live))
    });
    let names = pending.map(|definition| {
        let spec = &definition.value()["spec"];
        GroupKind::new(
            spec["group"].as_str().unwrap_or_default(),
            spec["names"]["kind"].as_str().unwrap_or_default(),
        )
    });
    names.collect()
}

fn is_established(definition: &Object) -> bool {
    let conditions = definition.value()["status"]["conditions"].as_array();
    conditions.into_iter().flatten().any(|c| c["type"] == "Established" && c["status"] == "True")
}
