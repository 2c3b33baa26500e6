//! The seam to files and URLs: everything the operator reads that is not in a cluster.
//!
//! Production reads the file system and the network; tests give a map. Nothing here knows what the bytes mean.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;

/// Reads paths and URLs.
#[async_trait]
pub trait Source: Send + Sync + 'static {
    /// The entries of a directory: names, sorted, directories marked. Symbolic links are followed.
    ///
    /// # Errors
    /// [`SourceError`] when the path is no readable directory.
    async fn list(&self, directory: &str) -> Result<Vec<Entry>, SourceError>;

    /// The bytes of a file (a path) or of an `http://` or `https://` URL.
    ///
    /// # Errors
    /// [`SourceError`] when it cannot be read within the source's limits.
    async fn read(&self, location: &str) -> Result<Bytes, SourceError>;
}

/// A location for people: a URL without user name, password and query, which may be secrets.
pub fn shown(location: &str) -> String {
    let Some((scheme, rest)) = location.split_once("://") else { return location.into() };
    let (address, fragment) = rest.split_once('#').map_or((rest, None), |(a, f)| (a, Some(f)));
    let (address, query) =
        address.split_once('?').map_or((address, ""), |(address, _)| (address, "?[redacted]"));
    let (authority, path) = address.find('/').map_or((address, ""), |slash| address.split_at(slash));
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let fragment = fragment.map(|fragment| format!("#{fragment}")).unwrap_or_default();
    format!("{scheme}://{host}{path}{query}{fragment}")
}

/// One entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// Base name.
    pub name: String,
    /// Whether it is a directory.
    pub is_dir: bool,
}

/// Why a location cannot be read.
#[derive(Clone, Debug, thiserror::Error)]
pub enum SourceError {
    /// There is nothing at this path.
    #[error("{location}: no such file or directory")]
    NotFound {
        /// Path or URL as asked for.
        location: String,
    },
    /// It is there but cannot be read.
    #[error("cannot read {location}")]
    Unreadable {
        /// Path or URL as asked for.
        location: String,
        /// The cause.
        #[source]
        cause: Arc<dyn std::error::Error + Send + Sync>,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_a_secret_is_not_shown() {
        for (location, expected) in [
            ("https://h/a.yaml", "https://h/a.yaml"),
            (
                "https://ann:secret@h:1/a@b.yaml?token=secret#sha256=00",
                "https://h:1/a@b.yaml?[redacted]#sha256=00",
            ),
            ("https://ann:se@cret@h", "https://h"),
            ("/var/run/ko/a?b", "/var/run/ko/a?b"),
        ] {
            assert_eq!(shown(location), expected);
        }
    }
}
