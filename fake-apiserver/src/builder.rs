//! How a cluster comes to be: settings, and what every cluster has from the start.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::json;

use crate::auth::token::TokenStore;
use crate::clock::Clock;
use crate::controllers::workload::{Readiness, Scripts};
use crate::controllers::{ControllerSet, Controllers};
use crate::ids::Ids;
use crate::registry::Registry;
use crate::server::FakeApiServer;
use crate::state::State;
use crate::storage::Storage;
use crate::webhooks::Backends;

const RBAC: &str = "rbac.authorization.k8s.io/v1";

/// Events kept for each resource unless [`Builder::history`] says otherwise.
const DEFAULT_HISTORY: usize = 10_000;

/// What a cluster says it runs unless [`Builder::kubernetes`] says otherwise.
const DEFAULT_KUBERNETES: &str = "v1.36.0";

/// How long a workload takes to be ready unless [`Builder::readiness`] says otherwise.
const DEFAULT_READY_AFTER: Duration = Duration::from_secs(2);

/// Makes a [`FakeApiServer`].
#[derive(Clone, Debug)]
pub struct Builder {
    epoch: Option<Timestamp>,
    seed: Option<u64>,
    history: usize,
    rbac: bool,
    guarded_owners: bool,
    controllers: Controllers,
    gc_delay: Duration,
    readiness: Readiness,
    kubernetes: String,
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            epoch: None,
            seed: None,
            history: DEFAULT_HISTORY,
            rbac: false,
            guarded_owners: false,
            controllers: Controllers::all(),
            gc_delay: Duration::ZERO,
            readiness: Readiness::After(DEFAULT_READY_AFTER),
            kubernetes: DEFAULT_KUBERNETES.into(),
        }
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

    /// Whether owner references need permissions of their own, as on clusters with the admission plugin
    /// `OwnerReferencesPermissionEnforcement`. By default they do not.
    #[must_use]
    pub fn guarded_owners(mut self, guarded: bool) -> Self {
        self.guarded_owners = guarded;
        self
    }

    /// Which controllers run; all unless said otherwise.
    pub fn controllers(mut self, enabled: Controllers) -> Self {
        self.controllers = enabled;
        self
    }

    /// How long the garbage collector takes to notice something; no time unless said otherwise.
    pub fn gc_delay(mut self, delay: Duration) -> Self {
        self.gc_delay = delay;
        self
    }

    /// How workloads get ready that have no script of their own; after two seconds unless said otherwise.
    pub fn readiness(mut self, readiness: Readiness) -> Self {
        self.readiness = readiness;
        self
    }

    /// The version that `/version` tells, `v1.36.0` unless said otherwise. What is served stays the same.
    pub fn kubernetes(mut self, version: &str) -> Self {
        self.kubernetes = version.into();
        self
    }

    /// The cluster, with its standard namespaces and roles. Inside a tokio runtime the controllers start now,
    /// otherwise with the first request made inside one.
    pub fn build(self) -> FakeApiServer {
        let epoch = self.epoch.unwrap_or_else(wall_clock);
        let state = State {
            storage: Storage::new(self.history),
            registry: Registry::default(),
            ids: Ids::new(self.seed),
            tokens: TokenStore::default(),
            webhooks: Backends::default(),
            rbac: self.rbac,
            guarded_owners: self.guarded_owners,
            kubernetes: self.kubernetes,
            addresses: 10,
            gc_paused: false,
            gc_restart: (0, 0),
            scripts: Scripts::new(self.readiness),
            script_version: 0,
        };
        let controllers = ControllerSet::new(self.controllers, self.gc_delay);
        let cluster = FakeApiServer::start(state, Clock::starting_at(epoch), controllers);
        bootstrap(&cluster);
        cluster.settle();
        cluster.ensure_controllers();
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

/// What every cluster has from the start.
fn bootstrap(cluster: &FakeApiServer) {
    for name in ["default", "kube-system", "kube-public", "kube-node-lease"] {
        let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
        create(cluster, namespace);
    }
    let public = json!(["/healthz", "/livez", "/readyz", "/version", "/version/"]);
    let discovery = json!([
        "/api",
        "/api/*",
        "/apis",
        "/apis/*",
        "/healthz",
        "/livez",
        "/openapi",
        "/openapi/*",
        "/readyz",
        "/version",
        "/version/",
    ]);
    let reviews = |group: &str, resources: serde_json::Value| json!({ "apiGroups": [group], "resources": resources, "verbs": ["create"] });
    let roles = [
        (
            "cluster-admin",
            json!([
                { "apiGroups": ["*"], "resources": ["*"], "verbs": ["*"] },
                { "nonResourceURLs": ["*"], "verbs": ["*"] },
            ]),
            json!(["system:masters"]),
        ),
        (
            "system:discovery",
            json!([{ "nonResourceURLs": discovery, "verbs": ["get"] }]),
            json!(["system:authenticated"]),
        ),
        (
            "system:basic-user",
            json!([
                reviews(
                    "authorization.k8s.io",
                    json!(["selfsubjectaccessreviews", "selfsubjectrulesreviews"])
                ),
                reviews("authentication.k8s.io", json!(["selfsubjectreviews"])),
            ]),
            json!(["system:authenticated"]),
        ),
        (
            "system:public-info-viewer",
            json!([{ "nonResourceURLs": public, "verbs": ["get"] }]),
            json!(["system:authenticated", "system:unauthenticated"]),
        ),
    ];
    let labels = json!({ "kubernetes.io/bootstrapping": "rbac-defaults" });
    for (name, rules, groups) in roles {
        create(
            cluster,
            json!({
                "apiVersion": RBAC,
                "kind": "ClusterRole",
                "metadata": { "name": name, "labels": labels },
                "rules": rules,
            }),
        );
        let groups = groups.as_array().into_iter().flatten();
        let subjects: Vec<_> = groups.map(|group| json!({ "kind": "Group", "name": group })).collect();
        create(
            cluster,
            json!({
                "apiVersion": RBAC,
                "kind": "ClusterRoleBinding",
                "metadata": { "name": name, "labels": labels },
                "roleRef": { "kind": "ClusterRole", "name": name },
                "subjects": subjects,
            }),
        );
    }
    for name in ["admin", "edit", "view"] {
        let label = format!("rbac.authorization.k8s.io/aggregate-to-{name}");
        create(
            cluster,
            json!({
                "apiVersion": RBAC,
                "kind": "ClusterRole",
                "metadata": { "name": name, "labels": labels },
                "aggregationRule": { "clusterRoleSelectors": [{ "matchLabels": { label: "true" } }] },
                "rules": [],
            }),
        );
    }
}

fn create(cluster: &FakeApiServer, object: serde_json::Value) {
    cluster.create(object).expect("a new cluster takes what all clusters have");
}
