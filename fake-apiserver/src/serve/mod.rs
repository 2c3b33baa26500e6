//! The cluster on real sockets: HTTP/1.1 and HTTP/2 over TLS, for clients that are not in this process.
//!
//! ```no_run
//! # async fn example() -> Result<(), fake_apiserver::serve::ServeError> {
//! use fake_apiserver::{FakeApiServer, serve::{Options, Server}};
//!
//! let cluster = FakeApiServer::builder().build();
//! let server = Server::bind(cluster, &Options::default()).await?;
//! println!("serving {}", server.url());
//! server.run(async { tokio::time::sleep(std::time::Duration::from_secs(60)).await }).await;
//! # Ok(())
//! # }
//! ```
//!
//! # Code map
//! `connection` accepts and bounds connections, `tls` makes the certificates, `wire` bounds bodies and puts the
//! faults of a [`Link`] in front of the cluster, whose large answers `gzip` compresses. `limits` says what clients may
//! take; `stall` and `pace` end those who do not read. `call` is how the cluster calls webhooks. `kubeconfig`, `load`,
//! `save` and `admin` serve the binary;
//! `command` is its command line. Nothing here knows what a Kubernetes object means.

pub mod admin;
mod call;
pub mod command;
mod connection;
mod ending;
mod error;
mod gzip;
mod kubeconfig;
mod limits;
mod load;
mod log;
mod pace;
pub mod protobuf;
mod save;
mod stall;
mod tls;
mod wire;

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::TcpListener;

pub use self::error::ServeError;
pub use self::kubeconfig::kubeconfig;
pub use self::limits::Limits;
pub use self::load::load;
pub use self::save::{restore, save};
use crate::FakeApiServer;
use crate::fault::Link;

/// Lets a cluster call its webhooks over HTTPS: those at URLs, and those behind Services (`NAMESPACE/NAME`) whose address
/// (`HOST:PORT`) is given. A webhook's `caBundle` says whom to trust.
pub fn call_webhooks(cluster: &FakeApiServer, services: &[(String, String)]) {
    cluster.webhooks().serve_network(tower::service_fn(|request| call::call(request, None)));
    for (service, address) in services {
        let (namespace, name) = service.split_once('/').unwrap_or(("default", service));
        let address = address.clone();
        let backend = tower::service_fn(move |request| call::call(request, Some(address.clone())));
        cluster.webhooks().serve_service(namespace, name, backend);
    }
}

/// Where, under which names and within which limits a cluster is served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// `HOST:PORT`; port 0 picks a free one.
    pub listen: String,
    /// Further DNS names and IP addresses in the certificate.
    pub names: Vec<String>,
    /// How much of the server its clients may take.
    pub limits: Limits,
}

impl Default for Options {
    fn default() -> Self {
        Self { listen: "127.0.0.1:0".into(), names: Vec::new(), limits: Limits::default() }
    }
}

/// A cluster that listens.
pub struct Server {
    cluster: FakeApiServer,
    listener: TcpListener,
    identity: tls::Identity,
    link: Link,
    limits: Limits,
    host: String,
    address: SocketAddr,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Server {
    /// Takes the port and makes the certificates. Connections are answered by [`Server::run`].
    ///
    /// # Errors
    /// When the address is not one, or taken, or a name cannot stand in a certificate.
    pub async fn bind(cluster: FakeApiServer, options: &Options) -> Result<Self, ServeError> {
        let host = host_of(&options.listen).ok_or_else(|| ServeError::Address(options.listen.clone()))?;
        let failed = |source| ServeError::Listen { address: options.listen.clone(), source };
        let listener = TcpListener::bind(&options.listen).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let names = options.names.iter().cloned().chain([host.to_owned(), address.ip().to_string()]);
        let identity = tls::Identity::new(names)?;
        let (link, limits, host) = (Link::new(), options.limits.clone(), host.to_owned());
        Ok(Self { cluster, listener, identity, link, limits, host, address })
    }

    /// The address it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where clients reach it, as in `https://127.0.0.1:6443`. A server on all addresses names the local one.
    pub fn url(&self) -> String {
        let port = self.address.port();
        match self.address {
            SocketAddr::V4(address) if address.ip().is_unspecified() => format!("https://127.0.0.1:{port}"),
            SocketAddr::V6(address) if address.ip().is_unspecified() => format!("https://[::1]:{port}"),
            _ => format!("https://{}:{port}", bracketed(&self.host)),
        }
    }

    /// The certificate of the authority that signed the server's, in PEM.
    pub fn ca_pem(&self) -> &str {
        &self.identity.ca_pem
    }

    /// The wire in front of the cluster, for faults.
    pub fn link(&self) -> &Link {
        &self.link
    }

    /// Serves until `stop`. Then open watches end, answers on their way are finished, and at most
    /// [`connection::DRAIN`] later everything is closed.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        let (end, ending) = ending::ending();
        let wire = wire::Wire::new(&self.cluster, &self.link, &self.limits, ending.clone());
        let config = Arc::new(self.identity.config);
        let accept = connection::accept(self.listener, config, &self.limits, wire, ending);
        let mut accept = std::pin::pin!(accept);
        tokio::select! {
            biased;
            () = stop => {}
            () = &mut accept => return,
        }
        end.now();
        accept.await;
    }
}

/// The host of `HOST:PORT`, without brackets.
fn host_of(listen: &str) -> Option<&str> {
    let (host, port) = listen.rsplit_once(':')?;
    port.parse::<u16>().ok()?;
    let host = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
    (!host.is_empty()).then_some(host)
}

fn bracketed(host: &str) -> String {
    if host.contains(':') { format!("[{host}]") } else { host.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listen_address_is_a_host_and_a_port() {
        assert_eq!(host_of("localhost:6443"), Some("localhost"));
        assert_eq!(host_of("[::1]:0"), Some("::1"));
        for wrong in ["localhost", ":0", "localhost:", "localhost:70000", "", "localhost:https"] {
            assert_eq!(host_of(wrong), None, "{wrong}");
        }
    }
}
