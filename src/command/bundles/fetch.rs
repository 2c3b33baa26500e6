//! `bundles fetch`: copies releases from a mirror into a data root.
//!
//! A mirror is a data root behind any HTTP server, with its `SHA256SUMS`. Nothing is trusted but that list: each file is
//! written only when its digest is the listed one, under another name first, so that a data root never holds half a file and
//! an interrupted run goes on where it was.

use std::io::Write;
use std::path::{Path, PathBuf};

use futures::StreamExt;

use super::sums::{self, Sums, SumsError, digest};
use crate::source::{Source, SourceError, shown};

/// Downloads at a time.
const IN_FLIGHT: usize = 4;

/// What to fetch, and where to.
#[derive(Clone, Debug)]
pub(super) struct Fetch<'a> {
    /// URL of the mirror.
    pub(super) from: &'a str,
    /// The data root.
    pub(super) root: &'a Path,
    /// Directories or files of the list to fetch; empty: all.
    pub(super) only: &'a [String],
    /// Digest that the list itself must have.
    pub(super) list_digest: Option<&'a str>,
}

/// What was done.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Fetched {
    pub(super) downloaded: usize,
    pub(super) present: usize,
}

/// Why releases could not be fetched.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// The list or a file cannot be had, or is not what the list says.
    #[error("cannot download {url}")]
    Download {
        /// Where from.
        url: String,
        /// The cause.
        #[source]
        cause: SourceError,
    },
    /// The list is malformed.
    #[error("cannot use {url}")]
    List {
        /// Where from.
        url: String,
        /// The cause.
        #[source]
        cause: SumsError,
    },
    /// The list is another one than was asked for.
    #[error("{url} has the SHA-256 {found}, not {wanted}")]
    ListDigest {
        /// Where from.
        url: String,
        /// What was asked for.
        wanted: String,
        /// What it has.
        found: String,
    },
    /// The list has nothing of that name.
    #[error("{url} lists nothing below {name}")]
    Unknown {
        /// Where from.
        url: String,
        /// What was asked for.
        name: String,
    },
    /// The data root cannot be written, or its list not be read.
    #[error("cannot write {}", path.display())]
    Write {
        /// Which file.
        path: PathBuf,
        /// The cause.
        #[source]
        cause: std::io::Error,
    },
    /// The list in the data root is malformed.
    #[error("cannot use {}", path.display())]
    OwnList {
        /// Which file.
        path: PathBuf,
        /// The cause.
        #[source]
        cause: SumsError,
    },
}

impl Fetch<'_> {
    /// Fetches. What is there already, with the right digest, is not asked for.
    ///
    /// # Errors
    /// [`FetchError`]; what was complete by then stays.
    pub(super) async fn run(&self, source: &dyn Source, out: &mut dyn Write) -> Result<Fetched, FetchError> {
        let listed = self.list(source).await?;
        let mut own = self.own_list()?;
        let (mut missing, mut fetched) = (Vec::new(), Fetched::default());
        for (path, wanted) in &listed.0 {
            own.0.insert(path.clone(), wanted.clone());
            let there = std::fs::read(self.root.join(path)).is_ok_and(|bytes| digest(&bytes) == *wanted);
            if there { fetched.present += 1 } else { missing.push((path, wanted)) }
        }
        let downloads: Vec<_> =
            missing.into_iter().map(|(path, wanted)| self.download(source, path, wanted)).collect();
        let mut downloads = futures::stream::iter(downloads).buffered(IN_FLIGHT);
        while let Some(done) = downloads.next().await {
            let path = done?;
            fetched.downloaded += 1;
            // Progress; nobody may be listening.
            let _ = writeln!(out, "{path}");
        }
        write(&self.root.join(sums::NAME), own.format().as_bytes())?;
        Ok(fetched)
    }

    fn url(&self, path: &str) -> String {
        format!("{}/{path}", self.from.trim_end_matches('/'))
    }

    /// The part of the mirror's list that is wanted.
    async fn list(&self, source: &dyn Source) -> Result<Sums, FetchError> {
        let location = self.url(sums::NAME);
        let url = shown(&location);
        let bytes =
            source.read(&location).await.map_err(|cause| FetchError::Download { url: url.clone(), cause })?;
        if let Some(wanted) = self.list_digest {
            let found = digest(&bytes);
            if !found.eq_ignore_ascii_case(wanted) {
                return Err(FetchError::ListDigest { url, wanted: wanted.into(), found });
            }
        }
        let all = Sums::parse(&bytes).map_err(|cause| FetchError::List { url: url.clone(), cause })?;
        let below = |path: &str, name: &str| {
            path.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let names: Vec<&str> = self.only.iter().map(|name| name.trim_end_matches('/')).collect();
        if let Some(name) = names.iter().find(|name| !all.0.keys().any(|path| below(path, name))) {
            return Err(FetchError::Unknown { url, name: (*name).into() });
        }
        let wanted = |path: &String| names.is_empty() || names.iter().any(|name| below(path, name));
        Ok(Sums(all.0.into_iter().filter(|(path, _)| wanted(path)).collect()))
    }

    /// The list of the data root as it is, to which the new files are added.
    fn own_list(&self) -> Result<Sums, FetchError> {
        let path = self.root.join(sums::NAME);
        match std::fs::read(&path) {
            Ok(bytes) => Sums::parse(&bytes).map_err(|cause| FetchError::OwnList { path, cause }),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Sums::default()),
            Err(cause) => Err(FetchError::Write { path, cause }),
        }
    }

    async fn download<'p>(
        &self,
        source: &dyn Source,
        path: &'p str,
        wanted: &str,
    ) -> Result<&'p str, FetchError> {
        // The source itself refuses content of another digest.
        let location = format!("{}#sha256={wanted}", self.url(path));
        let bytes = source.read(&location).await;
        let bytes = bytes.map_err(|cause| FetchError::Download { url: shown(&self.url(path)), cause })?;
        write(&self.root.join(path), &bytes)?;
        Ok(path)
    }
}

/// Writes a file as a whole or not at all.
fn write(path: &Path, bytes: &[u8]) -> Result<(), FetchError> {
    let failed = |cause| FetchError::Write { path: path.to_owned(), cause };
    let directory = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(directory).map_err(failed)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let part = directory.join(format!(".{name}.part"));
    let mut file = std::fs::File::create(&part).map_err(failed)?;
    file.write_all(bytes).and_then(|()| file.sync_all()).map_err(failed)?;
    std::fs::rename(&part, path).map_err(failed)
}
