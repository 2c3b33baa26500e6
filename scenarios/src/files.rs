//! Files and URLs of a world: a map, with the release data of a [`Bundle`] behind it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use knative_operator::manifest::{Directory, Embedded};
use knative_operator::source::{Entry, Source, SourceError};
use parking_lot::Mutex;

/// Release data of a world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bundle {
    /// The releases in the operator itself.
    Embedded,
    /// Real releases in a directory (`KO_DATA_PATH`).
    Directory(PathBuf),
}

impl Bundle {
    /// Where the catalogue begins.
    pub fn root(&self) -> String {
        match self {
            Self::Embedded => String::new(),
            Self::Directory(path) => path.display().to_string(),
        }
    }
}

/// The [`Source`] of a world. Reading real releases is real I/O, but synchronous and of files that do not change, so
/// a simulation still replays.
#[derive(Clone)]
pub struct Files {
    bundle: Bundle,
    files: Arc<Mutex<BTreeMap<String, Result<Bytes, String>>>>,
    reads: Arc<Mutex<BTreeMap<String, usize>>>,
}

impl Files {
    /// No files but the bundle's.
    pub fn new(bundle: Bundle) -> Self {
        Self { bundle, files: Arc::default(), reads: Arc::default() }
    }

    /// Creates or replaces a file, or what a URL serves.
    pub fn put(&self, location: &str, content: impl Into<Bytes>) {
        self.files.lock().insert(location.into(), Ok(content.into()));
    }

    /// What was put there; empty when nothing was.
    pub fn content(&self, location: &str) -> Bytes {
        self.files.lock().get(location).and_then(|content| content.clone().ok()).unwrap_or_default()
    }

    /// Makes a location unreadable.
    pub fn break_file(&self, location: &str, why: &str) {
        self.files.lock().insert(location.into(), Err(why.into()));
    }

    /// How often each location was read so far.
    pub fn reads(&self) -> BTreeMap<String, usize> {
        self.reads.lock().clone()
    }

    /// Removes a file.
    pub fn remove(&self, location: &str) {
        self.files.lock().remove(location);
    }
}

#[async_trait]
impl Source for Files {
    async fn list(&self, directory: &str) -> Result<Vec<Entry>, SourceError> {
        match &self.bundle {
            Bundle::Embedded => Embedded.list(directory).await,
            Bundle::Directory(_) => Directory.list(directory).await,
        }
    }

    async fn read(&self, location: &str) -> Result<Bytes, SourceError> {
        *self.reads.lock().entry(location.into()).or_default() += 1;
        match self.files.lock().get(location) {
            Some(Ok(content)) => return Ok(content.clone()),
            Some(Err(why)) => return Err(unreadable(location, why)),
            None => {}
        }
        match &self.bundle {
            Bundle::Embedded => Embedded.read(location).await,
            Bundle::Directory(_) => Directory.read(location).await,
        }
    }
}

fn unreadable(location: &str, why: &str) -> SourceError {
    SourceError::Unreadable {
        location: location.into(),
        cause: Arc::new(std::io::Error::other(why.to_owned())),
    }
}
