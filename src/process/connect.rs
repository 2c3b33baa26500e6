//! Transports over real sockets: hyper with rustls.

use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use http::{HeaderValue, Request};
use hyper::rt::{Read, Write};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::proxy::{SocksV5, Tunnel};
use hyper_util::client::legacy::connect::{Connection, HttpConnector};
use hyper_util::rt::TokioExecutor;
use kube::Config;
use kube::client::{Body, ConfigExt};
use kube::config::AuthInfo;
use secrecy::ExposeSecret;
use tower::{BoxError, Layer, Service, ServiceExt};

use crate::target::credentials::ClientIdentity;
use crate::target::endpoint::Endpoint;
use crate::target::stack::{ConnectError, Connector, Transport, answer_body};

/// Opens TLS connections.
#[derive(Clone, Copy, Debug, Default)]
pub struct TlsConnector;

/// How long a connection may be idle before the other end is asked whether it is still there.
const KEEPALIVE: Duration = Duration::from_secs(30);

impl Connector for TlsConnector {
    fn connect(&self, endpoint: &Endpoint) -> Result<Transport, ConnectError> {
        open(endpoint, None)
    }

    fn connect_as(&self, endpoint: &Endpoint, identity: &ClientIdentity) -> Result<Transport, ConnectError> {
        open(endpoint, Some(identity))
    }
}

fn open(endpoint: &Endpoint, identity: Option<&ClientIdentity>) -> Result<Transport, ConnectError> {
    let failed = |reason: String| ConnectError { server: endpoint.server.clone(), reason };
    let server = endpoint.server.parse::<http::Uri>().map_err(|error| failed(error.to_string()))?;
    if server.host().is_none() || !matches!(server.scheme_str(), Some("https" | "http")) {
        return Err(failed("not an http or https URL".into()));
    }
    let mut config = Config::new(server);
    config.accept_invalid_certs = endpoint.insecure_skip_tls_verify;
    config.tls_server_name = endpoint.tls_server_name.clone();
    config.disable_compression = endpoint.disable_compression;
    if let Some(pem) = &endpoint.certificate_authority {
        let certificates = certificates(pem).map_err(failed)?;
        config.root_cert = Some(certificates);
    }
    if let Some(url) = &endpoint.proxy_url {
        config.proxy_url = Some(proxy(url).map_err(failed)?);
    }
    if let Some(ClientIdentity { certificate, key }) = identity {
        let key = BASE64_STANDARD.encode(key.expose_secret());
        config.auth_info.client_certificate_data = Some(BASE64_STANDARD.encode(certificate));
        config.auth_info.client_key_data = Some(key.into());
    }
    transport(&config).map_err(|error| failed(error.to_string()))
}

/// A proxy that connections can go through. The URL may hold a password, so nothing of it is repeated.
fn proxy(url: &str) -> Result<http::Uri, String> {
    let parsed = url.parse::<http::Uri>().map_err(|error| format!("proxy-url: {error}"))?;
    match parsed.scheme_str() {
        Some("http" | "https" | "socks5") if parsed.host().is_some() => Ok(parsed),
        _ => Err("proxy-url: not an http, https or socks5 URL".into()),
    }
}

/// A transport for a kube configuration, without its authentication.
///
/// # Errors
/// When the TLS settings cannot be used.
pub fn transport(config: &Config) -> Result<Transport, kube::Error> {
    let mut direct = HttpConnector::new();
    direct.enforce_http(false);
    // A connection that was forgotten on the way is found out and not used again.
    direct.set_keepalive(Some(KEEPALIVE));
    direct.set_keepalive_interval(Some(KEEPALIVE / 3));
    direct.set_keepalive_retries(Some(3));
    let Some(proxy) = &config.proxy_url else { return secured(config, direct) };
    match proxy.scheme_str() {
        Some("socks5") => {
            let socks = SocksV5::new(proxy.clone(), direct);
            secured(
                config,
                match user_info(proxy) {
                    Some((user, password)) => socks.with_auth(user, password),
                    None => socks,
                },
            )
        }
        Some("https") => {
            // The name in the proxy's certificate is the proxy's, whatever the cluster's is.
            let mut to_proxy = config.clone();
            to_proxy.tls_server_name = None;
            // Nor is our certificate meant for the proxy.
            to_proxy.auth_info = AuthInfo::default();
            secured(config, tunnel(proxy, to_proxy.rustls_https_connector_with_connector(direct)?))
        }
        _ => secured(config, tunnel(proxy, direct)),
    }
}

/// Connections through an HTTP proxy, which is asked for a tunnel (RFC 9110, CONNECT).
fn tunnel<C>(proxy: &http::Uri, to_proxy: C) -> Tunnel<C> {
    let tunnel = Tunnel::new(proxy.clone(), to_proxy);
    let Some((user, password)) = user_info(proxy) else { return tunnel };
    let encoded = BASE64_STANDARD.encode(format!("{user}:{password}"));
    let mut value = HeaderValue::try_from(format!("Basic {encoded}")).expect("base64 fits into a header");
    value.set_sensitive(true);
    tunnel.with_auth(value)
}

/// User and password of a URL.
fn user_info(url: &http::Uri) -> Option<(String, String)> {
    let (user_info, _) = url.authority()?.as_str().rsplit_once('@')?;
    let (user, password) = user_info.split_once(':').unwrap_or((user_info, ""));
    let decoded = |text: &str| percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned();
    Some((decoded(user), decoded(password)))
}

/// TLS and HTTP over whatever `connector` opens.
fn secured<C>(config: &Config, connector: C) -> Result<Transport, kube::Error>
where
    C: Service<http::Uri> + Clone + Send + Sync + 'static,
    C::Response: Connection + Read + Write + Send + Unpin + 'static,
    C::Future: Send + 'static,
    C::Error: Into<BoxError> + Send + Sync + 'static,
{
    let https = config.rustls_https_connector_with_connector(connector)?;
    let client = Client::builder(TokioExecutor::new()).build(https);
    Ok(boxed(config.base_uri_layer().layer(client)))
}

/// Any HTTP client service as a transport.
fn boxed<S, B>(service: S) -> Transport
where
    S: Service<Request<Body>, Response = http::Response<B>> + Clone + Send + Sync + 'static,
    S::Future: Send + 'static,
    S::Error: Into<BoxError>,
    B: http_body::Body<Data = bytes::Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    let mapped =
        service.map_err(Into::into).map_response(|response: http::Response<B>| response.map(answer_body));
    Transport::new(mapped)
}

/// DER certificates of a PEM bundle.
fn certificates(pem: &[u8]) -> Result<Vec<Vec<u8>>, String> {
    use rustls_pki_types::CertificateDer;
    use rustls_pki_types::pem::PemObject;

    let parsed: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let parsed = parsed.map_err(|error| format!("certificate-authority-data: {error}"))?;
    if parsed.is_empty() {
        return Err("certificate-authority-data holds no certificate".into());
    }
    Ok(parsed.into_iter().map(|certificate| certificate.to_vec()).collect())
}
