//! Calls webhooks over HTTPS, each on a connection of its own.

use std::io::ErrorKind;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper_util::rt::TokioIo;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::response::BoxError;
use crate::webhooks::CaBundle;

/// Largest answer that is read.
const LARGEST_ANSWER: usize = 3 * 1024 * 1024;

/// Sends a request to the host of its URL, or to `address` in the name of that host.
///
/// # Errors
/// Why there is no answer, in the words of a Go client where people know them.
pub(super) async fn call(
    request: Request<Bytes>,
    address: Option<String>,
) -> Result<Response<Bytes>, BoxError> {
    let (mut parts, body) = request.into_parts();
    let host = parts.uri.host().ok_or("the URL names no host")?.to_owned();
    let named = format!("{host}:{}", parts.uri.port_u16().unwrap_or(443));
    let stream = connect(address.as_ref().unwrap_or(&named)).await?;
    let bundle = parts.extensions.get::<CaBundle>().cloned().unwrap_or_default();
    let connector = TlsConnector::from(Arc::new(trusting(&bundle)?));
    let bare = host.trim_start_matches('[').trim_end_matches(']').to_owned();
    let stream = connector.connect(ServerName::try_from(bare)?, stream).await.map_err(untrusted)?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    let authority = parts.uri.authority().map(ToString::to_string).unwrap_or_default();
    parts.headers.insert(header::HOST, authority.parse()?);
    parts.uri = parts.uri.path_and_query().map_or("/", |path| path.as_str()).parse()?;
    let response = sender.send_request(Request::from_parts(parts, Full::new(body))).await?;
    let (parts, body) = response.into_parts();
    let body = Limited::new(body, LARGEST_ANSWER).collect().await?.to_bytes();
    Ok(Response::from_parts(parts, body))
}

async fn connect(address: &str) -> Result<TcpStream, BoxError> {
    TcpStream::connect(address).await.map_err(|why| match why.kind() {
        ErrorKind::ConnectionRefused => format!("dial tcp {address}: connect: connection refused").into(),
        _ => format!("dial tcp {address}: {why}").into(),
    })
}

fn trusting(bundle: &CaBundle) -> Result<ClientConfig, BoxError> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(&bundle.0) {
        roots.add(certificate?)?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    Ok(ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth())
}

fn untrusted(why: std::io::Error) -> BoxError {
    let unknown =
        why.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()).is_some_and(|error| {
            matches!(error, rustls::Error::InvalidCertificate(rustls::CertificateError::UnknownIssuer))
        });
    if unknown {
        return "tls: failed to verify certificate: x509: certificate signed by unknown authority".into();
    }
    format!("tls: {why}").into()
}
