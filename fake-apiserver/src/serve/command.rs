//! The command line of the binary `fake-apiserver`: what the words mean, and a server from start to end.

use std::future::Future;
use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Parser;
use tokio::net::TcpListener;

use super::{Options, ServeError, Server, admin, call_webhooks, kubeconfig, load, log, restore, save};
use crate::{Controllers, FakeApiServer, Readiness};

/// Who the administrator's token stands for.
const ADMIN: (&str, &str) = ("kubernetes-admin", "system:masters");

/// A Kubernetes API server in memory, for tests.
#[derive(Clone, Debug, Parser)]
#[command(name = "fake-apiserver", version)]
pub struct Command {
    /// Where to listen; port 0 picks a free one.
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:0")]
    pub listen: String,
    /// Further name or address in the server's certificate; may be repeated.
    #[arg(long, value_name = "NAME")]
    pub tls_san: Vec<String>,
    /// Write a kubeconfig with URL, CA and the administrator's token.
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// Write the certificate of the CA.
    #[arg(long, value_name = "FILE")]
    pub ca_file: Option<PathBuf>,
    /// Token of the administrator; without it a random one.
    #[arg(long, value_name = "TOKEN", value_parser = token)]
    pub admin_token: Option<String>,
    /// Accept a token for a user; may be repeated.
    #[arg(long, value_name = "TOKEN=USER[,GROUP...]", value_parser = Grant::parse)]
    pub token: Vec<Grant>,
    /// Which controllers run: garbage-collector, namespaces, definitions, workloads, jobs, aggregation, service-accounts,
    /// api-services.
    #[arg(long, value_name = "all|none|NAME,...", value_delimiter = ',')]
    pub controllers: Vec<String>,
    /// Apply the objects of a YAML or JSON file before serving; may be repeated.
    #[arg(long, value_name = "FILE")]
    pub load: Vec<PathBuf>,
    /// Start from a cluster saved with --save-on-exit.
    #[arg(long, value_name = "FILE")]
    pub restore: Option<PathBuf>,
    /// Save the cluster when the server ends.
    #[arg(long, value_name = "FILE")]
    pub save_on_exit: Option<PathBuf>,
    /// How long after a change a Deployment is ready, for instance 500ms or 2s.
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub deployment_ready_after: Option<Duration>,
    /// Call the webhooks of a Service at an address, over HTTPS; may be repeated. Those at URLs are called there.
    #[arg(long, value_name = "NAMESPACE/NAME=HOST:PORT", value_parser = webhook)]
    pub webhook: Vec<(String, String)>,
    /// Serve the control endpoint (plain HTTP, unauthenticated) there.
    #[arg(long, value_name = "HOST:PORT")]
    pub admin: Option<String>,
    /// Print a line for each request on standard error.
    #[arg(short, long)]
    pub verbose: bool,
}

/// A token and who it stands for.
#[derive(Clone, PartialEq, Eq)]
pub struct Grant {
    token: String,
    user: String,
    groups: Vec<String>,
}

impl std::fmt::Debug for Grant {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Grant")
            .field("user", &self.user)
            .field("groups", &self.groups)
            .finish_non_exhaustive()
    }
}

impl Grant {
    /// Reads `TOKEN=USER[,GROUP…]`. The token may hold `=`, as base64 does.
    fn parse(text: &str) -> Result<Self, String> {
        let (token_text, who) = text.rsplit_once('=').ok_or("it has no `=`")?;
        let mut names = who.split(',').map(str::to_owned);
        let user = names.next().filter(|user| !user.is_empty()).ok_or("it names no user")?;
        Ok(Self { token: token(token_text)?, user, groups: names.filter(|name| !name.is_empty()).collect() })
    }
}

/// A token must fit into a header, unquoted.
fn token(text: &str) -> Result<String, String> {
    let fits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
    if fits { Ok(text.to_owned()) } else { Err("a token is made of visible ASCII characters".into()) }
}

/// Reads `NAMESPACE/NAME=HOST:PORT`.
fn webhook(text: &str) -> Result<(String, String), String> {
    let (service, address) = text.split_once('=').ok_or("it has no `=`")?;
    let (namespace, name) = service.split_once('/').ok_or("a Service is named as NAMESPACE/NAME")?;
    let port = address.rsplit_once(':').and_then(|(host, port)| Some((host, port.parse::<u16>().ok()?)));
    if namespace.is_empty() || name.is_empty() || port.is_none_or(|(host, _)| host.is_empty()) {
        return Err("it looks like knative-eventing/eventing-webhook=127.0.0.1:8443".into());
    }
    Ok((service.to_owned(), address.to_owned()))
}

pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let span: jiff::SignedDuration = text.parse().map_err(|_| "a duration looks like 500ms, 2s or 1m30s")?;
    Duration::try_from(span).map_err(|_| "a duration is not negative".into())
}

impl Command {
    /// Serves until `stop`, then saves if asked to.
    ///
    /// # Errors
    /// When the server cannot start, or the cluster cannot be saved.
    pub async fn run(self, stop: impl Future<Output = ()>) -> Result<(), ServeError> {
        let cluster = self.cluster()?;
        let token = self.grant(&cluster);
        call_webhooks(&cluster, &self.webhook);
        let options =
            Options { listen: self.listen.clone(), names: self.tls_san.clone(), ..Options::default() };
        let server = Server::bind(cluster.clone(), &options).await?;
        let control = match &self.admin {
            Some(address) => Some(listen(address).await?),
            None => None,
        };
        if self.verbose {
            log::print_requests(&cluster, std::io::stderr());
        }
        if let Some(file) = &self.restore {
            restore(&cluster, file).await?;
        }
        for file in &self.load {
            load(&cluster, file).await?;
        }
        if let Some(file) = &self.ca_file {
            write(file, server.ca_pem()).await?;
        }
        if let Some(file) = &self.kubeconfig {
            write(file, &kubeconfig(&server.url(), server.ca_pem(), &token)).await?;
        }
        let mut control_task = tokio::task::JoinSet::new();
        let mut told = format!("serving {}\n", server.url());
        if let Some((listener, address)) = control {
            control_task.spawn(admin::serve(listener, cluster.clone(), server.link().clone()));
            told.push_str(&format!("admin http://{address}\n"));
        }
        // Whoever started the server may not listen; that is no reason to stop.
        let _ = std::io::stdout().write_all(told.as_bytes()).and_then(|()| std::io::stdout().flush());
        server.run(stop).await;
        control_task.shutdown().await;
        match &self.save_on_exit {
            Some(file) => save(&cluster, file).await,
            None => Ok(()),
        }
    }

    /// The cluster that the words describe, still empty.
    fn cluster(&self) -> Result<FakeApiServer, ServeError> {
        let builder = FakeApiServer::builder().rbac(true).controllers(controllers(&self.controllers)?);
        Ok(match self.deployment_ready_after {
            Some(time) => builder.readiness(Readiness::After(time)).build(),
            None => builder.build(),
        })
    }

    /// Makes the cluster accept the tokens; the administrator's is the answer.
    fn grant(&self, cluster: &FakeApiServer) -> String {
        for grant in &self.token {
            cluster.tokens().accept(&grant.token, &grant.user, grant.groups.clone(), None);
        }
        let (user, group) = ADMIN;
        match &self.admin_token {
            Some(token) => {
                cluster.tokens().accept(token, user, [group], None);
                token.clone()
            }
            None => cluster.tokens().issue(user, [group], None),
        }
    }
}

/// The controllers that were named; all when none was.
fn controllers(names: &[String]) -> Result<Controllers, ServeError> {
    if names.is_empty() {
        return Ok(Controllers::all());
    }
    let mut chosen = Controllers::none();
    for name in names {
        match name.as_str() {
            "all" => chosen = Controllers::all(),
            "none" => chosen = Controllers::none(),
            "garbage-collector" => chosen.garbage_collector = true,
            "namespaces" => chosen.namespaces = true,
            "definitions" => chosen.definitions = true,
            "workloads" => chosen.workloads = true,
            "jobs" => chosen.jobs = true,
            "aggregation" => chosen.aggregation = true,
            "service-accounts" => chosen.service_accounts = true,
            "api-services" => chosen.api_services = true,
            _ => return Err(ServeError::Unknown { what: "controller", name: name.clone() }),
        }
    }
    Ok(chosen)
}

async fn listen(address: &str) -> Result<(TcpListener, SocketAddr), ServeError> {
    super::host_of(address).ok_or_else(|| ServeError::Address(address.to_owned()))?;
    let failed = |source| ServeError::Listen { address: address.to_owned(), source };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    Ok((listener, address))
}

/// Writes a file that only its owner may read: a kubeconfig holds a token.
async fn write(path: &Path, text: &str) -> Result<(), ServeError> {
    let failed = |source| ServeError::Write { path: path.to_owned(), source };
    let mut options = tokio::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    options.mode(0o600);
    let mut file = options.open(path).await.map_err(failed)?;
    tokio::io::AsyncWriteExt::write_all(&mut file, text.as_bytes()).await.map_err(failed)?;
    tokio::io::AsyncWriteExt::flush(&mut file).await.map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_stands_for_a_user_with_groups() {
        let grant = Grant::parse("a=b==robot,dev,ops").unwrap();
        assert_eq!((grant.token.as_str(), grant.user.as_str()), ("a=b=", "robot"));
        assert_eq!(grant.groups, ["dev", "ops"]);
        for wrong in ["robot", "=robot", "token=", "to ken=robot"] {
            assert!(Grant::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_webhook_is_a_service_and_an_address() {
        let read = webhook("a/b=[::1]:8443").unwrap();
        assert_eq!(read, ("a/b".to_owned(), "[::1]:8443".to_owned()));
        for wrong in ["a=h:1", "a/b", "a/b=h", "/b=h:1", "a/=h:1", "a/b=:1", "a/b=h:x"] {
            assert!(webhook(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_grant_does_not_show_its_token() {
        assert!(!format!("{:?}", Grant::parse("secret=robot").unwrap()).contains("secret"));
    }

    #[test]
    fn controllers_are_chosen_by_name() {
        let names = |text: &str| text.split(',').map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(controllers(&[]).unwrap(), Controllers::all());
        assert_eq!(controllers(&names("none")).unwrap(), Controllers::none());
        let chosen = controllers(&names("jobs,workloads")).unwrap();
        assert_eq!(chosen, Controllers { jobs: true, workloads: true, ..Controllers::none() });
        assert!(controllers(&names("jobs,gc")).unwrap_err().to_string().contains("\"gc\""));
    }

    #[test]
    fn durations_have_units() {
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("1m30s"), Ok(Duration::from_secs(90)));
        assert!(duration("5").is_err() && duration("-5s").is_err());
    }
}
