//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args as Arguments, Parser, Subcommand, ValueEnum};

use crate::process::fetch::FetchArgs;
use crate::run::RunArgs;

/// Installs, upgrades and removes Knative on a fleet of clusters from one hub.
#[derive(Debug, Parser)]
#[command(name = "knative-operator", version, arg_required_else_help = true)]
pub struct Args {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// How to write logs, which go to standard error; `RUST_LOG` says which.
    #[arg(long, env = "LOG_FORMAT", value_enum, default_value_t = LogFormat::Text, global = true)]
    pub log_format: LogFormat,
}

/// How to write logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// Lines for people.
    Text,
    /// One JSON object a line.
    Json,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the operator.
    Run(RunArgs),
    /// Print what a custom resource would apply; needs no cluster.
    Plan(PlanArgs),
    /// Print the CustomResourceDefinitions.
    Crds,
    /// Print the permissions the operator needs.
    Rbac {
        /// Those on the clusters it installs to.
        #[arg(long)]
        spoke: bool,
    },
    /// Show the fleet as a table.
    Status(StatusArgs),
    /// Print every image a custom resource would run.
    Images(ImagesArgs),
    /// Look after the releases in the data root.
    #[command(subcommand)]
    Bundles(BundlesCommand),
}

/// Arguments of `plan`.
#[derive(Debug, Arguments)]
pub struct PlanArgs {
    /// File with one custom resource; `-` is standard input.
    #[arg(short, long)]
    pub file: PathBuf,
    /// How to print the plan.
    #[arg(short, long, value_enum, default_value_t = Output::Yaml)]
    pub output: Output,
    /// Print what changes against the plan of this older custom resource instead.
    #[arg(long, value_name = "OLD", conflicts_with = "against")]
    pub diff: Option<PathBuf>,
    /// Print what would change on the cluster of this kubeconfig (the one that is installed to) instead; nothing is written.
    #[arg(long, value_name = "KUBECONFIG")]
    pub against: Option<PathBuf>,
    /// UID of the custom resource.
    #[arg(long)]
    pub uid: Option<String>,
    /// UID of the anchor on the target cluster, which owns the objects of a remote custom resource.
    #[arg(long, default_value = UNKNOWN_UID)]
    pub anchor_uid: String,
    /// Version of the target cluster, checked against the oldest that is supported.
    #[arg(long)]
    pub kubernetes_version: Option<String>,
    /// Directory with the releases; the built-in bundle when it is not set.
    #[arg(long, env = "KO_DATA_PATH")]
    pub data_path: Option<String>,
    /// Oldest supported Kubernetes, handed on to the workloads.
    #[arg(long, env = "KUBERNETES_MIN_VERSION")]
    pub kubernetes_min_version: Option<String>,
    /// What the custom resource may have read.
    #[command(flatten)]
    pub fetch: FetchArgs,
}

/// Arguments of `status`.
#[derive(Debug, Arguments)]
pub struct StatusArgs {
    /// Kubeconfig of the hub; without it, `KUBECONFIG` (one or more files), the pod's own account or `~/.kube/config`.
    #[arg(long)]
    pub kubeconfig: Option<PathBuf>,
    /// URL of the hub, instead of the one in the kubeconfig.
    #[arg(long, env = "HUB_SERVER")]
    pub server: Option<http::Uri>,
    /// Cluster entry of the kubeconfig, instead of the one its context names.
    #[arg(long, env = "HUB_CLUSTER")]
    pub cluster: Option<String>,
    /// Namespace of the operator, whose Lease tells whether it works.
    #[arg(long, env = "SYSTEM_NAMESPACE", default_value = "knative-operator")]
    pub system_namespace: String,
}

/// Arguments of `images`.
#[derive(Debug, Arguments)]
pub struct ImagesArgs {
    /// File with the custom resource; `-` is standard input.
    #[arg(short, long)]
    pub file: PathBuf,
    /// Directory with the releases; the built-in bundle when it is not set.
    #[arg(long, env = "KO_DATA_PATH")]
    pub data_path: Option<String>,
    /// What the custom resource may have read.
    #[command(flatten)]
    pub fetch: FetchArgs,
}

/// Stands for a UID that only a cluster could know.
pub const UNKNOWN_UID: &str = "00000000-0000-0000-0000-000000000000";

/// A duration as Go writes it (`90s`, `1m30s`); negative ones count as zero.
///
/// # Errors
/// What is wrong with the text.
pub fn duration(text: &str) -> Result<Duration, String> {
    let span: jiff::SignedDuration = text.parse().map_err(|error: jiff::Error| error.to_string())?;
    Ok(span.try_into().unwrap_or_default())
}

/// How to print a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// A stream of YAML documents, in the order they are applied.
    Yaml,
    /// One JSON object with the version and the phases.
    Json,
    /// A table.
    Summary,
}

/// What to do with bundles.
#[derive(Debug, Subcommand)]
pub enum BundlesCommand {
    /// List the releases.
    List {
        /// Directory with the releases; the built-in bundle when it is not set.
        #[arg(long, env = "KO_DATA_PATH")]
        data_path: Option<String>,
    },
    /// Download releases from a mirror: a data root behind an HTTP server, with its SHA256SUMS.
    Fetch {
        /// URL of the mirror.
        #[arg(long, value_name = "URL", env = "BUNDLES_FROM")]
        from: String,
        /// Directory to put them in.
        #[arg(long, env = "KO_DATA_PATH")]
        data_path: PathBuf,
        /// Directories or files of the mirror, for instance `knative-serving/1.23.0`; all when there is none.
        only: Vec<String>,
        /// SHA-256 that the mirror's SHA256SUMS must have.
        #[arg(long, value_name = "DIGEST")]
        sums_sha256: Option<String>,
        /// Limits of a download; the mirror itself may always be asked.
        #[command(flatten)]
        fetch: FetchArgs,
    },
    /// Check that a data root holds what its SHA256SUMS says, and that it can be used.
    Verify {
        /// Directory with the releases.
        #[arg(long, env = "KO_DATA_PATH")]
        data_path: PathBuf,
    },
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn durations_are_read_as_in_go() {
        assert_eq!(duration("10s"), Ok(Duration::from_secs(10)));
        assert_eq!(duration("1m30s"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("-5s"), Ok(Duration::ZERO));
        assert!(duration("soon").is_err());
    }
}
