//! A cluster as users of the crate see it: built in one line, handed around as a cheap clone, reached through a
//! tower service or a kube client, looked into by snapshots, and edited directly by tests.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use jiff::Timestamp;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;
use tower::Layer;

use crate::auth::User;
use crate::auth::token::Grant;
use crate::builder::Builder;
use crate::clock::Clock;
use crate::controllers::ControllerSet;
use crate::controllers::workload::Readiness;
use crate::fault::{Faulty, Link};
use crate::image::Image;
use crate::record::Requests;
use crate::service::FakeService;
use crate::state::State;
use crate::storage::Snapshot;
use crate::webhooks::Webhooks;

/// A cluster. Clones are handles of the same cluster.
#[derive(Clone, Debug)]
pub struct FakeApiServer {
    inner: Arc<Inner>,
}

struct Inner {
    state: Arc<Mutex<State>>,
    clock: Clock,
    requests: Mutex<Requests>,
    /// Locked before the state.
    controllers: Mutex<ControllerSet>,
    /// Whether the task of the controllers runs (or none is needed).
    started: AtomicBool,
    wake: Arc<Notify>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        // The task of the controllers finds the cluster gone and ends.
        self.wake.notify_one();
    }
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FakeApiServer").finish_non_exhaustive()
    }
}

impl FakeApiServer {
    /// A cluster of parts; its controllers see what is written from now on.
    pub(crate) fn start(mut state: State, clock: Clock, controllers: ControllerSet) -> Self {
        if !controllers.is_empty() {
            state.storage.open_feed();
        }
        Self::go_on(state, clock, controllers)
    }

    /// A cluster of parts, whose controllers have seen what there is.
    pub(crate) fn go_on(state: State, clock: Clock, controllers: ControllerSet) -> Self {
        let inner = Inner {
            state: Arc::new(Mutex::new(state)),
            clock,
            requests: Mutex::default(),
            started: AtomicBool::new(controllers.is_empty()),
            controllers: Mutex::new(controllers),
            wake: Arc::default(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// A builder with everything on.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// A kube client that acts as an administrator. Must be called inside a tokio runtime.
    #[cfg(feature = "kube")]
    pub fn client(&self) -> kube::Client {
        self.client_as(User::admin())
    }

    /// A kube client that acts as `user`, without a token. Must be called inside a tokio runtime.
    #[cfg(feature = "kube")]
    pub fn client_as(&self, user: User) -> kube::Client {
        kube::Client::new(self.service_as(user), "default")
    }

    /// The cluster as a tower service that authenticates bearer tokens; without one a request is anonymous and
    /// refused.
    pub fn service(&self) -> FakeService {
        FakeService::new(self.clone(), None)
    }

    /// The cluster as a tower service that takes every request to come from `user`.
    pub fn service_as(&self, user: User) -> FakeService {
        FakeService::new(self.clone(), Some(user))
    }

    /// The cluster as it is reached over `link`, with bearer tokens.
    pub fn service_with(&self, link: &Link) -> Faulty<FakeService> {
        link.layer().layer(self.service())
    }

    /// The tokens the cluster accepts.
    pub fn tokens(&self) -> Tokens<'_> {
        Tokens { cluster: self }
    }

    /// What the cluster's clock shows.
    pub fn now(&self) -> Timestamp {
        self.inner.clock.now()
    }

    /// The cluster's clock.
    pub fn clock(&self) -> &Clock {
        &self.inner.clock
    }

    /// The revision of the latest write.
    pub fn revision(&self) -> u64 {
        self.lock().storage.revision()
    }

    /// Everything that is stored now.
    pub fn snapshot(&self) -> Snapshot {
        self.lock().storage.snapshot()
    }

    /// The cluster as it is now, for others to go on from.
    pub fn image(&self) -> Image {
        let controllers = self.inner.controllers.lock();
        let state = self.lock();
        Image::new(state.duplicate(), controllers.duplicate(), self.now())
    }

    /// Forgets all history, as etcd compaction does: older versions can no longer be listed or watched from.
    pub fn compact(&self) {
        self.lock().storage.compact();
    }

    /// From now on `/version` tells this version, as after an upgrade in place. What is served stays the same.
    pub fn set_kubernetes(&self, version: &str) {
        self.lock().kubernetes = version.into();
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.inner.state.lock()
    }

    pub(crate) fn request_log(&self) -> MutexGuard<'_, Requests> {
        self.inner.requests.lock()
    }

    pub(crate) fn shared(&self) -> &Arc<Mutex<State>> {
        &self.inner.state
    }

    /// How workloads get ready.
    pub fn workloads(&self) -> Workloads<'_> {
        Workloads { cluster: self }
    }

    /// Who answers for the webhooks that are registered in the cluster.
    pub fn webhooks(&self) -> Webhooks<'_> {
        Webhooks::of(self)
    }

    /// Keeps the garbage collector from doing anything.
    pub fn pause_gc(&self) {
        self.lock().gc_paused = true;
    }

    /// Lets the garbage collector do what it has not done.
    pub fn resume_gc(&self) {
        self.lock().gc_paused = false;
        self.inner.wake.notify_one();
    }

    /// Restarts the garbage collector: it knows nothing any more and looks at everything, in an order that follows from
    /// `seed`.
    pub fn restart_gc(&self, seed: u64) {
        let mut state = self.lock();
        state.gc_restart = (state.gc_restart.0 + 1, seed);
        drop(state);
        self.inner.wake.notify_one();
    }

    /// Lets the controllers do now what they would do next; the answer is when they want to go on.
    pub fn settle(&self) -> Option<Timestamp> {
        let mut controllers = self.inner.controllers.lock();
        controllers.settle(&mut self.lock(), self.now())
    }

    /// Starts the task of the controllers, if there is none and a runtime to run it.
    pub(crate) fn ensure_controllers(&self) {
        if self.inner.started.load(Ordering::Relaxed) {
            return;
        }
        if let Ok(runtime) = tokio::runtime::Handle::try_current()
            && !self.inner.started.swap(true, Ordering::Relaxed)
        {
            runtime.spawn(run_controllers(Arc::downgrade(&self.inner), self.inner.wake.clone()));
        }
    }

    /// Wakes the controllers if there is something for them; called after the lock is released.
    pub(crate) fn wake_controllers(&self) {
        self.inner.wake.notify_one();
    }
}

/// Calls the controllers whenever storage changed or their time has come, as long as the cluster is there.
async fn run_controllers(cluster: Weak<Inner>, wake: Arc<Notify>) {
    loop {
        let Some(inner) = cluster.upgrade() else { return };
        let handle = FakeApiServer { inner };
        let next = handle.settle().map(|time| handle.inner.clock.instant_of(time));
        drop(handle);
        match next {
            None => wake.notified().await,
            Some(next) => {
                tokio::select! {
                    biased;
                    // Changes first: they may move the time.
                    () = wake.notified() => {}
                    () = tokio::time::sleep_until(next) => {}
                }
            }
        }
    }
}

/// How the workloads of a cluster get ready.
#[derive(Clone, Copy, Debug)]
pub struct Workloads<'a> {
    cluster: &'a FakeApiServer,
}

impl Workloads<'_> {
    /// From now on workloads and Jobs whose name matches `glob` (`*` stands for anything) get ready like this,
    /// counted from the last change of their specification. Later scripts count before earlier ones.
    pub fn script(&self, glob: &str, readiness: Readiness) {
        let mut state = self.cluster.lock();
        state.scripts.set(glob, readiness);
        state.script_version += 1;
        drop(state);
        self.cluster.wake_controllers();
    }
}

/// Bearer tokens of a cluster.
#[derive(Clone, Copy, Debug)]
pub struct Tokens<'a> {
    cluster: &'a FakeApiServer,
}

impl Tokens<'_> {
    /// A new token for `user`, who belongs to `groups` and `system:authenticated`; it expires after `ttl` on the
    /// cluster's clock.
    pub fn issue(
        &self,
        user: &str,
        groups: impl IntoIterator<Item = impl Into<String>>,
        ttl: Option<Duration>,
    ) -> String {
        let token = {
            let mut state = self.cluster.lock();
            format!("fake-{}", state.ids.suffix(32))
        };
        self.accept(&token, user, groups, ttl);
        token
    }

    /// Accepts a token of the caller's choice.
    pub fn accept(
        &self,
        token: &str,
        user: &str,
        groups: impl IntoIterator<Item = impl Into<String>>,
        ttl: Option<Duration>,
    ) {
        let expires = ttl.map(|ttl| self.cluster.now().checked_add(ttl).unwrap_or(Timestamp::MAX));
        let grant = Grant { expires, ..Grant::of(User::new(user, groups)) };
        self.cluster.lock().tokens.insert(token.to_owned(), grant);
    }

    /// Refuses a token from now on; false when it was not known.
    pub fn revoke(&self, token: &str) -> bool {
        self.cluster.lock().tokens.revoke(token)
    }
}
