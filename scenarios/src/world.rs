//! A hub, its spokes, the wires between them and the operator, and the operator itself, under one clock and one seed.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use fake_apiserver::fault::Link;
use fake_apiserver::{FakeApiServer, Image, Readiness};
use knative_operator::clock::Clock;
use knative_operator::controller::{self, Pacing};
use knative_operator::health::Health;
use knative_operator::lead::{Election, Fence, FencedConnector, Timing};
use knative_operator::manifest::{Catalog, Library};
use knative_operator::metrics::Metrics;
use knative_operator::rbac::{self, Rule};
use knative_operator::reconcile::{Intervals, Reconciler};
use knative_operator::target::cluster::Cluster;
use knative_operator::target::grant::ProfileAccess;
use knative_operator::target::resolve::{Limits, Seams, Targets};
use knative_operator::target::stack::{self, Connector};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use crate::files::{Bundle, Files};
use crate::issuer::Issuer;
use crate::network::{Network, Site};
use crate::seed::Seed;
use crate::time::SimulatedClock;
use crate::trace::Trace;

/// Address of the hub on the world's network.
pub const HUB: &str = "https://hub";
/// Path of the access-provider file.
pub const PROVIDER_FILE: &str = "/etc/cluster-inventory/config.json";
/// API group of ClusterProfiles.
pub const PROFILE_GROUP: &str = "multicluster.x-k8s.io";
/// Who the operator is on every cluster: the account that `knative-operator rbac` prints.
pub const OPERATOR: &str = "system:serviceaccount:knative-operator:knative-operator";
/// Name of the operators' Lease and of its namespace.
pub const LEASE: &str = "knative-operator";
/// What the names of operators begin with.
const REPLICA: &str = "operator-";
/// The groups of that account.
pub const GROUPS: [&str; 2] = ["system:serviceaccounts", "system:serviceaccounts:knative-operator"];
/// Namespace of the ClusterProfiles that [`World::add_spoke`] makes.
pub const FLEET: &str = "fleet";

/// How a world is set up.
#[derive(Clone, Debug)]
pub struct Options {
    /// Everything random comes from here.
    pub seed: Seed,
    /// Release data.
    pub bundle: Bundle,
    /// Pace of the operator.
    pub intervals: Intervals,
    /// How long a Deployment of the fake takes to roll out.
    pub rollout: Duration,
    /// Draws from the network's generator that are thrown away before the world begins: `meta` shows with it that one
    /// draw more or less changes the trace.
    pub extra_draws: u32,
    /// Whether operators elect a leader, as replicas do.
    pub leases: bool,
    /// Who may use which ClusterProfile.
    pub access: ProfileAccess,
    /// `KUBERNETES_MIN_VERSION` of the operator, which it hands on to what it installs.
    pub kubernetes_min_version: Option<String>,
    /// A permission that the operator does not have.
    pub missing: Option<Rule>,
    /// What other worlds have parsed of the same releases.
    pub library: Library,
}

impl Options {
    /// The usual world.
    pub fn new(seed: Seed) -> Self {
        let rollout = Duration::from_secs(5);
        Self {
            seed,
            bundle: Bundle::Embedded,
            intervals: Intervals::default(),
            rollout,
            extra_draws: 0,
            leases: false,
            access: ProfileAccess::default(),
            kubernetes_min_version: None,
            missing: None,
            library: Library::default(),
        }
    }
}

/// See the module.
pub struct World {
    options: Options,
    /// Simulated date.
    pub clock: SimulatedClock,
    /// What happened.
    pub trace: Trace,
    /// The wires.
    pub network: Network,
    /// Files and URLs.
    pub files: Files,
    /// The credential plugin.
    pub issuer: Issuer,
    /// The hub.
    pub hub: Site,
    /// What the operator that was started last counts.
    pub metrics: Metrics,
    /// How it is.
    pub health: Health,
    operator: Option<Replica>,
    rival: Option<Replica>,
    starts: u64,
    attached: u64,
}

/// An operator that runs, unless it has crashed.
struct Replica {
    /// Which start it was.
    start: u64,
    task: JoinHandle<()>,
}

impl World {
    /// A world with a hub that knows the operator's kinds, without spokes and with the operator not yet started. It
    /// must be called inside [`crate::runtime::run`].
    pub fn new(options: Options) -> Self {
        let clock = SimulatedClock::start();
        let hub = site(&options, &clock, "hub", "hub");
        let world = Self::around(options, clock, hub);
        for definition in definitions() {
            world.create(&world.hub, definition);
        }
        world.create_namespace(&world.hub, FLEET);
        world
    }

    /// A world whose clusters go on from images of those of another, by name, at the time that it was there. Its
    /// operator is not yet started.
    ///
    /// # Panics
    /// When there is no hub among them.
    pub fn going_on(options: Options, images: &BTreeMap<String, Image>) -> Self {
        let hub = images.get("hub").expect("a world has a hub");
        let clock = SimulatedClock::starting_at(hub.now());
        let on =
            |name: &str, image: &Image| Site { name: name.into(), server: image.start(), link: Link::new() };
        let world = Self::around(options, clock, on("hub", hub));
        for (name, image) in images.iter().filter(|(name, _)| *name != "hub") {
            world.network.attach(&address(name), on(name, image));
        }
        world
    }

    /// A world with nothing in it but a hub.
    fn around(options: Options, clock: SimulatedClock, hub: Site) -> Self {
        let trace = Trace::new(clock);
        let network = Network::new(options.seed, options.extra_draws, trace.clone());
        let files = Files::new(options.bundle.clone());
        let issuer = Issuer::new(network.clone(), clock, trace.clone());
        network.attach(HUB, hub.clone());
        files.put(PROVIDER_FILE, provider_file().to_string());
        Self {
            options,
            clock,
            trace,
            network,
            files,
            issuer,
            hub,
            metrics: Metrics::default(),
            health: Health::default(),
            operator: None,
            rival: None,
            starts: 0,
            attached: 0,
        }
    }

    /// Adds a spoke with a healthy ClusterProfile of the same name.
    pub fn add_spoke(&mut self, name: &str) -> Site {
        let spoke = self.attach_spoke(name);
        self.create_profile(name, &address(name));
        spoke
    }

    /// Where the catalogue of the bundle begins.
    pub fn bundle_root(&self) -> String {
        self.options.bundle.root()
    }

    /// Puts a fresh, empty cluster behind a spoke's address, without a profile. One that was there is gone.
    pub fn attach_spoke(&mut self, name: &str) -> Site {
        // A cluster that comes in the place of another has UIDs of its own.
        let known = self.network.site(&address(name)).is_some();
        self.attached += u64::from(known);
        let seed = if known { format!("{name} {}", self.attached) } else { name.to_owned() };
        let spoke = site(&self.options, &self.clock, name, &seed);
        self.network.attach(&address(name), spoke.clone());
        spoke
    }

    /// Creates a healthy ClusterProfile that leads to an address.
    pub fn create_profile(&self, name: &str, server: &str) {
        let profile = profile(name, server, "True");
        self.create(&self.hub, profile.clone());
        self.set_profile(&profile);
    }

    /// Writes the status of an existing ClusterProfile, as its cluster manager does.
    ///
    /// # Panics
    /// When it is not there or the hub refuses the change.
    #[expect(clippy::panic, reason = "a story whose own steps fail is wrong")]
    pub fn set_profile(&self, profile: &Value) {
        let name = profile["metadata"]["name"].as_str().unwrap_or_default();
        self.trace.note(format_args!("user reports on ClusterProfile {name}"));
        let write = |object: &mut Value| object["status"] = profile["status"].clone();
        if let Err(status) = self.hub.server.edit_status(PROFILE_GROUP, "ClusterProfile", FLEET, name, write)
        {
            panic!("the hub refuses the status of {name}: {status:?}");
        }
    }

    /// Creates an object as an administrator.
    ///
    /// # Panics
    /// When the cluster refuses it: the story is wrong then.
    #[expect(clippy::panic, reason = "a story whose own steps fail is wrong")]
    pub fn create(&self, site: &Site, object: Value) {
        let name = format!("{} {}", object["kind"], object["metadata"]["name"]);
        self.trace.note(format_args!("user creates {name} on {}", site.name));
        if let Err(status) = site.server.create(object) {
            panic!("{} refuses {name}: {status:?}", site.name);
        }
    }

    /// Creates a namespace unless it exists.
    pub fn create_namespace(&self, site: &Site, name: &str) {
        if site.server.get("", "Namespace", "", name).is_none() {
            self.create(site, json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}));
        }
    }

    /// Edits an object as an administrator.
    ///
    /// # Panics
    /// When it is not there or the cluster refuses the change.
    #[expect(clippy::panic, reason = "a story whose own steps fail is wrong")]
    pub fn edit(&self, site: &Site, id: (&str, &str, &str, &str), change: impl FnOnce(&mut Value)) {
        let (group, kind, namespace, name) = id;
        self.trace.note(format_args!("user edits {kind} {namespace}/{name} on {}", site.name));
        if let Err(status) = site.server.edit(group, kind, namespace, name, change) {
            panic!("{} refuses to change {kind} {namespace}/{name}: {status:?}", site.name);
        }
    }

    /// Deletes an object as an administrator, in the background.
    pub fn delete(&self, site: &Site, id: (&str, &str, &str, &str)) {
        let (group, kind, namespace, name) = id;
        self.trace.note(format_args!("user deletes {kind} {namespace}/{name} on {}", site.name));
        drop(site.server.remove(group, kind, namespace, name));
    }

    /// How it was set up.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Starts the operator; a running one is stopped first, as by a crash.
    pub fn start_operator(&mut self) {
        self.stop_operator();
        (self.metrics, self.health) = Default::default();
        self.operator = Some(self.spawn_operator(self.metrics.clone(), self.health.clone()));
    }

    /// The next start is that of another image: what was read of the releases before is forgotten.
    pub fn change_image(&mut self) {
        self.options.library = Library::default();
    }

    /// Starts a second operator beside the first, as when a leader has not noticed yet that it is none any more.
    pub fn start_rival(&mut self) {
        self.stop_rival();
        self.rival = Some(self.spawn_operator(Metrics::default(), Health::default()));
    }

    /// Stops the second operator where it stands.
    pub fn stop_rival(&mut self) {
        if let Some(rival) = self.rival.take() {
            self.trace.note("the second operator stops");
            rival.task.abort();
        }
    }

    /// Starts again whichever of the operators has crashed; whether there was one.
    pub fn restart_crashed(&mut self) -> bool {
        let crashed = self.network.strike.take_crashes();
        let is = |replica: &Option<Replica>| replica.as_ref().is_some_and(|r| crashed.contains(&r.start));
        let (operator, rival) = (is(&self.operator), is(&self.rival));
        if operator {
            self.start_operator();
        }
        if rival {
            self.start_rival();
        }
        operator || rival
    }

    /// The start of the operator that the Lease names.
    pub fn leader(&self) -> Option<u64> {
        let lease = self.hub.server.get("coordination.k8s.io", "Lease", LEASE, LEASE)?;
        let holder = lease["spec"]["holderIdentity"].as_str()?;
        holder.strip_prefix(REPLICA)?.parse().ok()
    }

    /// Cuts one operator off from the hub: what is open breaks, what is new is refused. Others connect again.
    pub fn sever(&self, start: u64) {
        self.trace.note(format_args!("operator {start} is cut off from the hub"));
        self.network.sever(Some(start));
        self.hub.link.drop_connections();
    }

    /// Ends [`World::sever`].
    pub fn mend(&self) {
        self.trace.note("nobody is cut off from the hub");
        self.network.sever(None);
    }

    fn spawn_operator(&mut self, metrics: Metrics, health: Health) -> Replica {
        self.starts += 1;
        self.trace.note(format_args!("operator starts ({})", self.starts));
        let token = self.hub.server.tokens().issue(OPERATOR, GROUPS, None);
        let network = self.network.of_replica(self.starts);
        let transport = network.transport_with_token(HUB, &token);
        let jitter_seed = self.options.seed.number(&format!("operator {}", self.starts));
        let limits = Limits { jitter_seed, ..Limits::default() };
        let clock: Arc<dyn Clock> = Arc::new(self.clock);
        let election = Election {
            hub: stack::client(transport.clone(), None, limits.request),
            namespace: LEASE.into(),
            name: LEASE.into(),
            identity: replica_name(self.starts),
            timing: Timing::default(),
            clock: clock.clone(),
        };
        let fence = Fence::default();
        let elects = self.options.leases;
        let (client, connector): (_, Arc<dyn Connector>) = if elects {
            let client = stack::client(fence.guard(transport), None, limits.request);
            (client, Arc::new(FencedConnector { connector: network, fence: fence.clone() }))
        } else {
            (election.hub.clone(), Arc::new(network))
        };
        let seams = Seams {
            hub: Cluster::new("the local cluster", client.clone()),
            connector,
            credentials: Arc::new(self.issuer.clone()),
            clock: clock.clone(),
            source: Arc::new(self.files.clone()),
            metrics,
        };
        let targets =
            Targets::new(seams, Some(PROVIDER_FILE.into()), limits).with_access(self.options.access);
        let catalog = Catalog::new(Arc::new(self.files.clone()), self.options.bundle.root())
            .with_library(self.options.library.clone());
        let intervals = self.options.intervals.clone();
        let reconciler =
            Reconciler::new(targets, catalog, clock, intervals, self.options.kubernetes_min_version.clone());
        let reconciler = Arc::new(reconciler.with_rollouts(LEASE.into()));
        let pacing = Pacing { jitter_seed, ..Pacing::default() };
        let task = tokio::spawn(async move {
            let work = || controller::run(client.clone(), reconciler.clone(), pacing.clone(), health.clone());
            if elects { election.run(&fence, work).await } else { work().await }
        });
        self.network.strike.set_victim(self.starts, task.abort_handle());
        Replica { start: self.starts, task }
    }

    /// A client of the hub with a token of the operator.
    pub fn operator_client(&self) -> kube::Client {
        let token = self.hub.server.tokens().issue(OPERATOR, GROUPS, None);
        stack::client(self.network.transport_with_token(HUB, &token), None, Limits::default().request)
    }

    /// Stops the operator where it stands.
    pub fn stop_operator(&mut self) {
        if let Some(operator) = self.operator.take() {
            self.trace.note("operator stops");
            operator.task.abort();
        }
    }

    /// Whether an operator was started and not stopped.
    pub fn operator_runs(&self) -> bool {
        self.operator.is_some()
    }

    /// Whether a second operator was started and not stopped.
    pub fn rival_runs(&self) -> bool {
        self.rival.is_some()
    }

    /// A cluster by name; `None` for a spoke that was never attached.
    pub fn site(&self, name: &str) -> Option<Site> {
        if name == self.hub.name { Some(self.hub.clone()) } else { self.network.site(&address(name)) }
    }

    /// Lets time pass.
    pub async fn pass(&self, time: Duration) {
        sleep(time).await;
    }

    /// Waits until something holds; returns after how long, or `None` if it did not within `limit`.
    pub async fn until(&self, limit: Duration, mut holds: impl FnMut(&Self) -> bool) -> Option<Duration> {
        let start = Instant::now();
        while start.elapsed() <= limit {
            if holds(self) {
                return Some(start.elapsed());
            }
            sleep(Duration::from_millis(250)).await;
        }
        None
    }

    /// A custom resource of the operator on the hub.
    pub fn component(&self, id: (&str, &str, &str)) -> Option<Arc<Value>> {
        let (kind, namespace, name) = id;
        self.hub.server.get("operator.knative.dev", kind, namespace, name)
    }

    /// `(status, reason, message)` of a condition of a custom resource; empty texts when it is not there.
    pub fn condition(&self, id: (&str, &str, &str), kind: &str) -> (String, String, String) {
        let component = self.component(id).unwrap_or_default();
        let conditions = component["status"]["conditions"].as_array();
        let found = conditions.into_iter().flatten().find(|condition| condition["type"] == kind);
        let text = |field: &str| found.and_then(|c| c[field].as_str()).unwrap_or_default().to_owned();
        (text("status"), text("reason"), text("message"))
    }

    /// Whether a custom resource is Ready for its current generation, with this version.
    pub fn is_ready(&self, id: (&str, &str, &str), version: &str) -> bool {
        let Some(component) = self.component(id) else { return false };
        let status = &component["status"];
        status["observedGeneration"] == component["metadata"]["generation"]
            && status["version"] == version
            && self.condition(id, "Ready").0 == "True"
    }
}

/// Who holds the Lease when a start of an operator does.
pub fn replica_name(start: u64) -> String {
    format!("{REPLICA}{start}")
}

/// The address of a spoke.
pub fn address(spoke: &str) -> String {
    format!("https://{spoke}")
}

/// A ClusterProfile whose `ControlPlaneHealthy` is `healthy`.
pub fn profile(name: &str, server: &str, healthy: &str) -> Value {
    let time = "2030-01-01T00:00:00Z";
    let healthy = json!({"type": "ControlPlaneHealthy", "status": healthy, "reason": "Probed", "message": "",
                         "lastTransitionTime": time});
    json!({
        "apiVersion": "multicluster.x-k8s.io/v1alpha1",
        "kind": "ClusterProfile",
        "metadata": {"name": name, "namespace": FLEET},
        "spec": {"clusterManager": {"name": "world"}, "displayName": name},
        "status": {
            "conditions": [healthy],
            "accessProviders": [{"name": "world", "cluster": {"server": server}}],
        },
    })
}

/// An access-provider file with the one provider of the world.
pub fn provider_file() -> Value {
    json!({"providers": [{"name": "world", "execConfig": {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": "/plugins/world",
        "provideClusterInfo": true,
        "interactiveMode": "Never",
    }}]})
}

fn site(options: &Options, clock: &SimulatedClock, name: &str, seed: &str) -> Site {
    let seed = options.seed.number(&format!("cluster {seed}"));
    let server = FakeApiServer::builder()
        .seed(seed)
        .epoch(clock.now())
        .readiness(Readiness::After(options.rollout))
        .rbac(true)
        .guarded_owners(true)
        .build();
    let permissions = if name == "hub" { rbac::hub() } else { rbac::spoke() };
    let missing = options.missing.map(|rule| rule.to_value());
    for mut object in permissions {
        if let Some(rules) = object["rules"].as_array_mut() {
            rules.retain(|rule| Some(rule) != missing.as_ref());
        }
        drop(server.create(object));
    }
    Site { name: name.into(), server, link: Link::new() }
}

/// The definitions on every hub: ours, and the ClusterProfile.
fn definitions() -> Vec<Value> {
    let mut all: Vec<Value> = knative_operator::api::crd::definitions();
    let profiles = serde_saphyr::from_str(include_str!("fixtures/clusterprofiles.yaml"));
    all.push(profiles.expect("the fixture is YAML"));
    all
}
