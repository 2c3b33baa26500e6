//! The operator as a process: the one place where the seams are filled with sockets, processes, files and the machine's
//! clock.

use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use tokio::task::JoinSet;

use crate::args::duration;
use crate::clock::{Clock, SystemClock};
use crate::controller::{self, Pacing};
use crate::health::Health;
use crate::lead::{Election, Fence, FencedConnector, Timing};
use crate::manifest::{Catalog, Directory, Embedded, version};
use crate::metrics::Metrics;
use crate::process::connect::TlsConnector;
use crate::process::exec::ExecPlugins;
use crate::process::fetch::FetchArgs;
use crate::process::hub::{self, HubArgs, HubError};
use crate::process::monitor::{self, Pages};
use crate::reconcile::{Intervals, Reconciler};
use crate::source::Source;
use crate::target::cluster::Cluster;
use crate::target::grant::ProfileAccess;
use crate::target::resolve::{Limits, ResolveError, Seams, Targets};
use crate::target::stack::{self, Connector};

/// Shorter poll intervals are taken for mistakes.
const POLL_MIN: Duration = Duration::from_secs(1);

/// Name of the Lease by which replicas agree.
pub(crate) const LEASE: &str = "knative-operator";

/// Flags of `run`; each is an environment variable too.
#[derive(Clone, Debug, Args)]
pub struct RunArgs {
    /// Kubeconfig of the hub; without it, `KUBECONFIG` (one or more files), the pod's own account or `~/.kube/config`.
    #[arg(long)]
    pub kubeconfig: Option<std::path::PathBuf>,
    /// URL of the hub, instead of the one in the kubeconfig.
    #[arg(long, env = "HUB_SERVER")]
    pub server: Option<http::Uri>,
    /// Cluster entry of the kubeconfig, instead of the one its context names.
    #[arg(long, env = "HUB_CLUSTER")]
    pub cluster: Option<String>,
    /// JSON file with the access providers of the fleet; without it, only local resources are served.
    #[arg(long, env = "CLUSTERPROFILE_PROVIDER_FILE", default_value = "")]
    pub clusterprofile_provider_file: String,
    /// Which custom resources may use which ClusterProfiles: `any` all of them, `granted` those that are in the profile's
    /// namespace or that a ReferenceGrant there lets.
    #[arg(long, env = "PROFILE_ACCESS", value_enum, default_value_t)]
    pub profile_access: ProfileAccess,
    /// How often an installation on its way is looked at; below 1s the default is used.
    #[arg(long, env = "REMOTE_DEPLOYMENTS_POLL_INTERVAL", default_value = "10s", value_parser = duration)]
    pub remote_deployments_poll_interval: Duration,
    /// How often an installation at rest is looked at.
    #[arg(long, env = "DRIFT_INTERVAL", default_value = "60s", value_parser = duration)]
    pub drift_interval: Duration,
    /// Directory with the releases; the built-in bundle when it is not set.
    #[arg(long, env = "KO_DATA_PATH")]
    pub data_path: Option<String>,
    /// Oldest Kubernetes on hub and spokes, for instance `v1.33`; handed on to the workloads.
    #[arg(long, env = "KUBERNETES_MIN_VERSION")]
    pub kubernetes_min_version: Option<String>,
    /// Namespace of the operator, where replicas find their Lease.
    #[arg(long, env = "SYSTEM_NAMESPACE", default_value = "knative-operator")]
    pub system_namespace: String,
    /// Name of this replica; by default the name of its pod and a random part.
    #[arg(long, env = "POD_NAME", default_value = "knative-operator")]
    pub pod_name: String,
    /// Run without leader election: there is but one replica.
    #[arg(long, env = "DISABLE_HA")]
    pub disable_ha: bool,
    /// Address that metrics are served on; without it, every one.
    #[arg(long, env = "METRICS_PROMETHEUS_HOST", default_value = "")]
    pub metrics_host: String,
    /// Port that metrics are served on (`/metrics`); 0 picks a free one.
    #[arg(long, env = "METRICS_PROMETHEUS_PORT", default_value_t = 9090)]
    pub metrics_port: u16,
    /// Port that probes are answered on (`/healthz`, `/readyz`); 0 picks a free one.
    #[arg(long, env = "HEALTH_PORT", default_value_t = 8080)]
    pub health_port: u16,
    /// What custom resources may have it read.
    #[command(flatten)]
    pub fetch: FetchArgs,
}

/// Why the operator cannot start or run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// There are no connection settings for the hub.
    #[error("cannot read the hub's configuration")]
    Configuration(#[source] HubError),
    /// The connection settings of the hub cannot be used.
    #[error("cannot connect to the hub")]
    Connect(#[source] kube::Error),
    /// The hub does not answer, or is too old.
    #[error("the hub cannot be used")]
    Hub(#[source] ResolveError),
    /// `KUBERNETES_MIN_VERSION` is no version.
    #[error("KUBERNETES_MIN_VERSION {0:?} is not a version such as v1.33")]
    MinVersion(String),
    /// A port cannot be had.
    #[error("cannot serve {what} on port {port}")]
    Listen {
        /// Metrics or probes.
        what: &'static str,
        /// The port.
        port: u16,
        /// Why.
        #[source]
        cause: std::io::Error,
    },
    /// The process cannot listen for signals.
    #[error("cannot listen for signals")]
    Signals(#[source] std::io::Error),
}

/// Runs until SIGTERM or SIGINT.
///
/// # Errors
/// [`RunError`] when it cannot start; afterwards every failure ends in a status.
pub async fn run(args: RunArgs) -> Result<(), RunError> {
    let hub_args = HubArgs { kubeconfig: args.kubeconfig, server: args.server, cluster: args.cluster };
    let config = hub::config(hub_args).await.map_err(RunError::Configuration)?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    // Replicas only need to differ.
    let jitter_seed = clock.now().subsec_nanosecond().unsigned_abs().into();
    let mut limits = Limits { jitter_seed, ..Limits::default() };
    if let Some(version) = args.kubernetes_min_version.as_deref().filter(|version| !version.is_empty()) {
        version::parse(version).ok_or_else(|| RunError::MinVersion(version.into()))?;
        limits.kubernetes_min = version.into();
    }
    let stop = signal()?;
    // Probes are answered from the first moment on, and until the last.
    let (metrics, health) = (Metrics::default(), Health::default());
    let mut monitors = JoinSet::new();
    let pages = [
        ("metrics", args.metrics_host.as_str(), args.metrics_port, Pages::Metrics(metrics.clone())),
        ("probes", "", args.health_port, Pages::Probes(health.clone())),
    ];
    for (what, host, port, pages) in pages {
        let failed = |cause| RunError::Listen { what, port, cause };
        let listener = monitor::listen(host, port).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        tracing::info!(what, %address, "serving");
        monitors.spawn(monitor::serve(listener, pages));
    }
    let transport = hub::transport(&config).map_err(RunError::Connect)?;
    let election = Election {
        hub: stack::client(transport.clone(), None, limits.request),
        namespace: args.system_namespace.clone(),
        name: LEASE.into(),
        identity: format!("{}_{:08x}{jitter_seed:08x}", args.pod_name, std::process::id()),
        timing: Timing::default(),
        clock: clock.clone(),
    };
    let fence = Fence::default();
    let (client, connector): (_, Arc<dyn Connector>) = if args.disable_ha {
        (election.hub.clone(), Arc::new(TlsConnector))
    } else {
        let client = stack::client(fence.guard(transport), None, limits.request);
        (client, Arc::new(FencedConnector { connector: TlsConnector, fence: fence.clone() }))
    };
    let seams = Seams {
        hub: Cluster::new("the local cluster", client.clone()),
        connector,
        credentials: Arc::new(ExecPlugins),
        clock: clock.clone(),
        source: Arc::new(Directory),
        metrics,
    };
    let provider_file = Some(args.clusterprofile_provider_file).filter(|file| !file.is_empty());
    if provider_file.is_none() {
        tracing::info!("multi-cluster support disabled (--clusterprofile-provider-file is empty)");
    }
    let targets = Targets::new(seams, provider_file, limits).with_access(args.profile_access);
    targets.resolve(None).await.map_err(RunError::Hub)?;
    health.stand_by();
    let catalog = catalog(args.data_path, &args.fetch);
    let poll = args.remote_deployments_poll_interval;
    let defaults = Intervals::default();
    let intervals = Intervals {
        poll: if poll < POLL_MIN { defaults.poll } else { poll },
        drift: args.drift_interval.max(POLL_MIN),
        ..defaults
    };
    tracing::info!(interval = ?intervals.poll, "remote deployments poll interval");
    let reconciler = Reconciler::new(targets, catalog, clock, intervals, args.kubernetes_min_version);
    let reconciler = Arc::new(reconciler.with_rollouts(args.system_namespace.clone()));
    let pacing = Pacing { jitter_seed, ..Pacing::default() };
    let work = || controller::run(client.clone(), reconciler.clone(), pacing.clone(), health.clone());
    let lead = async { if args.disable_ha { work().await } else { election.run(&fence, work).await } };
    tokio::select! {
        // A signal ends everything, whatever else is due.
        biased;
        () = stop => tracing::info!("stopped"),
        () = lead => {}
    }
    health.stop();
    election.release(&fence).await;
    Ok(())
}

/// The catalog of a data root, or of the built-in bundle when there is none.
pub fn catalog(data_path: Option<String>, fetch: &FetchArgs) -> Catalog {
    let data_path = data_path.filter(|path| !path.is_empty());
    let given = Arc::new(fetch.fetcher(data_path.as_deref()));
    let released: Arc<dyn Source> =
        if data_path.is_some() { Arc::new(Directory) } else { Arc::new(Embedded) };
    Catalog::new(released, data_path.unwrap_or_default()).with_given(given)
}

fn signal() -> Result<impl Future<Output = ()>, RunError> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate()).map_err(RunError::Signals)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(RunError::Signals)?;
    Ok(async move {
        tokio::select! {
            // Either ends it.
            biased;
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}
