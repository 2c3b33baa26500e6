//! What the operator counts and measures, as a value that is passed in.
//!
//! The number of series does not grow with the fleet: labels are words of this program (kinds, outcomes, reasons), never
//! names of objects, and clusters are counted by state. The one exception is `suspended_cluster`, which names clusters
//! that do not answer, [`NAMED_CLUSTERS`] at most: whoever is woken up wants to know where to look, and the first few
//! names tell. [`SERIES_MAX`] holds whatever happens.

mod fleet;

use std::sync::Arc;
use std::time::Duration;

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use self::fleet::Fleet;
pub use self::fleet::{ClusterState, NAMED_CLUSTERS, Standing};
use crate::api::ComponentKind;
use crate::index::Key;

/// No exposition has more series than this, whatever the fleet.
pub const SERIES_MAX: usize = 800;

/// Seconds that passes and requests take.
const SECONDS: [f64; 9] = [0.005, 0.02, 0.05, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0];

type Labels<const N: usize> = [(&'static str, &'static str); N];
type Counters<const N: usize> = Family<Labels<N>, Counter>;
type Timings<const N: usize> = Family<Labels<N>, Histogram, fn() -> Histogram>;

/// Which side of the operator a cluster is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Where the custom resources are.
    Hub,
    /// Where they are installed to, through a profile.
    Spoke,
}

impl Side {
    const fn word(self) -> &'static str {
        match self {
            Self::Hub => "hub",
            Self::Spoke => "spoke",
        }
    }
}

/// What happened to objects of an installation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Written because they are wanted so.
    Applied,
    /// Written because somebody else had changed or deleted them.
    Repaired,
    /// Found changed or deleted, and left alone by policy.
    Reported,
    /// Deleted because they are not wanted any more.
    Pruned,
}

impl Change {
    const fn word(self) -> &'static str {
        match self {
            Self::Applied => "applied",
            Self::Repaired => "repaired",
            Self::Reported => "reported",
            Self::Pruned => "pruned",
        }
    }
}

/// All of them. A cheap handle.
#[derive(Clone)]
pub struct Metrics(Arc<Inner>);

struct Inner {
    registry: Registry,
    fleet: Fleet,
    passes: Counters<2>,
    pass_seconds: Timings<1>,
    requests: Counters<3>,
    request_seconds: Timings<2>,
    plugin_runs: Counters<1>,
    plugin_seconds: Timings<0>,
    objects: Counters<1>,
    watch_failures: Counters<1>,
    waiting: Gauge,
    running: Gauge,
    leading: Gauge,
}

impl Default for Metrics {
    fn default() -> Self {
        let timings = || -> Histogram { Histogram::new(SECONDS) };
        let mut inner = Inner {
            registry: Registry::with_prefix("knative_operator"),
            fleet: Fleet::default(),
            passes: Family::default(),
            pass_seconds: Family::new_with_constructor(timings),
            requests: Family::default(),
            request_seconds: Family::new_with_constructor(timings),
            plugin_runs: Family::default(),
            plugin_seconds: Family::new_with_constructor(timings),
            objects: Family::default(),
            watch_failures: Family::default(),
            waiting: Gauge::default(),
            running: Gauge::default(),
            leading: Gauge::default(),
        };
        let registry = &mut inner.registry;
        registry.register("passes", "Passes over custom resources", inner.passes.clone());
        registry.register("pass_seconds", "How long passes take", inner.pass_seconds.clone());
        registry.register("requests", "Requests to clusters, watches left out", inner.requests.clone());
        registry.register("request_seconds", "How long requests take", inner.request_seconds.clone());
        registry.register("plugin_runs", "Runs of credential plugins", inner.plugin_runs.clone());
        registry.register("plugin_seconds", "How long credential plugins take", inner.plugin_seconds.clone());
        registry.register("objects", "Objects of installations that were changed", inner.objects.clone());
        registry.register(
            "watch_failures",
            "Failures of the watches on the hub",
            inner.watch_failures.clone(),
        );
        registry.register("waiting", "Custom resources that wait for their next pass", inner.waiting.clone());
        registry.register("running", "Passes that are under way", inner.running.clone());
        registry.register("leading", "1 while this replica is the leader", inner.leading.clone());
        registry.register_collector(Box::new(inner.fleet.clone()));
        Self(Arc::new(inner))
    }
}

/// Names no value: a fleet is long, and other handles share it.
impl std::fmt::Debug for Metrics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

impl Metrics {
    /// The exposition, in the text format of OpenMetrics 1.0, which Prometheus reads.
    pub fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = encode(&mut text, &self.0.registry);
        text
    }

    /// A pass is over.
    pub fn passed(&self, kind: ComponentKind, outcome: &'static str, took: Duration) {
        self.0.passes.get_or_create(&[("kind", kind.kind()), ("outcome", outcome)]).inc();
        self.0.pass_seconds.get_or_create(&[("kind", kind.kind())]).observe(took.as_secs_f64());
    }

    /// A request is over.
    pub fn requested(&self, side: Side, verb: &'static str, outcome: &'static str, took: Duration) {
        let cluster = ("cluster", side.word());
        self.0.requests.get_or_create(&[cluster, ("verb", verb), ("outcome", outcome)]).inc();
        self.0.request_seconds.get_or_create(&[cluster, ("verb", verb)]).observe(took.as_secs_f64());
    }

    /// A credential plugin has run.
    pub fn ran_plugin(&self, outcome: &'static str, took: Duration) {
        self.0.plugin_runs.get_or_create(&[("outcome", outcome)]).inc();
        self.0.plugin_seconds.get_or_create(&[]).observe(took.as_secs_f64());
    }

    /// Something happened to objects of an installation.
    pub fn changed(&self, change: Change, objects: usize) {
        if objects > 0 {
            self.0.objects.get_or_create(&[("change", change.word())]).inc_by(objects as u64);
        }
    }

    /// A watch on the hub failed.
    pub fn watch_failed(&self, kind: &'static str) {
        self.0.watch_failures.get_or_create(&[("kind", kind)]).inc();
    }

    /// How many custom resources wait for their next pass, and how many passes are under way.
    pub fn set_queue(&self, waiting: usize, running: usize) {
        self.0.waiting.set(i64::try_from(waiting).unwrap_or(i64::MAX));
        self.0.running.set(i64::try_from(running).unwrap_or(i64::MAX));
    }

    /// Whether this replica leads.
    pub fn set_leading(&self, leading: bool) {
        self.0.leading.set(leading.into());
    }

    /// How a custom resource stands; `None` when it is gone.
    pub fn set_standing(&self, key: &Key, standing: Option<Standing>) {
        self.0.fleet.set_standing(key, standing);
    }

    /// How a cluster is doing; `None` when nothing is connected to it any more.
    pub fn set_cluster(&self, cluster: &str, state: Option<ClusterState>) {
        self.0.fleet.set_cluster(cluster, state);
    }

    /// Forgets the fleet: another replica takes care of it.
    pub fn forget_fleet(&self) {
        self.0.fleet.clear();
    }
}

#[cfg(test)]
mod tests;
