//! The command line. Nothing here looks at the system: files and tools are missed by whoever needs them.

use std::fmt;
use std::path::PathBuf;

use clap::{Args as Group, Parser, Subcommand, ValueEnum};

/// Installs, checks, disturbs and removes Knative on real clusters.
#[derive(Debug, Parser)]
#[command(name = "e2e", version)]
pub(crate) struct Args {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the whole suite and print a table of its steps.
    Run(Run),
}

/// How to run the suite.
#[derive(Debug, PartialEq, Eq, Group)]
pub(crate) struct Run {
    /// Where the hub and the spoke come from.
    #[arg(long, value_enum)]
    pub(crate) provider: Provider,
    /// Kubeconfig of the hub, for the provider `existing`.
    #[arg(long, value_name = "FILE", required_if_eq("provider", "existing"))]
    pub(crate) hub_kubeconfig: Option<PathBuf>,
    /// Kubeconfig of the spoke, for the provider `existing`.
    #[arg(long, value_name = "FILE", required_if_eq("provider", "existing"))]
    pub(crate) spoke_kubeconfig: Option<PathBuf>,
    /// Write the result as JUnit XML.
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    /// Leave the clusters as they are at the end.
    #[arg(long)]
    pub(crate) keep: bool,
}

/// Where clusters come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Provider {
    /// Two kind clusters, made for this run.
    Kind,
    /// Two fake API servers and the operator as containers on a private network.
    Containers,
    /// Clusters that exist already.
    Existing,
}

impl fmt::Display for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Kind => "kind",
            Self::Containers => "containers",
            Self::Existing => "existing",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;
    use clap::error::ErrorKind;

    fn parse(line: &str) -> Result<Run, ErrorKind> {
        let Command::Run(run) = Args::try_parse_from(line.split(' ')).map_err(|error| error.kind())?.command;
        Ok(run)
    }

    #[test]
    fn the_definition_of_the_command_line_is_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn a_provider_that_makes_clusters_needs_nothing_else() {
        for (name, provider) in [("kind", Provider::Kind), ("containers", Provider::Containers)] {
            let run = parse(&format!("e2e run --provider {name}")).expect(name);
            let plain =
                Run { provider, hub_kubeconfig: None, spoke_kubeconfig: None, junit: None, keep: false };
            assert_eq!(run, plain);
            assert_eq!(run.provider.to_string(), name);
        }
    }

    #[test]
    fn existing_clusters_need_both_kubeconfigs() {
        let run =
            parse("e2e run --provider existing --hub-kubeconfig h --spoke-kubeconfig s --junit j.xml --keep");
        let everything = Run {
            provider: Provider::Existing,
            hub_kubeconfig: Some("h".into()),
            spoke_kubeconfig: Some("s".into()),
            junit: Some("j.xml".into()),
            keep: true,
        };
        assert_eq!(run, Ok(everything));
        for line in ["e2e run --provider existing", "e2e run --provider existing --hub-kubeconfig h"] {
            assert_eq!(parse(line), Err(ErrorKind::MissingRequiredArgument), "{line}");
        }
    }

    #[test]
    fn wrong_usage_is_an_error() {
        assert_eq!(parse("e2e run"), Err(ErrorKind::MissingRequiredArgument));
        assert_eq!(parse("e2e run --provider minikube"), Err(ErrorKind::InvalidValue));
        assert_eq!(parse("e2e run --provider kind --fast"), Err(ErrorKind::UnknownArgument));
        assert_eq!(parse("e2e walk"), Err(ErrorKind::InvalidSubcommand));
    }
}
