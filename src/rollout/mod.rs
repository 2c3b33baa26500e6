//! Which custom resources may move to a new release now (opt-in).
//!
//! A resource without `spec.version` follows the newest release, so a new operator moves the whole fleet at once. Whoever
//! does not want that creates a ConfigMap `config-rollout` in the operator's namespace ([`config`]): waves by labels, so
//! many at a time, or none for now. Without it nothing here has any effect; a first install, and a resource that names
//! its version, are never held up.
//!
//! [`decide`] is pure. What has begun is noted in the status before anything is written to the target
//! ([`BEGUN`]), so that neither a restart nor a second leader begins more than allowed; [`Ledger`] knows it a
//! moment earlier, of passes that run side by side.

pub mod config;

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;

use self::config::Rollout;
use crate::index::Key;

/// Annotation of the status with the release that a resource is moving to.
pub const BEGUN: &str = "operator.knative.dev/rollout";

/// Labels that waves select by: of the custom resource, and of its ClusterProfile where the resource does not say
/// otherwise.
pub type Labels = Arc<BTreeMap<String, String>>;

/// A custom resource as far as rollouts are concerned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Which one.
    pub key: Key,
    /// What waves select by.
    pub labels: Labels,
    /// The release that is completely installed; none before the first install is over.
    pub installed: Option<String>,
    /// The release it is moving to.
    pub begun: Option<String>,
    /// Whether it is Ready.
    pub ready: bool,
}

impl Member {
    fn is_done(&self, target: &str) -> bool {
        self.ready && self.installed.as_deref() == Some(target)
    }

    fn is_under_way(&self, target: &str) -> bool {
        self.begun.as_deref() == Some(target) && !self.is_done(target)
    }
}

/// Whether a custom resource may move to a release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It may.
    Go,
    /// Not yet.
    Hold {
        /// Why.
        why: Why,
        /// Whether it is among the first whose turn will come.
        next: bool,
    },
}

/// Why a custom resource may not move yet. The texts do not count anything, so that a long wait is one write.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Why {
    /// Somebody said so.
    #[error("the rollout is paused")]
    Paused,
    /// Others come first.
    #[error("wave {0:?} comes first")]
    Wave(String),
    /// Too many are unavailable already.
    #[error("as many as may be are under way or not Ready")]
    Unavailable,
    /// Nobody knows what is wanted.
    #[error("ConfigMap config-rollout cannot be used: {0}")]
    Malformed(String),
}

/// Whether `me` may move to `target`, given all others of its kind that follow the newest release.
pub fn decide(rollout: &Rollout, target: &str, me: &Member, others: &[Member]) -> Decision {
    // What has begun goes on: half of two releases is worse than either.
    if me.begun.as_deref() == Some(target) {
        return Decision::Go;
    }
    let hold = |why| Decision::Hold { why, next: false };
    if rollout.paused {
        return hold(Why::Paused);
    }
    let mine = rollout.wave_of(&me.labels);
    let behind = others.iter().filter(|other| other.installed.is_some() && !other.is_done(target));
    let earliest = behind.clone().map(|other| rollout.wave_of(&other.labels)).min();
    if let Some(earlier) = earliest.filter(|wave| *wave < mine) {
        return hold(Why::Wave(rollout.name_of(earlier)));
    }
    let Some(bound) = rollout.max_unavailable(others.len() + 1) else { return Decision::Go };
    let unavailable = others.iter().filter(|other| other.is_under_way(target) || !other.ready).count();
    if unavailable < bound || !me.ready {
        return Decision::Go;
    }
    let before_me = behind.filter(|other| {
        rollout.wave_of(&other.labels) == mine && !other.is_under_way(target) && other.key < me.key
    });
    Decision::Hold { why: Why::Unavailable, next: before_me.count() < bound }
}

/// What has begun in this process, before the hub's watch tells.
#[derive(Debug, Default)]
pub struct Ledger(Mutex<BTreeMap<Key, String>>);

impl Ledger {
    /// Forgets everything: what other leaders let begin is in the custom resources.
    pub fn clear(&self) {
        self.0.lock().clear();
    }

    /// [`decide`], one at a time, with what was decided before.
    pub fn decide(&self, rollout: &Rollout, target: &str, me: &Member, others: &[Member]) -> Decision {
        let mut begun = self.0.lock();
        let known = |member: &Member| {
            let noted = begun.get(&member.key).cloned();
            Member { begun: noted.or_else(|| member.begun.clone()), ..member.clone() }
        };
        let others: Vec<_> = others.iter().map(known).collect();
        let decision = decide(rollout, target, &known(me), &others);
        if decision == Decision::Go {
            begun.insert(me.key.clone(), target.into());
        }
        decision
    }

    /// A custom resource has arrived, or is gone.
    pub fn forget(&self, key: &Key) {
        self.0.lock().remove(key);
    }
}

#[cfg(test)]
mod tests;
