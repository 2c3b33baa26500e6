//! How the hub is reached: by a kubeconfig, or with the account of the pod that the operator runs in.
//!
//! Unlike a spoke, the hub is reached with whatever a kubeconfig can say, so kube does the authentication.

use std::path::{Path, PathBuf};

use kube::Config;
use kube::client::ConfigExt;
use kube::config::{InClusterError, KubeConfigOptions, Kubeconfig, KubeconfigError};
use tower::{Layer, ServiceExt};

use super::connect;
use crate::target::stack::{Transport, answer_body};

/// Where the connection settings of the hub come from.
#[derive(Clone, Debug, Default)]
pub struct HubArgs {
    /// Kubeconfig; none: `KUBECONFIG` (one or more files), then the pod's own account, then `~/.kube/config`.
    pub kubeconfig: Option<PathBuf>,
    /// URL that replaces the one of the kubeconfig.
    pub server: Option<http::Uri>,
    /// Entry of the kubeconfig that replaces the cluster of its context.
    pub cluster: Option<String>,
}

/// Why there are no usable connection settings.
#[derive(Debug, thiserror::Error)]
pub enum HubError {
    /// A kubeconfig cannot be read.
    #[error("cannot read the kubeconfig {}", path.display())]
    Unreadable {
        /// Which one.
        path: PathBuf,
        /// The cause.
        #[source]
        cause: std::io::Error,
    },
    /// A kubeconfig is not text in UTF-8.
    #[error("the kubeconfig {} is not text in UTF-8", path.display())]
    NotText {
        /// Which one.
        path: PathBuf,
    },
    /// A kubeconfig is no YAML, or not of the right shape. What it holds is not repeated: it may be a credential.
    #[error("the kubeconfig {} is malformed at line {line}, column {column}", path.display())]
    Malformed {
        /// Which one.
        path: PathBuf,
        /// Where.
        line: u64,
        /// Where.
        column: u64,
    },
    /// A kubeconfig does not lead to a cluster.
    #[error("cannot use the kubeconfig {files}")]
    Kubeconfig {
        /// The files that were read.
        files: String,
        /// The cause.
        #[source]
        cause: KubeconfigError,
    },
    /// The pod's own account cannot be used.
    #[error("cannot use the account of the pod")]
    InCluster(#[source] InClusterError),
    /// Nothing says where the hub is.
    #[error("nothing says where the hub is: set --kubeconfig or KUBECONFIG, or run in a pod of the hub")]
    Nowhere,
}

/// The connection settings of the hub.
///
/// # Errors
/// [`HubError`] when there are none, or they cannot be used.
pub async fn config(args: HubArgs) -> Result<Config, HubError> {
    let given = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let files = match (args.kubeconfig, given("KUBECONFIG")) {
        (Some(file), _) => vec![file],
        (None, Some(list)) => {
            std::env::split_paths(&list).filter(|path| !path.as_os_str().is_empty()).collect()
        }
        (None, None) => Vec::new(),
    };
    let mut config = if !files.is_empty() {
        from_files(&files, args.cluster).await?
    } else if given("KUBERNETES_SERVICE_HOST").is_some() {
        Config::incluster().map_err(HubError::InCluster)?
    } else {
        let home = given("HOME").ok_or(HubError::Nowhere)?;
        let file = Path::new(&home).join(".kube/config");
        if !file.exists() {
            return Err(HubError::Nowhere);
        }
        from_files(&[file], args.cluster).await?
    };
    if let Some(server) = args.server {
        config.cluster_url = server;
    }
    Ok(config)
}

/// What kubeconfigs say together, the first winning, as in kubectl.
async fn from_files(files: &[PathBuf], cluster: Option<String>) -> Result<Config, HubError> {
    let names = || files.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ");
    let unusable = |cause| HubError::Kubeconfig { files: names(), cause };
    let mut merged = Kubeconfig::default();
    for path in files {
        merged = merged.merge(read(path)?).map_err(unusable)?;
    }
    let options = KubeConfigOptions { cluster, ..KubeConfigOptions::default() };
    Config::from_custom_kubeconfig(merged, &options).await.map_err(unusable)
}

/// Reads one file. Its encoding is checked first, because kube guesses at others and can panic over that.
fn read(path: &Path) -> Result<Kubeconfig, HubError> {
    let owned = || path.to_owned();
    let bytes = std::fs::read(path).map_err(|cause| HubError::Unreadable { path: owned(), cause })?;
    if std::str::from_utf8(&bytes).is_err() {
        return Err(HubError::NotText { path: owned() });
    }
    Kubeconfig::read_from(path).map_err(|cause| match cause {
        KubeconfigError::Parse(error) => {
            let place = error.location().unwrap_or(serde_saphyr::Location::UNKNOWN);
            HubError::Malformed { path: owned(), line: place.line(), column: place.column() }
        }
        cause => HubError::Kubeconfig { files: path.display().to_string(), cause },
    })
}

/// The transport to the hub, with the authentication that its configuration asks for.
///
/// # Errors
/// When the TLS or authentication settings cannot be used.
pub fn transport(config: &Config) -> Result<Transport, kube::Error> {
    let transport = connect::transport(config)?;
    let Some(auth) = config.auth_layer()? else { return Ok(transport) };
    let service = auth.layer(transport).map_response(|response: http::Response<_>| response.map(answer_body));
    Ok(Transport::new(service))
}
