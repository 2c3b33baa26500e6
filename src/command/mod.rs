//! The subcommands. They write to what they are given and return errors; printing is for `main`.

mod against;
mod bundles;
mod diff;
mod images;
mod plan;
mod status;
mod summary;
mod table;

use std::io::{self, Write};

use serde_json::Value;

pub use self::bundles::FetchError;
use crate::api::{ComponentError, crd};
use crate::args::Command;
use crate::manifest::{ManifestError, ParseError, version::VersionError};
use crate::plan::{PlanError, UnsupportedKubernetes};
use crate::process::hub::HubError;
use crate::rbac;
use crate::run::{self, RunError};
use crate::target::cluster::ClusterError;

/// Why a subcommand failed.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// The operator cannot start.
    #[error("cannot run")]
    Run(#[source] RunError),
    /// The hub did not give its custom resources.
    #[error("cannot read the fleet from the hub")]
    Fleet(#[source] ClusterError),
    /// The kubeconfig cannot be used.
    #[error("cannot read the configuration of the cluster")]
    Configuration(#[source] HubError),
    /// The connection settings cannot be used.
    #[error("cannot connect to the cluster")]
    Connect(#[source] kube::Error),
    /// The cluster did not answer what was asked.
    #[error("cannot compare the plan with the cluster")]
    Cluster(#[source] ClusterError),
    /// The data root is empty.
    #[error("there are no releases in the data root")]
    NoBundles,
    /// Releases cannot be fetched.
    #[error("cannot fetch the releases")]
    Fetch(#[source] FetchError),
    /// The data root is not as it should be; what is wrong has been printed.
    #[error("the data root has {problems} problems")]
    Unsound {
        /// How many.
        problems: usize,
    },
    /// The output went nowhere.
    #[error("cannot write the output")]
    Output(#[source] io::Error),
    /// YAML cannot be printed.
    #[error("cannot print YAML")]
    Yaml(#[source] serde_saphyr::ser_error::Error),
    /// The file cannot be read.
    #[error("cannot read {file}")]
    Unreadable {
        /// The file as given.
        file: String,
        /// Why.
        #[source]
        cause: io::Error,
    },
    /// The file is not YAML.
    #[error("cannot parse {file}")]
    Malformed {
        /// The file as given.
        file: String,
        /// Why.
        #[source]
        cause: ParseError,
    },
    /// The file holds no or several resources.
    #[error("{file} holds {count} documents instead of one custom resource")]
    NotOne {
        /// The file as given.
        file: String,
        /// How many.
        count: usize,
    },
    /// The resource lacks name or namespace.
    #[error("{kind} without metadata.{field}")]
    Anonymous {
        /// Its kind.
        kind: &'static str,
        /// What is missing.
        field: &'static str,
    },
    /// The resource is malformed.
    #[error(transparent)]
    Component(ComponentError),
    /// The release may not be installed.
    #[error("version migration is not eligible")]
    Version(#[source] VersionError),
    /// The target is too old.
    #[error(transparent)]
    Kubernetes(UnsupportedKubernetes),
    /// The release cannot be loaded.
    #[error(transparent)]
    Manifest(ManifestError),
    /// There is no plan.
    #[error("cannot plan {kind} {name}")]
    Plan {
        /// Kind of the resource.
        kind: &'static str,
        /// `namespace/name`.
        name: String,
        /// Why.
        #[source]
        cause: Box<PlanError>,
    },
}

/// Runs a subcommand. Warnings go to `err`.
///
/// # Errors
/// [`CommandError`].
pub async fn run(command: Command, out: &mut dyn Write, err: &mut dyn Write) -> Result<(), CommandError> {
    match command {
        Command::Plan(args) => plan::run(&args, out, err).await,
        Command::Crds => print_yaml(out, &crd::definitions()),
        Command::Bundles(command) => bundles::run(command, out).await,
        Command::Images(args) => plan::images(args, out).await,
        Command::Run(args) => run::run(args).await.map_err(CommandError::Run),
        Command::Rbac { spoke } => print_yaml(out, &if spoke { rbac::spoke() } else { rbac::hub() }),
        Command::Status(args) => status::run(args, out, err).await,
    }
}

/// Prints documents as a YAML stream.
fn print_yaml<'a>(
    out: &mut dyn Write,
    documents: impl IntoIterator<Item = &'a Value>,
) -> Result<(), CommandError> {
    for document in documents {
        let text = serde_saphyr::to_string(document).map_err(CommandError::Yaml)?;
        write!(out, "---\n{text}").map_err(CommandError::Output)?;
    }
    Ok(())
}
