//! A served cluster and clients that speak to it over TLS.

use std::sync::Arc;

use bytes::Bytes;
use fake_apiserver::FakeApiServer;
use fake_apiserver::serve::{Limits, Options, Server, kubeconfig};
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo};
use kube::config::{KubeConfigOptions, Kubeconfig};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// A cluster that is served until told otherwise.
pub(crate) struct Served {
    pub(crate) cluster: FakeApiServer,
    pub(crate) url: String,
    pub(crate) token: String,
    address: std::net::SocketAddr,
    ca: String,
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

pub(crate) async fn serve() -> Served {
    serve_within(Limits::default()).await
}

pub(crate) async fn serve_within(limits: Limits) -> Served {
    let cluster = FakeApiServer::builder().build();
    let token = cluster.tokens().issue("admin", ["system:masters"], None);
    let options = Options { limits, ..Options::default() };
    let server = Server::bind(cluster.clone(), &options).await.unwrap();
    let (url, address, ca) = (server.url(), server.address(), server.ca_pem().to_owned());
    let (stop, stopped) = oneshot::channel();
    let task = tokio::spawn(server.run(async {
        let _ = stopped.await;
    }));
    Served { cluster, url, token, address, ca, stop, task }
}

impl Served {
    /// A kube client made from the kubeconfig.
    pub(crate) async fn kube(&self) -> kube::Client {
        let text = kubeconfig(&self.url, &self.ca, &self.token);
        let config = Kubeconfig::from_yaml(&text).unwrap();
        let config =
            kube::Config::from_custom_kubeconfig(config, &KubeConfigOptions::default()).await.unwrap();
        kube::Client::try_from(config).unwrap()
    }

    /// A TLS connection that trusts the server's authority and offers these protocols.
    pub(crate) async fn tls(&self, name: &str, protocols: &[&[u8]]) -> std::io::Result<TlsStream<TcpStream>> {
        let mut roots = rustls::RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(self.ca.as_bytes()).unwrap()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
        let stream = TcpStream::connect(self.address).await?;
        let name = ServerName::try_from(name.to_owned()).unwrap();
        TlsConnector::from(Arc::new(config)).connect(name, stream).await
    }

    /// A request of the administrator.
    pub(crate) fn request(&self, method: &str, path: &str, body: impl Into<Bytes>) -> Request<Full<Bytes>> {
        Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.url))
            .header("host", "localhost")
            .header("authorization", format!("Bearer {}", self.token))
            .header("content-type", "application/json")
            .body(Full::new(body.into()))
            .unwrap()
    }

    /// Sends one request over a new HTTP/1.1 connection.
    pub(crate) async fn http1(&self, request: Request<Full<Bytes>>) -> hyper::Result<Response<Incoming>> {
        let stream = TokioIo::new(self.tls("localhost", &[b"http/1.1"]).await.unwrap());
        let (mut sender, connection) = hyper::client::conn::http1::handshake(stream).await?;
        tokio::spawn(connection);
        sender.send_request(request).await
    }

    /// A new HTTP/2 connection.
    pub(crate) async fn http2(&self) -> hyper::client::conn::http2::SendRequest<Full<Bytes>> {
        let stream = TokioIo::new(self.tls("localhost", &[b"h2"]).await.unwrap());
        let executor = TokioExecutor::new();
        let (sender, connection) = hyper::client::conn::http2::handshake(executor, stream).await.unwrap();
        tokio::spawn(connection);
        sender
    }

    /// Tells the server to end; the task comes back when it has.
    pub(crate) fn end(self) -> JoinHandle<()> {
        self.stop.send(()).unwrap();
        self.task
    }
}
