//! From a custom resource's `spec.clusterProfileRef` to a connected, probed cluster.
//!
//! The profile is read afresh each time and the provider file whenever it changed, so a connection is used only as
//! long as it is what both of them say (W1, W32). Connections are kept by profile and replaced when their data
//! change. Installing and uninstalling resolve in the same way (W2).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use jiff::Timestamp;
use parking_lot::Mutex;

use super::access::{self, Access, AccessConfig, AccessError, AccessFileError};
use super::breaker::Gate;
use super::cluster::{Cluster, ClusterError, Detail, Failure};
use super::credentials::{CredentialCache, Credentials};
use super::grant::{Applicant, GRANT_API, ProfileAccess, permits};
use super::stack::{self, ConnectError, Connector};
use super::wires::Wires;
use crate::api::cluster_profile::ClusterProfile;
use crate::api::{ClusterProfileRef, Reason};
use crate::clock::Clock;
use crate::metrics::{Metrics, Side};
use crate::plan::{MINIMUM_KUBERNETES, UnsupportedKubernetes, check_kubernetes};
use crate::source::{Source, SourceError};

/// API of ClusterProfiles (KEP-4322).
pub const PROFILE_API: &str = "multicluster.x-k8s.io/v1alpha1";

/// Limits of spoke connections.
#[derive(Clone, Debug)]
pub struct Limits {
    /// For one request.
    pub request: Duration,
    /// For one run of a credential plugin.
    pub plugin: Duration,
    /// Oldest Kubernetes that is served, for instance `v1.33.0`.
    pub kubernetes_min: String,
    /// Where chance comes from, which spreads what would otherwise happen at once.
    pub jitter_seed: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            request: Duration::from_secs(10),
            plugin: Duration::from_secs(10),
            kubernetes_min: MINIMUM_KUBERNETES.into(),
            jitter_seed: 0,
        }
    }
}

/// A cluster that answered in this reconcile.
#[derive(Clone)]
pub struct Target {
    /// The cluster.
    pub cluster: Cluster,
    /// UID of its `kube-system` namespace: the same for every profile that leads to it.
    pub uid: String,
}

/// Why there is no target.
#[derive(Debug, thiserror::Error)]
pub enum ResolveError {
    /// No such profile.
    #[error("failed to get ClusterProfile {key}: not found on the hub")]
    ProfileNotFound {
        /// The profile.
        key: String,
    },
    /// The hub did not give the profile.
    #[error("failed to get ClusterProfile {key}")]
    ProfileUnavailable {
        /// The profile.
        key: String,
        /// The cause.
        #[source]
        cause: ClusterError,
    },
    /// Nobody lets the custom resource use the profile.
    #[error(
        "no ReferenceGrant in namespace {namespace} lets a {applicant} use ClusterProfile {namespace}/{name}"
    )]
    NotPermitted {
        /// Namespace of the profile.
        namespace: String,
        /// Name of the profile.
        name: String,
        /// Who may not use it.
        applicant: Applicant,
    },
    /// Its control plane is not reported healthy.
    #[error("ClusterProfile {key} is not ready: {why}")]
    NotReady {
        /// The profile.
        key: String,
        /// What its conditions say.
        why: String,
    },
    /// There is no provider file.
    #[error(
        "failed to build config from ClusterProfile {key}: multi-cluster support is disabled: \
         set --clusterprofile-provider-file to enable"
    )]
    Disabled {
        /// The profile.
        key: String,
    },
    /// The provider file was never readable.
    #[error("failed to load access provider config from {path:?}")]
    FileUnreadable {
        /// The file.
        path: String,
        /// The cause.
        #[source]
        cause: SourceError,
    },
    /// The provider file was never well-formed.
    #[error("failed to load access provider config from {path:?}")]
    FileMalformed {
        /// The file.
        path: String,
        /// The cause.
        #[source]
        cause: AccessFileError,
    },
    /// No provider fits.
    #[error("failed to build config from ClusterProfile {key}")]
    Access {
        /// The profile.
        key: String,
        /// The cause.
        #[source]
        cause: AccessError,
    },
    /// The file with the certificate authority cannot be read.
    #[error("failed to read the certificate authority of ClusterProfile {key}")]
    AuthorityUnreadable {
        /// The profile.
        key: String,
        /// The cause.
        #[source]
        cause: SourceError,
    },
    /// The connection data cannot be used.
    #[error("failed to create remote client for ClusterProfile {key}")]
    Connect {
        /// The profile.
        key: String,
        /// The cause.
        #[source]
        cause: ConnectError,
    },
    /// The profile led to another cluster when the pass began.
    #[error("ClusterProfile {key} leads to another cluster by now")]
    Moved {
        /// The profile.
        key: String,
    },
    /// The cluster did not answer the probe.
    #[error("failed to reach {cluster}")]
    Probe {
        /// The cluster, for instance `the cluster of ClusterProfile fleet/eu`.
        cluster: String,
        /// The cause.
        #[source]
        cause: ClusterError,
    },
    /// The cluster's Kubernetes is too old.
    #[error("{cluster} cannot be used")]
    TooOld {
        /// The cluster.
        cluster: String,
        /// What it runs and what is needed.
        #[source]
        cause: UnsupportedKubernetes,
    },
}

impl ResolveError {
    /// The reason of `TargetClusterResolved=False`.
    pub fn reason(&self) -> Reason {
        match self {
            Self::ProfileNotFound { .. } => Reason::ClusterProfileNotFound,
            Self::ProfileUnavailable { .. } => Reason::ClusterProfileUnavailable,
            Self::NotPermitted { .. } => Reason::NotPermitted,
            Self::NotReady { .. } => Reason::ClusterProfileNotReady,
            Self::Disabled { .. } => Reason::MulticlusterDisabled,
            Self::FileUnreadable { .. }
            | Self::FileMalformed { .. }
            | Self::Access { .. }
            | Self::AuthorityUnreadable { .. } => Reason::AccessProviderFailed,
            Self::Moved { .. } => Reason::RemoteClusterStale,
            Self::Connect { .. } => Reason::RemoteClientCreationFailed,
            Self::Probe { cause, .. } => probe_reason(&cause.failure),
            Self::TooOld { .. } => Reason::KubernetesTooOld,
        }
    }
}

/// What a failed request to a spoke says about the spoke, if it says anything.
pub fn probe_reason(failure: &Failure) -> Reason {
    match failure {
        Failure::Credentials(_) => Reason::CredentialsFailed,
        Failure::Refused { code: 401, .. } => Reason::CredentialsRejected,
        Failure::Refused { code: 403, .. } => Reason::RemoteClusterForbidden,
        _ => Reason::RemoteClusterUnreachable,
    }
}

/// Finds and keeps targets. One for the whole process.
pub struct Targets {
    hub: Cluster,
    connector: Arc<dyn Connector>,
    credentials: Arc<dyn Credentials>,
    clock: Arc<dyn Clock>,
    source: Arc<dyn Source>,
    metrics: Metrics,
    hub_uid: OnceLock<String>,
    provider_file: Option<String>,
    limits: Limits,
    access: ProfileAccess,
    file: Mutex<Option<ProviderFile>>,
    connections: Mutex<BTreeMap<String, Connection>>,
    /// UIDs of clusters whose Kubernetes version is known to do.
    checked: Mutex<BTreeSet<String>>,
}

/// The last provider file that could be used.
struct ProviderFile {
    bytes: Bytes,
    config: Arc<AccessConfig>,
}

struct Connection {
    access: Access,
    cluster: Cluster,
    gate: Gate,
}

/// What [`Targets`] is made of.
pub struct Seams {
    /// The hub.
    pub hub: Cluster,
    /// Opens transports to spokes.
    pub connector: Arc<dyn Connector>,
    /// Issues credentials for spokes.
    pub credentials: Arc<dyn Credentials>,
    /// Wall clock.
    pub clock: Arc<dyn Clock>,
    /// Files.
    pub source: Arc<dyn Source>,
    /// Where it is counted.
    pub metrics: Metrics,
}

impl Targets {
    /// No connections yet. Without a `provider_file` only local targets resolve.
    pub fn new(seams: Seams, provider_file: Option<String>, limits: Limits) -> Self {
        let Seams { hub, connector, credentials, clock, source, metrics } = seams;
        let hub = hub.measured(metrics.clone(), Side::Hub);
        let (file, connections, checked) = (Mutex::default(), Mutex::default(), Mutex::default());
        let access = ProfileAccess::default();
        Self {
            hub,
            connector,
            credentials,
            clock,
            source,
            metrics,
            hub_uid: OnceLock::new(),
            provider_file,
            limits,
            access,
            file,
            connections,
            checked,
        }
    }

    /// The same targets, for other custom resources than all.
    #[must_use]
    pub fn with_access(self, access: ProfileAccess) -> Self {
        Self { access, ..self }
    }

    /// Makes sure that a custom resource may use the profile that it names (W47).
    ///
    /// # Errors
    /// [`ResolveError::NotPermitted`], or [`ResolveError::ProfileUnavailable`] if the hub does not tell.
    pub async fn permit(
        &self,
        applicant: &Applicant,
        reference: Option<&ClusterProfileRef>,
    ) -> Result<(), ResolveError> {
        let Some(profile) = reference.filter(|_| self.access == ProfileAccess::Granted) else {
            return Ok(());
        };
        let key = format!("{}/{}", profile.namespace, profile.name);
        let unavailable = |cause| ResolveError::ProfileUnavailable { key, cause };
        let grants = match self.hub.resource(GRANT_API, "ReferenceGrant").await {
            Ok(resource) => self.hub.list(&resource, "", Detail::Full).await.map_err(unavailable)?,
            Err(error) if matches!(error.failure, Failure::NoMatch { .. }) => Vec::new(),
            Err(error) => return Err(unavailable(error)),
        };
        if permits(applicant, profile, &grants) {
            return Ok(());
        }
        let (namespace, name) = (profile.namespace.clone(), profile.name.clone());
        Err(ResolveError::NotPermitted { namespace, name, applicant: applicant.clone() })
    }

    /// The hub.
    pub fn hub(&self) -> &Cluster {
        &self.hub
    }

    /// Where it is counted.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// UID of the hub's `kube-system` namespace. It never changes, so it is asked for once.
    ///
    /// # Errors
    /// [`ResolveError`] when the hub does not answer.
    pub async fn hub_uid(&self) -> Result<String, ResolveError> {
        if let Some(uid) = self.hub_uid.get() {
            return Ok(uid.clone());
        }
        let uid = self.resolve(None).await?.uid;
        Ok(self.hub_uid.get_or_init(|| uid).clone())
    }

    /// The target of a reference; the hub itself for none.
    ///
    /// # Errors
    /// [`ResolveError`], never a target that did not answer.
    pub async fn resolve(&self, reference: Option<&ClusterProfileRef>) -> Result<Target, ResolveError> {
        let Some(reference) = reference else {
            return self.probe("the local cluster".into(), self.hub.clone()).await;
        };
        let key = format!("{}/{}", reference.namespace, reference.name);
        match self.connect(reference, &key).await {
            Ok(cluster) => self.probe(format!("the cluster of ClusterProfile {key}"), cluster).await,
            Err(error) => {
                self.connections.lock().remove(&key);
                self.metrics.set_cluster(&key, None);
                Err(error)
            }
        }
    }

    /// For how long the cluster of a profile is left alone because it does not answer, if it is.
    pub fn pause(&self, reference: &ClusterProfileRef) -> Option<Duration> {
        self.gate(reference)?.pause()
    }

    /// When the cluster of a profile last answered, as far as this process knows.
    pub fn last_answer(&self, reference: &ClusterProfileRef) -> Option<Timestamp> {
        self.gate(reference)?.last_answer()
    }

    fn gate(&self, reference: &ClusterProfileRef) -> Option<Gate> {
        let key = format!("{}/{}", reference.namespace, reference.name);
        self.connections.lock().get(&key).map(|connection| connection.gate.clone())
    }

    /// Makes sure that a reference still leads to the cluster that was worked on, before that is called finished: a profile
    /// may go, or turn elsewhere, in the middle of a pass (W52).
    ///
    /// # Errors
    /// [`ResolveError`].
    pub async fn confirm(
        &self,
        reference: Option<&ClusterProfileRef>,
        target: &Target,
    ) -> Result<(), ResolveError> {
        let Some(profile) = reference else { return Ok(()) };
        if self.resolve(reference).await?.uid == target.uid {
            return Ok(());
        }
        Err(ResolveError::Moved { key: format!("{}/{}", profile.namespace, profile.name) })
    }

    async fn connect(&self, reference: &ClusterProfileRef, key: &str) -> Result<Cluster, ResolveError> {
        let profile = self.profile(reference, key).await?;
        if !profile.is_healthy() {
            let why = profile.control_plane_healthy.map_or_else(
                || "it has no condition ControlPlaneHealthy".into(),
                |health| format!("ControlPlaneHealthy is not True: {} {}", health.reason, health.message),
            );
            return Err(ResolveError::NotReady { key: key.into(), why: why.trim_end().into() });
        }
        let config = self.access_config(key).await?;
        let refused = |cause| ResolveError::Access { key: key.into(), cause };
        let mut access = config.choose(&profile).map_err(refused)?;
        if let Some(file) = access.authority_file.take() {
            let place = access::authority_path(self.provider_file.as_deref().unwrap_or_default(), &file, key);
            let path = place.map_err(refused)?;
            let read = self.source.read(&path).await;
            access
                .trust(&read.map_err(|cause| ResolveError::AuthorityUnreadable { key: key.into(), cause })?);
        }
        let mut connections = self.connections.lock();
        if let Some(known) = connections.get(key)
            && known.access == access
        {
            return Ok(known.cluster.clone());
        }
        let wires = Wires::open(self.connector.clone(), access.endpoint.clone())
            .map_err(|cause| ResolveError::Connect { key: key.into(), cause })?;
        let (issuer, clock) = (self.credentials.clone(), self.clock.clone());
        let cache = CredentialCache::new(issuer, access.exec.clone(), clock, self.limits.plugin)
            .measured(self.metrics.clone());
        let client = stack::spoke_client(Arc::new(wires), Some(Arc::new(cache)), self.limits.request);
        let gate = Gate::new(key, self.limits.jitter_seed, self.clock.clone(), self.metrics.clone());
        let cluster =
            Cluster::new(key, client).measured(self.metrics.clone(), Side::Spoke).gated(gate.clone());
        tracing::info!(
            profile = key,
            server = access.endpoint.server,
            "connected to the cluster of a profile"
        );
        connections.insert(key.into(), Connection { access, cluster: cluster.clone(), gate });
        Ok(cluster)
    }

    async fn profile(
        &self,
        reference: &ClusterProfileRef,
        key: &str,
    ) -> Result<ClusterProfile, ResolveError> {
        let unavailable = |cause| ResolveError::ProfileUnavailable { key: key.into(), cause };
        let not_found = || ResolveError::ProfileNotFound { key: key.into() };
        let resource = match self.hub.resource(PROFILE_API, "ClusterProfile").await {
            Ok(resource) => resource,
            Err(error) if matches!(error.failure, Failure::NoMatch { .. }) => return Err(not_found()),
            Err(error) => return Err(unavailable(error)),
        };
        let found =
            self.hub.get(&resource, &reference.namespace, &reference.name).await.map_err(unavailable)?;
        let object = found.ok_or_else(not_found)?;
        Ok(ClusterProfile::from_value(object.value()))
    }

    /// The provider file, parsed again when its bytes changed. A file that cannot be used leaves the last good one in
    /// force.
    async fn access_config(&self, key: &str) -> Result<Arc<AccessConfig>, ResolveError> {
        let path = self.provider_file.as_ref().ok_or_else(|| ResolveError::Disabled { key: key.into() })?;
        let last = || self.file.lock().as_ref().map(|file| file.config.clone());
        let bytes = match self.source.read(path).await {
            Ok(bytes) => bytes,
            Err(cause) => {
                tracing::warn!(
                    path,
                    error = &cause as &dyn std::error::Error,
                    "cannot read the provider file"
                );
                return last().ok_or_else(|| ResolveError::FileUnreadable { path: path.clone(), cause });
            }
        };
        if let Some(file) = self.file.lock().as_ref().filter(|file| file.bytes == bytes) {
            return Ok(file.config.clone());
        }
        match AccessConfig::from_json(&bytes) {
            Ok((config, unknown)) => {
                if !unknown.is_empty() {
                    tracing::warn!(path, keys = unknown.join(", "), "the provider file has unknown keys");
                }
                let config = Arc::new(config);
                *self.file.lock() = Some(ProviderFile { bytes, config: config.clone() });
                Ok(config)
            }
            Err(cause) => {
                tracing::warn!(
                    path,
                    error = &cause as &dyn std::error::Error,
                    "cannot use the provider file"
                );
                last().ok_or_else(|| ResolveError::FileMalformed { path: path.clone(), cause })
            }
        }
    }

    /// One authenticated read proves that the cluster can be used, and tells which cluster it is.
    async fn probe(&self, called: String, cluster: Cluster) -> Result<Target, ResolveError> {
        let failed = |cause| ResolveError::Probe { cluster: called.clone(), cause };
        let system = cluster.read("/api/v1/namespaces/kube-system").await.map_err(failed)?;
        let uid = system["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
        if !self.checked.lock().contains(&uid) {
            let version = cluster.read("/version").await.map_err(failed)?;
            let found = version["gitVersion"].as_str().unwrap_or_default();
            check_kubernetes(found, &self.limits.kubernetes_min)
                .map_err(|cause| ResolveError::TooOld { cluster: cluster.name().into(), cause })?;
            self.checked.lock().insert(uid.clone());
        }
        Ok(Target { cluster, uid })
    }
}
