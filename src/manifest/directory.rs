//! A [`Source`] that reads the file system only: for command lines that need no network.

use std::io::ErrorKind;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;

use crate::source::{Entry, Source, SourceError};

/// The file system of this machine. URLs are not found.
#[derive(Clone, Copy, Debug, Default)]
pub struct Directory;

#[async_trait]
impl Source for Directory {
    async fn list(&self, directory: &str) -> Result<Vec<Entry>, SourceError> {
        let failed = |cause| unreadable(directory, cause);
        let mut found = Vec::new();
        for entry in std::fs::read_dir(directory).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            // Follows symbolic links, which the type in the directory entry does not.
            let is_dir = std::fs::metadata(entry.path()).is_ok_and(|metadata| metadata.is_dir());
            found.push(Entry { name: entry.file_name().to_string_lossy().into_owned(), is_dir });
        }
        found.sort_unstable();
        Ok(found)
    }

    async fn read(&self, location: &str) -> Result<Bytes, SourceError> {
        std::fs::read(location).map(Bytes::from).map_err(|cause| unreadable(location, cause))
    }
}

fn unreadable(location: &str, cause: std::io::Error) -> SourceError {
    match cause.kind() {
        ErrorKind::NotFound => SourceError::NotFound { location: location.into() },
        _ => SourceError::Unreadable { location: location.into(), cause: Arc::new(cause) },
    }
}
