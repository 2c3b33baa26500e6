//! A cluster as users of the crate see it: built in one line, handed around as a cheap clone, reached through a
//! tower service or a kube client, looked into by snapshots, and edited directly by tests.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use parking_lot::{Mutex, MutexGuard};
use serde_json::{Value, json};

use crate::auth::User;
use crate::auth::token::TokenStore;
use crate::clock::Clock;
use crate::ids::Ids;
use crate::options::{DeleteOptions, Propagation};
use crate::registry::{Registry, Served};
use crate::request::RequestInfo;
use crate::service::FakeService;
use crate::state::{Call, State};
use crate::status::{Answer, Status};
use crate::storage::{Snapshot, Storage};
use crate::verb::update::{Origin, update};
use crate::verb::{create, delete, get};

/// How many requests the log keeps.
const REQUEST_LOG: usize = 4096;

/// Events kept for each resource unless [`Builder::history`] says otherwise.
const DEFAULT_HISTORY: usize = 10_000;

/// The field manager of direct edits.
const EDITOR: &str = "fake-apiserver-admin";

/// A cluster. Clones are handles of the same cluster.
#[derive(Clone, Debug)]
pub struct FakeApiServer {
    inner: Arc<Inner>,
}

struct Inner {
    state: Arc<Mutex<State>>,
    clock: Clock,
    requests: Mutex<Requests>,
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FakeApiServer").finish_non_exhaustive()
    }
}

type Observer = Arc<dyn Fn(&RequestRecord) + Send + Sync>;

#[derive(Default)]
struct Requests {
    log: VecDeque<RequestRecord>,
    observers: Vec<Observer>,
}

/// One answered request, as traces and write counters need it.
#[derive(Clone, Debug, PartialEq)]
pub struct RequestRecord {
    /// When it was answered, on the cluster's clock.
    pub at: Timestamp,
    /// User name; empty when authentication failed.
    pub user: String,
    /// What was asked.
    pub info: RequestInfo,
    /// HTTP status code.
    pub code: u16,
    /// The cluster's revision after the request.
    pub revision: u64,
}

impl RequestRecord {
    /// Whether the request wanted to change something (a dry run does not).
    pub fn is_write(&self) -> bool {
        let writes =
            matches!(self.info.verb.as_str(), "create" | "update" | "patch" | "delete" | "deletecollection");
        writes && self.info.is_resource && self.info.query.get("dryRun").is_none()
    }
}

/// Makes a [`FakeApiServer`].
#[derive(Clone, Debug)]
pub struct Builder {
    epoch: Option<Timestamp>,
    seed: Option<u64>,
    history: usize,
    rbac: bool,
}

impl Default for Builder {
    fn default() -> Self {
        Self { epoch: None, seed: None, history: DEFAULT_HISTORY, rbac: false }
    }
}

impl Builder {
    /// What the cluster's clock shows when it is built; without it the real time.
    pub fn epoch(mut self, epoch: Timestamp) -> Self {
        self.epoch = Some(epoch);
        self
    }

    /// Makes UIDs, generated names and tokens follow from a number; without it they are random.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// How many events are kept for each resource: a watch that resumes from before them gets 410.
    pub fn history(mut self, events: usize) -> Self {
        self.history = events;
        self
    }

    /// Whether requests are authorised by the roles and bindings in the cluster. Members of `system:masters` may
    /// do everything either way.
    pub fn rbac(mut self, enforced: bool) -> Self {
        self.rbac = enforced;
        self
    }

    /// The cluster, with its standard namespaces and roles.
    pub fn build(self) -> FakeApiServer {
        let epoch = self.epoch.unwrap_or_else(wall_clock);
        let state = State {
            storage: Storage::new(self.history),
            registry: Registry::default(),
            ids: Ids::new(self.seed),
            tokens: TokenStore::default(),
            rbac: self.rbac,
            addresses: 10,
        };
        let inner = Inner {
            state: Arc::new(Mutex::new(state)),
            clock: Clock::starting_at(epoch),
            requests: Mutex::default(),
        };
        let cluster = FakeApiServer { inner: Arc::new(inner) };
        cluster.bootstrap();
        cluster
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the one place: where a cluster's time starts when nobody says so"
)]
fn wall_clock() -> Timestamp {
    Timestamp::now()
}

impl FakeApiServer {
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

    /// Forgets all history, as etcd compaction does: older versions can no longer be listed or watched from.
    pub fn compact(&self) {
        self.lock().storage.compact();
    }

    /// One object in its stored version; `namespace` is empty for cluster-scoped ones.
    pub fn get(&self, group: &str, kind: &str, namespace: &str, name: &str) -> Option<Arc<Value>> {
        let state = self.lock();
        let call = self.admin_call(&state, group, kind, namespace, name).ok()?;
        get::get(&state, &call, "").ok().map(|stored| stored.value.clone())
    }

    /// Creates an object as an administrator.
    ///
    /// # Errors
    /// As a request would be refused.
    pub fn create(&self, object: Value) -> Answer<Arc<Value>> {
        let mut state = self.lock();
        let mut call = self.call_for(&state, &object)?;
        create::create(&mut state, &mut call, object, false).map(|stored| stored.value.clone())
    }

    /// Replaces an object as an administrator, whatever its version is, and creates it if it is absent.
    ///
    /// # Errors
    /// As a request would be refused.
    pub fn replace(&self, mut object: Value) -> Answer<Arc<Value>> {
        let mut state = self.lock();
        let mut call = self.call_for(&state, &object)?;
        match get::find(&state, &call).cloned() {
            Err(_) => create::create(&mut state, &mut call, object, false),
            Ok(live) => {
                object["metadata"]["resourceVersion"] = json!(live.revision.to_string());
                update(&mut state, &mut call, &live, object, Origin::Put)
            }
        }
        .map(|stored| stored.value.clone())
    }

    /// Changes an object in place as an administrator, except its status.
    ///
    /// # Errors
    /// As a request would be refused.
    pub fn edit(
        &self,
        group: &str,
        kind: &str,
        namespace: &str,
        name: &str,
        change: impl FnOnce(&mut Value),
    ) -> Answer<Arc<Value>> {
        self.edit_part(group, kind, namespace, name, "", change)
    }

    /// Changes the status of an object as an administrator.
    ///
    /// # Errors
    /// As a request would be refused.
    pub fn edit_status(
        &self,
        group: &str,
        kind: &str,
        namespace: &str,
        name: &str,
        change: impl FnOnce(&mut Value),
    ) -> Answer<Arc<Value>> {
        self.edit_part(group, kind, namespace, name, "status", change)
    }

    fn edit_part(
        &self,
        group: &str,
        kind: &str,
        namespace: &str,
        name: &str,
        part: &str,
        change: impl FnOnce(&mut Value),
    ) -> Answer<Arc<Value>> {
        let mut state = self.lock();
        let mut call = self.admin_call(&state, group, kind, namespace, name)?;
        call.subresource = part.to_owned();
        let live = get::find(&state, &call)?.clone();
        let mut object = (*live.value).clone();
        change(&mut object);
        update(&mut state, &mut call, &live, object, Origin::Patch).map(|stored| stored.value.clone())
    }

    /// Deletes an object as an administrator, dependents in the background.
    ///
    /// # Errors
    /// As a request would be refused.
    pub fn remove(&self, group: &str, kind: &str, namespace: &str, name: &str) -> Answer<()> {
        let mut state = self.lock();
        let mut call = self.admin_call(&state, group, kind, namespace, name)?;
        let options =
            DeleteOptions { propagation: Some(Propagation::Background), ..DeleteOptions::default() };
        delete::delete(&mut state, &mut call, &options).map(drop)
    }

    /// Calls `observer` after each request, in the order in which requests are answered.
    pub fn on_request(&self, observer: impl Fn(&RequestRecord) + Send + Sync + 'static) {
        self.inner.requests.lock().observers.push(Arc::new(observer));
    }

    /// The latest requests (a few thousand), oldest first.
    pub fn requests(&self) -> Vec<RequestRecord> {
        self.inner.requests.lock().log.iter().cloned().collect()
    }

    /// Empties the log of requests.
    pub fn clear_requests(&self) {
        self.inner.requests.lock().log.clear();
    }

    fn call_for(&self, state: &State, object: &Value) -> Answer<Call> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (version, kind) = (text(&object["apiVersion"]), text(&object["kind"]));
        let (group, version) = version.split_once('/').unwrap_or(("", &version));
        let metadata = &object["metadata"];
        let (namespace, name) = (text(&metadata["namespace"]), text(&metadata["name"]));
        let mut call = self.admin_call(state, group, &kind, &namespace, &name)?;
        let versions = &call.resource().versions;
        call.served.version =
            versions.iter().position(|v| v.name == version).ok_or_else(Status::no_such_resource)?;
        Ok(call)
    }

    fn admin_call(
        &self,
        state: &State,
        group: &str,
        kind: &str,
        namespace: &str,
        name: &str,
    ) -> Answer<Call> {
        let resource = state.registry.by_kind(group, kind).ok_or_else(Status::no_such_resource)?.clone();
        let namespace = if resource.namespaced { namespace } else { "" };
        let served = Served { version: resource.stored, resource };
        Ok(Call::internal(served, namespace, name, self.now(), EDITOR))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.inner.state.lock()
    }

    pub(crate) fn shared(&self) -> &Arc<Mutex<State>> {
        &self.inner.state
    }

    pub(crate) fn ensure_controllers(&self) {}

    pub(crate) fn record(&self, info: &RequestInfo, user: Option<User>, code: u16, revision: u64) {
        let record = RequestRecord {
            at: self.now(),
            user: user.map(|user| user.name).unwrap_or_default(),
            info: info.clone(),
            code,
            revision,
        };
        let mut requests = self.inner.requests.lock();
        let observers = requests.observers.clone();
        if requests.log.len() == REQUEST_LOG {
            requests.log.pop_front();
        }
        requests.log.push_back(record.clone());
        drop(requests);
        observers.iter().for_each(|observer| observer(&record));
    }

    /// What every cluster has from the start.
    fn bootstrap(&self) {
        for name in ["default", "kube-system", "kube-public", "kube-node-lease"] {
            let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
            self.create(namespace).expect("a new cluster takes its standard namespaces");
        }
        let everything = json!([
            { "apiGroups": ["*"], "resources": ["*"], "verbs": ["*"] },
            { "nonResourceURLs": ["*"], "verbs": ["*"] },
        ]);
        self.create(json!({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRole",
            "metadata": { "name": "cluster-admin", "labels": { "kubernetes.io/bootstrapping": "rbac-defaults" } },
            "rules": everything,
        }))
        .expect("a new cluster takes its standard roles");
        for name in ["admin", "edit", "view"] {
            let label = format!("rbac.authorization.k8s.io/aggregate-to-{name}");
            self.create(json!({
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": "ClusterRole",
                "metadata": { "name": name, "labels": { "kubernetes.io/bootstrapping": "rbac-defaults" } },
                "aggregationRule": { "clusterRoleSelectors": [{ "matchLabels": { label: "true" } }] },
                "rules": [],
            }))
            .expect("a new cluster takes its standard roles");
        }
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
        self.cluster.lock().tokens.insert(token.to_owned(), User::new(user, groups), expires);
    }

    /// Refuses a token from now on; false when it was not known.
    pub fn revoke(&self, token: &str) -> bool {
        self.cluster.lock().tokens.revoke(token)
    }
}
