//! Transports over real sockets: hyper with rustls.

use http::Request;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use kube::Config;
use kube::client::{Body, ConfigExt};
use tower::{BoxError, Layer, Service, ServiceExt};

use crate::target::endpoint::Endpoint;
use crate::target::stack::{ConnectError, Connector, Transport, answer_body};

/// Opens TLS connections.
#[derive(Clone, Copy, Debug, Default)]
pub struct TlsConnector;

impl Connector for TlsConnector {
    fn connect(&self, endpoint: &Endpoint) -> Result<Transport, ConnectError> {
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
        if let Some(proxy) = &endpoint.proxy_url {
            // The URL may hold a password, so the parser's text is all that is said about it.
            let proxy = proxy
                .parse()
                .map_err(|error: http::uri::InvalidUri| failed(format!("proxy-url: {error}")))?;
            config.proxy_url = Some(proxy);
        }
        transport(&config).map_err(|error| failed(error.to_string()))
    }
}

/// A transport for a kube configuration, without its authentication.
///
/// # Errors
/// When the TLS settings cannot be used.
pub fn transport(config: &Config) -> Result<Transport, kube::Error> {
    let https = config.rustls_https_connector()?;
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
