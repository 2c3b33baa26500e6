//! Transports to one endpoint: the plain one, and one that shows the current client certificate.
//!
//! A certificate belongs to a connection, not to a request, so a new one means new connections; those with the old one
//! end with their last request.

use std::error::Error;
use std::io;
use std::sync::Arc;

use parking_lot::Mutex;
use rustls::{AlertDescription, Error as TlsError};

use super::credentials::Lease;
use super::endpoint::Endpoint;
use super::stack::{ConnectError, Connector, Transport};

/// See the module.
pub struct Wires {
    plain: Transport,
    /// How to open others; none: there are no others.
    opener: Option<(Arc<dyn Connector>, Endpoint)>,
    /// The one with a certificate, and the serial of its lease.
    identified: Mutex<Option<(u64, Transport)>>,
}

impl Wires {
    /// Transports to `endpoint`.
    ///
    /// # Errors
    /// [`ConnectError`] when the connection data cannot be used.
    pub fn open(connector: Arc<dyn Connector>, endpoint: Endpoint) -> Result<Self, ConnectError> {
        let plain = connector.connect(&endpoint)?;
        Ok(Self { plain, opener: Some((connector, endpoint)), identified: Mutex::default() })
    }

    /// One transport, without certificates.
    pub fn fixed(transport: Transport) -> Self {
        Self { plain: transport, opener: None, identified: Mutex::default() }
    }

    /// The one without a certificate.
    pub fn plain(&self) -> Transport {
        self.plain.clone()
    }

    /// The one for a lease. The last one with a certificate is kept for as long as its lease is the current one.
    ///
    /// # Errors
    /// [`ConnectError`] when the certificate cannot be used.
    pub fn transport_of(&self, lease: &Lease) -> Result<Transport, ConnectError> {
        let (Some(identity), Some((connector, endpoint))) = (&lease.identity, &self.opener) else {
            return Ok(self.plain());
        };
        let mut identified = self.identified.lock();
        if let Some((serial, transport)) = &*identified
            && *serial == lease.serial
        {
            return Ok(transport.clone());
        }
        let transport = connector.connect_as(endpoint, identity)?;
        // A late request with an older lease does not throw out the newer connection.
        if identified.as_ref().is_none_or(|(serial, _)| *serial < lease.serial) {
            *identified = Some((lease.serial, transport.clone()));
        }
        Ok(transport)
    }
}

/// Whether the other side has ended the connection because of our certificate (RFC 8446, 6.2).
pub fn refuses_certificate(error: &(dyn Error + 'static)) -> bool {
    let mut cause = Some(error);
    while let Some(error) = cause {
        // What is inside an I/O error is not its source.
        let inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        let tls = inner.and_then(|inner| inner.downcast_ref()).or_else(|| error.downcast_ref());
        if let Some(TlsError::AlertReceived(alert)) = tls {
            return is_about_certificates(*alert);
        }
        cause = error.source();
    }
    false
}

fn is_about_certificates(alert: AlertDescription) -> bool {
    matches!(
        alert,
        AlertDescription::BadCertificate
            | AlertDescription::UnsupportedCertificate
            | AlertDescription::CertificateRevoked
            | AlertDescription::CertificateExpired
            | AlertDescription::CertificateUnknown
            | AlertDescription::UnknownCA
            | AlertDescription::AccessDenied
            | AlertDescription::DecryptError
            | AlertDescription::CertificateRequired
    )
}
