//! What can go wrong around a server on real sockets.

use std::io;
use std::path::PathBuf;

/// Why a cluster cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The text is no `HOST:PORT`.
    #[error("\"{0}\" is not HOST:PORT")]
    Address(String),
    /// The port is taken, the host unknown, …
    #[error("cannot listen on {address}")]
    Listen {
        /// As asked for.
        address: String,
        /// The system's reason.
        source: io::Error,
    },
    /// A name cannot stand in a certificate.
    #[error("cannot make a certificate")]
    Certificate(#[source] rcgen::Error),
    /// The certificate cannot be used.
    #[error("cannot use the certificate")]
    Tls(#[source] rustls::Error),
    /// A file cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// Which file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A file cannot be written.
    #[error("cannot write {}", path.display())]
    Write {
        /// Which file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A file is no YAML or JSON.
    #[error("{} is not YAML", path.display())]
    Yaml {
        /// Which file.
        path: PathBuf,
        /// Where and why.
        source: Box<serde_saphyr::Error>,
    },
    /// A saved cluster is no such thing.
    #[error("{} is not a saved cluster", path.display())]
    Saved {
        /// Which file.
        path: PathBuf,
        /// Where and why.
        source: serde_json::Error,
    },
    /// A saved cluster is of another version of the format.
    #[error("{} is a saved cluster of format {found}, not {}", path.display(), super::save::FORMAT)]
    SavedFormat {
        /// Which file.
        path: PathBuf,
        /// The format it says it has.
        found: u64,
    },
    /// The cluster refused an object of a file.
    #[error("{object} in {} was refused: {message}", path.display())]
    Refused {
        /// Which file.
        path: PathBuf,
        /// Kind, namespace and name.
        object: String,
        /// The cluster's reason.
        message: String,
    },
    /// A word on the command line has no meaning.
    #[error("there is no {what} named \"{name}\"")]
    Unknown {
        /// What was to be named.
        what: &'static str,
        /// The word.
        name: String,
    },
}

impl ServeError {
    /// The message with all its causes, on one line.
    pub fn chain(&self) -> String {
        let mut text = self.to_string();
        let mut cause = std::error::Error::source(self);
        while let Some(error) = cause {
            text = format!("{text}: {error}");
            cause = error.source();
        }
        text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
    }
}
