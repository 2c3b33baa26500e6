//! How to reach a cluster: the connection part of a ClusterProfile's access provider.

use std::fmt;

/// Connection data of one cluster (kubeconfig v1 `Cluster`). Two equal endpoints may share a connection.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Endpoint {
    /// `https://host:port`, possibly with a path.
    pub server: String,
    /// PEM certificates to trust; none: the system's.
    pub certificate_authority: Option<Vec<u8>>,
    /// Name to check the server's certificate against, and to send as SNI, instead of the host of `server`.
    pub tls_server_name: Option<String>,
    /// Accept any certificate.
    pub insecure_skip_tls_verify: bool,
    /// `http`, `https` or `socks5` URL; none: no proxy.
    pub proxy_url: Option<String>,
    /// Do not ask for compressed answers.
    pub disable_compression: bool,
}

/// Shows the address only: proxy URLs can hold a password.
impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint").field("server", &self.server).finish_non_exhaustive()
    }
}
