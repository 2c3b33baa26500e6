//! One pass over one custom resource: read it, decide, act, write its status.
//!
//! `read -> finalizer -> converge | finalize -> status`. The steps are in `converge` and `finalize`; what a
//! failure means is in [`error`]. Nothing is remembered between passes but caches that may be lost at any time.

mod branch;
mod converge;
mod desired;
pub mod drift;
pub mod error;
pub mod events;
mod finalize;
mod migration;
pub mod record;
mod rollout;
mod session;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use self::desired::Plans;
use self::error::{Category, StepError};
use self::events::{Recorder, Severity};
use self::record::Record;
use self::session::Session;
use crate::api::message::{self, chain};
use crate::api::{Component, ConditionType, Reason};
use crate::apply::install::Memory;
use crate::clock::{Clock, rfc3339_secs};
use crate::index::{Key, Peer};
use crate::manifest::Catalog;
use crate::metrics::Metrics;
use crate::rollout::{Labels, Ledger};
use crate::target::cluster::{ClusterError, Failure};
use crate::target::mapping::Resource;
use crate::target::resolve::Targets;

/// Annotation that stops all writes for a custom resource.
pub const PAUSED: &str = "operator.knative.dev/paused";
/// Annotation that lets a custom resource go without its objects (`orphan`).
pub const DELETION_POLICY: &str = "operator.knative.dev/deletion-policy";
/// Annotation that has drift reported and not repaired (`report`).
pub const DRIFT_POLICY: &str = "operator.knative.dev/drift-policy";
/// Annotation with the UID of an anchor to take over.
pub const ADOPT: &str = "operator.knative.dev/adopt";

/// Annotation of the status, while the target does not answer: when it last had. It is written with the trouble and
/// goes with it, so that a fleet at rest costs no writes; who is not in trouble was asked within the last look.
pub const LAST_CONTACT: &str = "operator.knative.dev/last-contact";

/// How often things are looked at.
#[derive(Clone, Debug)]
pub struct Intervals {
    /// While an installation is on its way.
    pub poll: Duration,
    /// While a deletion waits for the garbage collector.
    pub removal_poll: Duration,
    /// At rest, for drift.
    pub drift: Duration,
}

impl Default for Intervals {
    fn default() -> Self {
        Self {
            poll: Duration::from_secs(10),
            removal_poll: Duration::from_secs(2),
            drift: Duration::from_secs(60),
        }
    }
}

/// When a key is looked at again, unless something happens before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Only when something happens.
    OnChange,
    /// After this time; the pass did what it could.
    After(Duration),
    /// After a growing time; the pass failed.
    Backoff,
    /// The target does not answer. After this time, or a growing one where none is known.
    Unreachable(Option<Duration>),
    /// At once; somebody else wrote first.
    AtOnce,
}

impl Next {
    /// Of two times the earlier; anything but a time goes before it.
    fn earlier(self, other: Self) -> Self {
        match (self, other) {
            (Self::After(ours), Self::After(theirs)) => Self::After(ours.min(theirs)),
            (Self::After(_) | Self::OnChange, other) if other != Self::OnChange => other,
            (ours, _) => ours,
        }
    }
}

/// Reconciles custom resources of both kinds.
pub struct Reconciler {
    targets: Targets,
    catalog: Catalog,
    clock: Arc<dyn Clock>,
    events: Recorder,
    intervals: Intervals,
    kubernetes_min_version: Option<String>,
    plans: Plans,
    /// By UID of the custom resource.
    memories: Mutex<BTreeMap<String, Memory>>,
    /// Namespace of the ConfigMap that controls rollouts; none: nothing does.
    rollout_namespace: Option<String>,
    ledger: Ledger,
}

impl Reconciler {
    /// A reconciler that remembers nothing.
    pub fn new(
        targets: Targets,
        catalog: Catalog,
        clock: Arc<dyn Clock>,
        intervals: Intervals,
        kubernetes_min_version: Option<String>,
    ) -> Self {
        let events = Recorder::new(targets.hub().clone(), clock.clone());
        let (plans, memories) = (Plans::default(), Mutex::default());
        let (rollout_namespace, ledger) = (None, Ledger::default());
        Self {
            targets,
            catalog,
            clock,
            events,
            intervals,
            kubernetes_min_version,
            plans,
            memories,
            rollout_namespace,
            ledger,
        }
    }

    /// Forgets what it has applied and let begin: since then another leader may have been at work, and what it did is no longer told
    /// from what somebody else did. The next pass over each custom resource reads everything.
    pub fn begin_term(&self) {
        self.memories.lock().clear();
        self.ledger.clear();
    }

    /// The same reconciler, which heeds the ConfigMap [`crate::rollout::config::NAME`] in this namespace of the hub.
    #[must_use]
    pub fn with_rollouts(self, namespace: String) -> Self {
        Self { rollout_namespace: Some(namespace), ..self }
    }

    /// Where it is counted.
    pub fn metrics(&self) -> &Metrics {
        self.targets.metrics()
    }

    /// One pass. `labels` are what waves select it by, `peers` the other custom resources of this hub.
    pub async fn reconcile(&self, key: &Key, labels: Labels, peers: &[Peer]) -> Next {
        match self.pass(key, labels, peers).await {
            Ok(next) => next,
            Err(error) if error.failure.is_conflict() => Next::AtOnce,
            Err(error) => {
                let failure = error.failure.branch();
                tracing::warn!(object = %key, failure, error = chain(&error), "reconcile failed at the hub");
                Next::Backoff
            }
        }
    }

    /// Fails only when the hub does; every other failure ends in the status.
    async fn pass(&self, key: &Key, labels: Labels, peers: &[Peer]) -> Result<Next, ClusterError> {
        let hub = self.targets.hub();
        let resource = hub.resource(key.kind.api_version(), key.kind.kind()).await?;
        let Some(object) = hub.get(&resource, &key.namespace, &key.name).await? else {
            return Ok(Next::OnChange);
        };
        let mut session = match Record::read(&object.value()["status"]["annotations"]) {
            Ok(record) => Session::new(hub, resource, key.clone(), object, record),
            // Nothing can be done safely without knowing what is installed.
            Err(error) => return self.report_unreadable(key, resource, object, &chain(&error)).await,
        };
        session.labels = labels;
        if !session.is_deleting() && !self.ensure_finalizer(&mut session).await? {
            return Ok(Next::AtOnce);
        }
        let now = self.clock.now();
        session.conditions().initialize(now);
        if self.note_pause(&mut session) {
            // What the conditions say is not about a specification that came during the pause.
            session.save().await?;
            return Ok(Next::OnChange);
        }
        session.status.observed_generation = Some(session.generation());
        let outcome = match session.is_deleting() {
            true => self.finalize(&mut session, peers).await,
            false => self.converge(&mut session, peers).await,
        };
        match outcome {
            Ok(next) => {
                session.status.annotations.remove(LAST_CONTACT);
                // A custom resource whose last finalizer was just removed has no status any more.
                if !(session.is_deleting() && session.finalizers().is_empty()) {
                    session.save().await?;
                }
                Ok(next)
            }
            Err(StepError::Hub(error)) => Err(error),
            Err(error) => self.report(&mut session, &error).await,
        }
    }

    /// Writes a failure to the status and says when to try again.
    async fn report(&self, session: &mut Session<'_>, error: &StepError) -> Result<Next, ClusterError> {
        let text = chain(error);
        let (branch, failure) = (error.branch(), error.failure().map(Failure::branch));
        tracing::warn!(object = %session.key, branch, failure, error = text, "reconcile failed");
        let now = self.clock.now();
        if let Some((condition, reason)) = error.condition() {
            let text = match condition {
                ConditionType::InstallSucceeded => message::install_failed(error),
                _ => text.clone(),
            };
            session.conditions().mark_false(condition, reason, &text, now);
        }
        if error.is_silence() {
            let answer = session.profile().and_then(|profile| self.targets.last_answer(&profile));
            if let Some(answer) = answer.map(rfc3339_secs) {
                session.status.annotations.entry(LAST_CONTACT.into()).or_insert(answer);
            }
        }
        if session.is_deleting() {
            let reason = error.condition().map_or(Reason::Error, |(_, reason)| reason);
            session.conditions().note(ConditionType::DeletionBlocked, reason, &text, now);
        }
        self.events.record(&session.key, &session.object, Severity::Warning, "InternalError", &text).await;
        session.save().await?;
        Ok(match error.category() {
            Category::UserFixable => Next::After(self.intervals.drift),
            Category::Transient if error.is_silence() => {
                Next::Unreachable(session.profile().and_then(|profile| self.targets.pause(&profile)))
            }
            Category::Transient => Next::Backoff,
            Category::Conflict => Next::AtOnce,
        })
    }

    async fn report_unreadable(
        &self,
        key: &Key,
        resource: Resource,
        object: crate::manifest::Object,
        text: &str,
    ) -> Result<Next, ClusterError> {
        // The stored annotations stay as they are: an empty record is never written over them.
        let mut session = Session::new(self.targets.hub(), resource, key.clone(), object, Record::default());
        let now = self.clock.now();
        session.conditions().initialize(now);
        session.conditions().mark_false(ConditionType::InstallSucceeded, Reason::Error, text, now);
        self.events.record(key, &session.object, Severity::Warning, "InternalError", text).await;
        session.save_keeping_record().await?;
        Ok(Next::OnChange)
    }

    /// Makes sure that the finalizer is there, as a separate write that is read back before anything else happens.
    /// Returns whether it was there already.
    async fn ensure_finalizer(&self, session: &mut Session<'_>) -> Result<bool, ClusterError> {
        let ours = session.key.kind.finalizer();
        let mut finalizers = session.finalizers();
        if finalizers.iter().any(|f| f == ours) {
            return Ok(true);
        }
        finalizers.push(ours.into());
        session.set_finalizers(&finalizers).await?;
        let note = format!("Updated {:?} finalizers", session.key.name);
        self.events.record(&session.key, &session.object, Severity::Normal, "FinalizerUpdate", &note).await;
        Ok(session.finalizers().iter().any(|f| f == ours))
    }

    fn note_pause(&self, session: &mut Session<'_>) -> bool {
        let paused = session.annotation(PAUSED) == Some("true");
        let now = self.clock.now();
        if paused {
            let text = format!("annotation {PAUSED} is set: nothing is written for this resource");
            session.conditions().note(ConditionType::Paused, Reason::PausedByAnnotation, &text, now);
        } else {
            session.conditions().clear(ConditionType::Paused);
        }
        paused
    }

    fn take_memory(&self, uid: &str) -> Memory {
        self.memories.lock().remove(uid).unwrap_or_default()
    }

    fn keep_memory(&self, uid: &str, memory: Memory) {
        self.memories.lock().insert(uid.into(), memory);
    }

    fn forget(&self, uid: &str) {
        self.memories.lock().remove(uid);
        self.plans.forget(uid);
        self.events.forget(uid);
    }

    /// The custom resource with its spec, or what is wrong with it.
    fn component(session: &Session<'_>) -> Result<Component, StepError> {
        Ok(Component::from_value(session.object.value())?)
    }
}
