//! The seam to credential plugins, and the cache above it.
//!
//! Production runs an exec plugin (`client.authentication.k8s.io`, KEP-541); tests issue credentials in process.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use secrecy::SecretString;
use serde_json::Value;
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::endpoint::Endpoint;
use crate::clock::Clock;
use crate::metrics::Metrics;

/// How long before its expiry a credential is renewed, at most; short-lived ones at nine tenths of their life.
const RENEW_BEFORE: Duration = Duration::from_secs(60);

/// Issues credentials for clusters.
#[async_trait]
pub trait Credentials: Send + Sync + 'static {
    /// Runs the plugin once.
    ///
    /// # Errors
    /// [`CredentialError`] when it gives no usable credential in time.
    async fn issue(&self, request: &ExecRequest) -> Result<ExecCredential, CredentialError>;
}

/// One run of a plugin. Two equal requests may share a credential; nothing else may.
#[derive(Clone, PartialEq, Eq)]
pub struct ExecRequest {
    /// Provider in the access-provider file.
    pub provider: String,
    /// `namespace/name` of the profile it is run for.
    pub profile: String,
    /// Version of the plugin protocol.
    pub api_version: String,
    /// Program.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Variables added to its environment.
    pub env: BTreeMap<String, String>,
    /// Shown when the command is missing.
    pub install_hint: String,
    /// What the plugin is told about the cluster, if anything.
    pub cluster: Option<ExecCluster>,
}

/// The `spec.cluster` that a plugin is given.
#[derive(Clone, PartialEq, Eq)]
pub struct ExecCluster {
    /// Connection data.
    pub endpoint: Endpoint,
    /// Provider-specific data from the profile.
    pub config: Option<Value>,
}

/// Arguments and variables may hold secrets.
impl fmt::Debug for ExecRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExecRequest")
            .field("provider", &self.provider)
            .field("profile", &self.profile)
            .field("command", &self.command)
            .finish_non_exhaustive()
    }
}

/// What a plugin issued: a token, a client certificate, or both.
#[derive(Clone)]
pub struct ExecCredential {
    /// Bearer token; none: the certificate is all there is.
    pub token: Option<SecretString>,
    /// Client certificate; none: the token is all there is.
    pub identity: Option<Arc<ClientIdentity>>,
    /// When it stops being valid; none: it says nothing, so it is used until it is refused.
    pub expires: Option<Timestamp>,
}

impl fmt::Debug for ExecCredential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExecCredential").field("expires", &self.expires).finish_non_exhaustive()
    }
}

/// A client certificate with its key.
pub struct ClientIdentity {
    /// The certificate, and those between it and its authority, in PEM.
    pub certificate: String,
    /// Its private key, in PEM.
    pub key: SecretString,
}

impl fmt::Debug for ClientIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientIdentity").finish_non_exhaustive()
    }
}

/// Why there is no credential.
#[derive(Clone, Debug, thiserror::Error)]
pub enum CredentialError {
    /// The plugin could not be run, or failed.
    #[error("credential plugin of provider {provider:?} failed for cluster profile {profile}: {reason}")]
    Failed {
        /// Provider in the access-provider file.
        provider: String,
        /// The profile.
        profile: String,
        /// Exit status and redacted standard error, or what could not be read of its answer.
        reason: String,
    },
    /// The plugin gave no answer in time.
    #[error(
        "credential plugin of provider {provider:?} gave no answer within {limit:?} for cluster profile {profile}"
    )]
    TimedOut {
        /// Provider in the access-provider file.
        provider: String,
        /// The profile.
        profile: String,
        /// The limit.
        limit: Duration,
    },
    /// The plugin issued a credential that is no longer valid.
    #[error(
        "credential plugin of provider {provider:?} issued an expired credential for cluster profile {profile}"
    )]
    Expired {
        /// Provider in the access-provider file.
        provider: String,
        /// The profile.
        profile: String,
    },
}

impl CredentialError {
    fn outcome(&self) -> &'static str {
        match self {
            Self::Failed { .. } => "failed",
            Self::TimedOut { .. } => "timed_out",
            Self::Expired { .. } => "expired",
        }
    }
}

/// The current credential of one connection: fetched when first needed, renewed shortly before it expires or when
/// the server refused it. Concurrent callers share one run of the plugin.
pub struct CredentialCache {
    issuer: Arc<dyn Credentials>,
    request: ExecRequest,
    clock: Arc<dyn Clock>,
    state: Mutex<CacheState>,
    limit: Duration,
    metrics: Option<Metrics>,
}

#[derive(Default)]
struct CacheState {
    /// Serial of the newest issue.
    newest: u64,
    current: Option<Issued>,
}

struct Issued {
    credential: ExecCredential,
    renew_at: Option<Timestamp>,
    serial: u64,
}

/// A credential, and which issue of it this is, so that a refusal can be told from that of an older one.
pub struct Lease {
    /// Bearer token.
    pub token: Option<SecretString>,
    /// Client certificate.
    pub identity: Option<Arc<ClientIdentity>>,
    /// Counts up with each issue.
    pub serial: u64,
}

impl CredentialCache {
    /// An empty cache; `limit` bounds one run of the plugin.
    pub fn new(
        issuer: Arc<dyn Credentials>,
        request: ExecRequest,
        clock: Arc<dyn Clock>,
        limit: Duration,
    ) -> Self {
        Self { issuer, request, clock, state: Mutex::default(), limit, metrics: None }
    }

    /// The same cache, whose runs of the plugin are counted and timed.
    #[must_use]
    pub fn measured(self, metrics: Metrics) -> Self {
        Self { metrics: Some(metrics), ..self }
    }

    /// A credential that is not known to be bad.
    ///
    /// # Errors
    /// [`CredentialError`] when a new one is needed and not to be had.
    pub async fn lease(&self) -> Result<Lease, CredentialError> {
        self.lease_unless_refused(None).await
    }

    /// A credential after the server refused the one with `serial`: a new one, unless somebody else fetched it
    /// already.
    ///
    /// # Errors
    /// [`CredentialError`] when a new one is needed and not to be had.
    pub async fn renew(&self, serial: u64) -> Result<Lease, CredentialError> {
        self.lease_unless_refused(Some(serial)).await
    }

    /// The server refused the credential with this serial, and nobody needs another one now.
    pub async fn forget(&self, serial: u64) {
        let mut state = self.state.lock().await;
        if state.current.as_ref().is_some_and(|issued| issued.serial == serial) {
            state.current = None;
        }
    }

    async fn lease_unless_refused(&self, refused: Option<u64>) -> Result<Lease, CredentialError> {
        let mut state = self.state.lock().await;
        let now = self.clock.now();
        let good = |issued: &Issued| refused != Some(issued.serial) && !expired(&issued.credential, now);
        if let Some(issued) =
            state.current.as_ref().filter(|i| good(i) && i.renew_at.is_none_or(|at| now < at))
        {
            return Ok(issued.lease());
        }
        // A refused or expired one is forgotten first, so that a failing plugin never lets it be used again. One that
        // is merely due for renewal still serves when the plugin fails.
        let spare = state.current.take().filter(good);
        state.newest += 1;
        let began = Instant::now();
        let issued = self.issue(now, state.newest).await;
        if let Some(metrics) = &self.metrics {
            metrics
                .ran_plugin(issued.as_ref().map_or_else(CredentialError::outcome, |_| "ok"), began.elapsed());
        }
        let issued = match issued {
            Ok(issued) => issued,
            Err(error) => spare.ok_or(error)?,
        };
        let lease = issued.lease();
        state.current = Some(issued);
        Ok(lease)
    }

    /// A failure of this cache's plugin.
    pub fn failed(&self, reason: impl Into<String>) -> CredentialError {
        let (provider, profile) = (self.request.provider.clone(), self.request.profile.clone());
        CredentialError::Failed { provider, profile, reason: reason.into() }
    }

    async fn issue(&self, now: Timestamp, serial: u64) -> Result<Issued, CredentialError> {
        let (provider, profile) = (self.request.provider.clone(), self.request.profile.clone());
        let credential = match tokio::time::timeout(self.limit, self.issuer.issue(&self.request)).await {
            Ok(issued) => issued?,
            Err(_) => return Err(CredentialError::TimedOut { provider, profile, limit: self.limit }),
        };
        if expired(&credential, now) {
            return Err(CredentialError::Expired { provider, profile });
        }
        let renew_at = credential.expires.map(|expires| {
            let life = expires.duration_since(now);
            expires - (life / 10).min(RENEW_BEFORE.try_into().expect("a minute fits"))
        });
        Ok(Issued { credential, renew_at, serial })
    }
}

impl Issued {
    fn lease(&self) -> Lease {
        let ExecCredential { token, identity, .. } = &self.credential;
        Lease { token: token.clone(), identity: identity.clone(), serial: self.serial }
    }
}

fn expired(credential: &ExecCredential, now: Timestamp) -> bool {
    credential.expires.is_some_and(|expires| expires <= now)
}

#[cfg(test)]
mod tests;
