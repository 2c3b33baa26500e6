//! What must never be seen: small judges, each with one promise, who watch every request and every end.
//!
//! None of them asks the operator anything. They see requests as they arrive at the clusters, the clusters before and
//! after, and what the world itself did to them ([`Facts`]).

mod blocked;
mod claims;
mod finalizer;
mod foreign;
mod hot_loop;
mod isolation;
mod jury;
mod leaders;
mod manners;
pub mod member;
mod neighbour;
mod ownership;
mod record;
mod rest;
mod secrets;
mod tokens;
pub mod view;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use fake_apiserver::Snapshot;
use parking_lot::Mutex;
use serde::Serialize;
use serde_json::Value;

pub use self::jury::Jury;
use self::view::View;
use crate::wire::{Letter, Seen};

/// A broken promise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Violation {
    /// Whose promise.
    pub oracle: &'static str,
    /// Milliseconds since the beginning.
    pub millis: u64,
    /// What was seen.
    pub text: String,
}

impl std::fmt::Display for Violation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} at {:.3} s: {}", self.oracle, self.millis as f64 / 1000.0, self.text)
    }
}

/// What the world did, which oracles must know to be fair. A cheap handle.
#[derive(Clone, Default)]
pub struct Facts(Arc<Mutex<Known>>);

#[derive(Default)]
struct Known {
    /// Objects of others, by cluster: key in the form of [`foreign_key`], and what must stay as it is.
    foreign: BTreeMap<(String, ForeignKey), Value>,
    /// When somebody last did something to a cluster.
    touched: BTreeMap<String, u64>,
    /// The same without what users ask for.
    disturbed: BTreeMap<String, u64>,
    /// Clusters with which something is wrong all the time, and what.
    unruly: BTreeSet<(String, &'static str)>,
    resting: bool,
    /// Sets whose objects a user has left to themselves.
    abandoned: BTreeSet<String>,
}

/// Group, kind, namespace, name.
pub type ForeignKey = (String, String, String, String);

impl Facts {
    /// Somebody else's object: it must stay as it is.
    pub fn protect(&self, site: &str, key: ForeignKey, object: Value) {
        self.0.lock().foreign.insert((site.into(), key), object);
    }

    /// Objects of others in a namespace (or, when it is empty, everywhere) of a cluster may go from now on.
    pub fn release(&self, site: &str, namespace: &str) {
        let gone = |(s, key): &(String, ForeignKey)| {
            s == site && (namespace.is_empty() || key.2 == namespace || key.3 == namespace)
        };
        self.0.lock().foreign.retain(|key, _| !gone(key));
    }

    /// Somebody else's object may change and go from now on; whether it was one.
    pub fn unprotect(&self, site: &str, key: &ForeignKey) -> bool {
        self.0.lock().foreign.remove(&(site.into(), key.clone())).is_some()
    }

    /// Objects of others on a cluster.
    pub fn foreign_on(&self, site: &str) -> Vec<(ForeignKey, Value)> {
        let known = self.0.lock();
        let there = known.foreign.iter().filter(|((s, _), _)| s == site);
        there.map(|((_, key), object)| (key.clone(), object.clone())).collect()
    }

    /// Somebody does something to a cluster now.
    pub fn touch(&self, site: &str, millis: u64) {
        let mut known = self.0.lock();
        known.touched.insert(site.into(), millis);
        known.disturbed.insert(site.into(), millis);
    }

    /// A user asks for something on a cluster now. Nothing happens there but by the operator.
    pub fn ask(&self, site: &str, millis: u64) {
        self.0.lock().touched.insert(site.into(), millis);
    }

    /// When somebody but the operator last changed something on a cluster, or in the way there.
    pub fn disturbed(&self, site: &str) -> u64 {
        self.0.lock().disturbed.get(site).copied().unwrap_or_default()
    }

    /// When somebody last did something to a cluster.
    pub fn touched(&self, site: &str) -> u64 {
        self.0.lock().touched.get(site).copied().unwrap_or_default()
    }

    /// When somebody last did something to any cluster.
    pub fn last_touched(&self) -> u64 {
        self.0.lock().touched.values().copied().max().unwrap_or_default()
    }

    /// Something is wrong with a cluster (or with `operator`) from now on, or no longer.
    pub fn set_unruly(&self, site: &str, why: &'static str, unruly: bool) {
        let mut known = self.0.lock();
        if unruly {
            known.unruly.insert((site.into(), why));
        } else {
            known.unruly.remove(&(site.into(), why));
        }
    }

    /// Nothing is wrong with a cluster any more.
    pub fn calm_down(&self, site: &str) {
        self.0.lock().unruly.retain(|(unruly, _)| unruly != site);
    }

    /// Whether something is wrong with a cluster.
    pub fn is_unruly(&self, site: &str) -> bool {
        self.0.lock().unruly.iter().any(|(unruly, _)| unruly == site)
    }

    /// Whether this is wrong with a cluster.
    pub fn suffers(&self, site: &str, why: &'static str) -> bool {
        self.0.lock().unruly.contains(&(site.into(), why))
    }

    /// Members of a set may be left over from now on, by the user's word.
    pub fn abandon(&self, set: &str) {
        self.0.lock().abandoned.insert(set.into());
    }

    /// Whether members of a set may be left over.
    pub fn is_abandoned(&self, set: &str) -> bool {
        self.0.lock().abandoned.contains(set)
    }

    /// Nothing changes from now on, or does again.
    pub fn set_resting(&self, resting: bool) {
        self.0.lock().resting = resting;
    }

    /// Whether nothing changes.
    pub fn is_resting(&self) -> bool {
        self.0.lock().resting
    }
}

/// What an oracle may look at.
pub struct Scene<'a> {
    /// Milliseconds since the beginning.
    pub now: u64,
    /// The hub.
    pub view: &'a View,
    /// Every attached cluster by address, as it is now.
    pub clusters: &'a BTreeMap<String, Cluster>,
    /// What the world did.
    pub facts: &'a Facts,
}

/// A cluster at one moment.
#[derive(Clone, Debug)]
pub struct Cluster {
    /// `hub` or the spoke's name.
    pub site: String,
    /// What is stored.
    pub snapshot: Snapshot,
}

impl Cluster {
    /// UID of its kube-system namespace.
    pub fn uid(&self) -> String {
        let system = self.snapshot.find("namespaces", "", "kube-system").unwrap_or_default();
        system["metadata"]["uid"].as_str().unwrap_or_default().to_owned()
    }
}

impl Scene<'_> {
    /// The cluster with this name.
    pub fn site(&self, name: &str) -> Option<&Cluster> {
        self.clusters.values().find(|cluster| cluster.site == name)
    }

    /// The cluster whose kube-system namespace has this UID.
    pub fn by_uid(&self, uid: &str) -> Option<&Cluster> {
        self.clusters.values().find(|cluster| cluster.uid() == uid)
    }
}

/// One promise. Every method returns what breaks it.
pub trait Oracle: Send {
    /// Its name in reports.
    fn name(&self) -> &'static str;

    /// It sits down: what is there already was there before.
    fn begin(&mut self, _scene: &Scene<'_>) {}

    /// The operator sends a request.
    fn sent(&mut self, _letter: &Letter, _scene: &Scene<'_>) -> Option<String> {
        None
    }

    /// A cluster has answered a request that is no watch.
    fn seen(&mut self, _seen: &Seen<'_>, _scene: &Scene<'_>) -> Option<String> {
        None
    }

    /// An answer has come back to the operator.
    fn answered(&mut self, _letter: &Letter, _code: u16, _scene: &Scene<'_>) -> Option<String> {
        None
    }

    /// Time has passed: a step of a script is over, or a moment of waiting.
    fn tick(&mut self, _scene: &Scene<'_>) -> Option<String> {
        None
    }

    /// Everything was in order again for some time.
    fn end(&mut self, _scene: &Scene<'_>) -> Option<String> {
        None
    }
}

/// All of them, fresh.
pub fn all(usual_millis: u64) -> Vec<Box<dyn Oracle>> {
    vec![
        Box::new(foreign::Foreign),
        Box::new(isolation::Isolation::default()),
        Box::new(ownership::Ownership::default()),
        Box::new(record::Recorded),
        Box::new(finalizer::Finalizer::default()),
        Box::new(claims::Claims::default()),
        Box::new(rest::Rest),
        Box::new(hot_loop::HotLoop::default()),
        Box::new(tokens::Tokens::default()),
        Box::new(secrets::Secrets::default()),
        Box::new(manners::Manners),
        Box::new(blocked::Blocked),
        Box::new(leaders::Leaders),
        Box::new(neighbour::Neighbour::new(usual_millis)),
    ]
}
