//! The one reader of release files: finds, loads and checks what a resource asks for.
//!
//! Everything below the data root is read and parsed once and shared. What `spec.manifests` and
//! `spec.additionalManifests` name is read every time and parsed only when its bytes changed; when it cannot be read
//! or parsed any more, its last good copy stays in force and the release says so. Nothing is transformed.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use sha2::{Digest, Sha256};
use tokio::sync::Mutex;

use super::version::{self, LATEST};
use super::{Object, ParseError, Part, Release, Role, parse_yaml};
use crate::api::message::chain;
use crate::api::{Component, ComponentKind, ManifestUrl};
use crate::source::{Source, SourceError, shown};

/// Label with the release an object belongs to.
pub const VERSION_LABEL: &str = "app.kubernetes.io/version";

/// The packages of a data root.
const PACKAGES: [&str; 5] =
    ["knative-serving", "knative-eventing", "ingress", "eventing-source", "security-guard"];

/// Version of the security guard for each minor version of Serving.
const GUARDS: [(&str, &str); 4] = [("1.20", "0.6"), ("1.21", "0.6"), ("1.22", "0.6"), ("1.23", "0.6")];

/// Why there is no release for a resource.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// The data root has no release of the component.
    #[error("unable to find any version number under the path {directory}")]
    NoReleases {
        /// Where they should be.
        directory: String,
        /// Why it cannot be listed, if that is the problem.
        #[source]
        cause: Option<SourceError>,
    },
    /// The data root has no such release.
    #[error("the manifests of the target version {version} are not available to this release")]
    Unavailable {
        /// The release.
        version: String,
        /// Why.
        #[source]
        cause: Box<ManifestError>,
    },
    /// A location cannot be read.
    #[error("cannot load the manifests at {location}")]
    Unreadable {
        /// Path or URL.
        location: String,
        /// Why.
        #[source]
        cause: SourceError,
    },
    /// A location holds something else than objects.
    #[error("cannot parse the manifests at {location}")]
    Malformed {
        /// Path or URL.
        location: String,
        /// Why.
        #[source]
        cause: ParseError,
    },
    /// There is not one object.
    #[error("there is no resource available in the target manifests {path}")]
    Empty {
        /// Paths and URLs, joined by commas.
        path: String,
    },
    /// The objects belong to another release.
    #[error(
        "the version of the manifests {found} of the component {object} does not match the target version of the operator CR {target}"
    )]
    Mismatch {
        /// Version on the label.
        found: String,
        /// Name of the first such object.
        object: String,
        /// Version that was asked for.
        target: String,
    },
    /// No security guard goes with this release.
    #[error(
        "the current version of Knative Serving is {minor}. You need to install the version 1.8 or above to support the security guard"
    )]
    NoGuard {
        /// Minor version of Serving.
        minor: String,
    },
}

/// Reads releases from one data root.
pub struct Catalog {
    source: Arc<dyn Source>,
    given: Arc<dyn Source>,
    root: String,
    library: Library,
    parsed: Mutex<BTreeMap<String, Parsed>>,
}

/// What was parsed of a data root, by path. A cheap handle: catalogs of the same root may share it, one after the other
/// or at a time.
#[derive(Clone, Default)]
pub struct Library(Arc<parking_lot::Mutex<BTreeMap<String, Arc<Vec<Object>>>>>);

impl std::fmt::Debug for Library {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Library").field(&self.0.lock().len()).finish()
    }
}

/// A parsed location that a resource names, and the digest of its bytes.
struct Parsed {
    digest: [u8; 32],
    objects: Arc<Vec<Object>>,
}

impl Catalog {
    /// A catalog of the data root `root` (empty: the root of the source).
    pub fn new(source: Arc<dyn Source>, root: impl Into<String>) -> Self {
        let (library, parsed) = (Library::default(), Mutex::default());
        Self { given: source.clone(), source, root: root.into(), library, parsed }
    }

    /// The same catalog with what others have parsed of the data root.
    #[must_use]
    pub fn with_library(self, library: Library) -> Self {
        Self { library, ..self }
    }

    /// The same catalog with another source for what custom resources name by URL or path.
    #[must_use]
    pub fn with_given(self, given: Arc<dyn Source>) -> Self {
        Self { given, ..self }
    }

    /// Forgets everything parsed, because the files of the data root changed.
    pub async fn forget(&self) {
        let mut parsed = self.parsed.lock().await;
        parsed.clear();
        self.library.0.lock().clear();
    }

    /// The available releases of a component, newest first.
    ///
    /// # Errors
    /// [`ManifestError::NoReleases`].
    pub async fn releases(&self, kind: ComponentKind) -> Result<Vec<String>, ManifestError> {
        let directory = self.path(&[kind.release_dir()]);
        match self.directories(&directory).await {
            Ok(names) if names.is_empty() => Err(ManifestError::NoReleases { directory, cause: None }),
            Ok(names) => Ok(version::newest_first(names)),
            Err(cause) => Err(ManifestError::NoReleases { directory, cause: Some(cause) }),
        }
    }

    /// What the data root holds: `(ingress, 1.23, [istio, kourier])`, `(knative-serving, 1.23.0, [])`..., by package,
    /// newest version first, with the alternatives that a version has. Packages without versions are left out.
    pub async fn contents(&self) -> Vec<(&'static str, String, Vec<String>)> {
        let mut found = Vec::new();
        for package in PACKAGES {
            let versions = self.directories(&self.path(&[package])).await.unwrap_or_default();
            for version in version::newest_first(versions) {
                let alternatives =
                    self.directories(&self.path(&[package, &version])).await.unwrap_or_default();
                found.push((package, version, alternatives));
            }
        }
        found
    }

    /// The release that the resource asks for; whether it exists and may be installed is another question
    /// ([`version::check_migration`]).
    ///
    /// # Errors
    /// [`ManifestError::NoReleases`] if only the list of releases could tell.
    pub async fn target_version(&self, component: &Component) -> Result<String, ManifestError> {
        let common = &component.spec.common;
        let own_manifests = !common.manifests.is_empty();
        let available = match version::is_open(&common.version, own_manifests) {
            true => self.releases(component.kind).await?,
            false => Vec::new(),
        };
        Ok(version::target(&common.version, own_manifests, &available))
    }

    /// Everything that is to be installed for the resource, as released.
    ///
    /// # Errors
    /// [`ManifestError`]. A missing ingress plugin, source or guard is none when `spec.manifests` is used.
    pub async fn release(&self, component: &Component) -> Result<Release, ManifestError> {
        let common = &component.spec.common;
        let target_version = self.target_version(component).await?;
        let mut release = Release { target_version: target_version.clone(), ..Release::default() };

        let mut core = self.core(component, &target_version).await?;
        release.sources.push(core.path.clone());
        release.stale.append(&mut core.stale);
        check_labels(&core, &target_version)?;
        release.parts.extend(core.parts(Role::Core));

        let additional = match common.additional_manifests.as_slice() {
            [] => None,
            urls => {
                let mut loaded = self.given(urls, &target_version).await?;
                release.sources.push(loaded.path.clone());
                release.stale.append(&mut loaded.stale);
                Some(loaded)
            }
        };
        for (role, paths) in self.add_ons(component, &target_version).await? {
            let mut loaded = Loaded::default();
            for path in paths {
                match self.bundled(&path).await {
                    Ok(objects) => loaded.push(&path, objects),
                    Err(_) if !common.manifests.is_empty() => {}
                    Err(error) => return Err(error),
                }
            }
            if !loaded.objects.is_empty() {
                release.sources.push(loaded.path.clone());
            }
            release.parts.extend(loaded.parts(role));
        }
        release.parts.extend(additional.into_iter().flat_map(|loaded| loaded.parts(Role::Additional)));
        Ok(release)
    }

    /// The component itself: what `spec.manifests` names, else the bundled release.
    async fn core(&self, component: &Component, target_version: &str) -> Result<Loaded, ManifestError> {
        let urls = &component.spec.common.manifests;
        if !urls.is_empty() {
            return self.given(urls, target_version).await;
        }
        let path = self.path(&[component.kind.release_dir(), target_version]);
        let objects = self.bundled(&path).await.map_err(|cause| ManifestError::Unavailable {
            version: target_version.into(),
            cause: Box::new(cause),
        })?;
        let mut loaded = Loaded::default();
        loaded.push(&path, objects);
        loaded.not_empty()
    }

    /// Paths of ingress plugins, sources and the guard, by role.
    async fn add_ons(
        &self,
        component: &Component,
        target: &str,
    ) -> Result<Vec<(Role, Vec<String>)>, ManifestError> {
        let minor = match target {
            LATEST => LATEST.to_owned(),
            target => version::minor(target).unwrap_or_else(|| target.into()),
        };
        let below = |package: &str, names: Vec<&str>| -> Vec<String> {
            names.into_iter().map(|name| self.path(&[package, &minor, name])).collect()
        };
        if let Some(eventing) = component.eventing() {
            return Ok(vec![(Role::Source, below("eventing-source", eventing.source_directories()))]);
        }
        let Some(serving) = component.serving() else { return Ok(Vec::new()) };
        let plugins = serving.ingress_plugins().into_iter().map(|plugin| plugin.directory()).collect();
        let mut add_ons = vec![(Role::Ingress, below("ingress", plugins))];
        if serving.guard_enabled() {
            match self.guard(target, &minor).await {
                Ok(path) => add_ons.push((Role::Guard, vec![path])),
                Err(_) if !component.spec.common.manifests.is_empty() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(add_ons)
    }

    /// Path of the guard that goes with a release of Serving.
    async fn guard(&self, target: &str, minor: &str) -> Result<String, ManifestError> {
        let minor = match target {
            LATEST => {
                let releases = self.releases(ComponentKind::Serving).await?;
                releases.first().and_then(|newest| version::minor(newest)).unwrap_or_default()
            }
            _ => minor.to_owned(),
        };
        match GUARDS.iter().find(|(serving, _)| *serving == minor) {
            Some((_, guard)) => Ok(self.path(&["security-guard", guard])),
            None => Err(ManifestError::NoGuard { minor }),
        }
    }

    /// Loads what a resource names by URL or path.
    async fn given(&self, urls: &[ManifestUrl], target_version: &str) -> Result<Loaded, ManifestError> {
        let mut loaded = Loaded::default();
        for ManifestUrl { url } in urls {
            let location = url.replace("${VERSION}", target_version);
            let read = read(&*self.given, &location).await;
            let mut parsed = self.parsed.lock().await;
            let objects = match (
                read.and_then(|bytes| parse_changed(&mut parsed, &location, &bytes)),
                parsed.get(&location),
            ) {
                (Ok(objects), _) => objects,
                (Err(error), Some(last_good)) => {
                    loaded.stale.push(chain(&error));
                    last_good.objects.clone()
                }
                (Err(error), None) => return Err(error),
            };
            drop(parsed);
            loaded.push(&shown(&location), objects);
        }
        loaded.not_empty()
    }

    /// Loads a path of the data root, once. The lock is held meanwhile, so that many resources that start together
    /// parse a release once.
    async fn bundled(&self, path: &str) -> Result<Arc<Vec<Object>>, ManifestError> {
        let _one_at_a_time = self.parsed.lock().await;
        if let Some(known) = self.library.0.lock().get(path) {
            return Ok(known.clone());
        }
        let bytes = read(&*self.source, path).await?;
        let objects = Arc::new(parse_all(path, &bytes)?);
        self.library.0.lock().insert(path.into(), objects.clone());
        Ok(objects)
    }

    /// Names of the sub-directories.
    async fn directories(&self, directory: &str) -> Result<Vec<String>, SourceError> {
        let entries = self.source.list(directory).await?;
        Ok(entries.into_iter().filter(|entry| entry.is_dir).map(|entry| entry.name).collect())
    }

    fn path(&self, parts: &[&str]) -> String {
        match self.root.trim_end_matches('/') {
            "" if self.root.is_empty() => parts.join("/"),
            root => format!("{root}/{}", parts.join("/")),
        }
    }
}

/// Objects of several locations, and the locations joined by commas.
#[derive(Default)]
struct Loaded {
    path: String,
    objects: Vec<Arc<Vec<Object>>>,
    stale: Vec<String>,
}

impl Loaded {
    fn push(&mut self, location: &str, objects: Arc<Vec<Object>>) {
        if !self.path.is_empty() {
            self.path.push(',');
        }
        self.path += location;
        self.objects.push(objects);
    }

    fn not_empty(self) -> Result<Self, ManifestError> {
        match self.objects.iter().all(|objects| objects.is_empty()) {
            true => Err(ManifestError::Empty { path: self.path }),
            false => Ok(self),
        }
    }

    fn parts(self, role: Role) -> impl Iterator<Item = Part> {
        self.objects.into_iter().map(move |objects| Part { role, objects })
    }
}

/// The bytes of a URL, a file, or all files of a directory in the order of their names.
async fn read(source: &dyn Source, location: &str) -> Result<Vec<Bytes>, ManifestError> {
    let unreadable = |cause| ManifestError::Unreadable { location: shown(location), cause };
    let listed = if location.contains("://") { None } else { source.list(location).await.ok() };
    let Some(entries) = listed else {
        return Ok(vec![source.read(location).await.map_err(unreadable)?]);
    };
    let mut names: Vec<_> =
        entries.into_iter().filter(|entry| !entry.is_dir).map(|entry| entry.name).collect();
    names.sort_unstable();
    let mut files = Vec::with_capacity(names.len());
    for name in names {
        files.push(source.read(&format!("{location}/{name}")).await.map_err(unreadable)?);
    }
    Ok(files)
}

/// Parses a location again if its bytes are others than before.
fn parse_changed(
    parsed: &mut BTreeMap<String, Parsed>,
    location: &str,
    bytes: &[Bytes],
) -> Result<Arc<Vec<Object>>, ManifestError> {
    let digest: [u8; 32] =
        bytes.iter().fold(Sha256::new(), |hash, file| hash.chain_update(file)).finalize().into();
    if let Some(known) = parsed.get(location).filter(|known| known.digest == digest) {
        return Ok(known.objects.clone());
    }
    let objects = Arc::new(parse_all(location, bytes)?);
    parsed.insert(location.into(), Parsed { digest, objects: objects.clone() });
    Ok(objects)
}

fn parse_all(location: &str, files: &[Bytes]) -> Result<Vec<Object>, ManifestError> {
    let mut objects = Vec::new();
    for file in files {
        let parsed = parse_yaml(file)
            .map_err(|cause| ManifestError::Malformed { location: shown(location), cause })?;
        objects.extend(parsed);
    }
    Ok(objects)
}

/// Objects that carry a version must carry the target's minor version.
fn check_labels(loaded: &Loaded, target: &str) -> Result<(), ManifestError> {
    if target.is_empty() || target == LATEST {
        return Ok(());
    }
    for object in loaded.objects.iter().flat_map(|objects| objects.iter()) {
        let Some(label) = object.label(VERSION_LABEL) else { continue };
        if version::minor(label) != version::minor(target) {
            return Err(ManifestError::Mismatch {
                found: version::with_v(label),
                object: object.name().into(),
                target: version::with_v(target),
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
