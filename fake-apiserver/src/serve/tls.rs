//! An authority of the server's own and the certificate it signs. Both live as long as the process.

use std::collections::BTreeSet;
use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose,
};
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

use super::ServeError;

/// Names under which every server can be reached.
const STANDARD_NAMES: [&str; 7] = [
    "localhost",
    "127.0.0.1",
    "::1",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
];

/// Who the server is.
pub(super) struct Identity {
    pub(super) ca_pem: String,
    pub(super) config: ServerConfig,
}

impl Identity {
    /// A new identity for the standard names and `names`: DNS names and IP addresses.
    pub(super) fn new(names: impl IntoIterator<Item = String>) -> Result<Self, ServeError> {
        let (ca_pem, chain, key) = certificates(names).map_err(ServeError::Certificate)?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(ServeError::Tls)?
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .map_err(ServeError::Tls)?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Self { ca_pem, config })
    }
}

type Chain = Vec<rustls::pki_types::CertificateDer<'static>>;

fn certificates(
    names: impl IntoIterator<Item = String>,
) -> Result<(String, Chain, PrivateKeyDer<'static>), rcgen::Error> {
    let mut authority = CertificateParams::default();
    authority.distinguished_name.push(DnType::CommonName, "fake-apiserver CA");
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let issuer = CertifiedIssuer::self_signed(authority, KeyPair::generate()?)?;

    let names: BTreeSet<String> = STANDARD_NAMES.map(str::to_owned).into_iter().chain(names).collect();
    let mut params = CertificateParams::new(names.into_iter().collect::<Vec<_>>())?;
    params.distinguished_name.push(DnType::CommonName, "fake-apiserver");
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.use_authority_key_identifier_extension = true;
    let key = KeyPair::generate()?;
    let certificate = params.signed_by(&key, &issuer)?;
    let key = PrivatePkcs8KeyDer::from(key.serialize_der()).into();
    Ok((issuer.pem(), vec![certificate.der().clone()], key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_dns_name_or_address_can_be_added() {
        let names = ["hub.example.com", "10.1.2.3", "fd00::7", "localhost"];
        assert!(Identity::new(names.map(str::to_owned)).is_ok());
    }

    #[test]
    fn a_name_that_no_certificate_can_hold_is_refused() {
        assert!(matches!(Identity::new(["bücher".to_owned()]), Err(ServeError::Certificate(_))));
    }
}
