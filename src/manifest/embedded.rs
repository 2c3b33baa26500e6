//! The bundle that is compiled into the binary: two small releases of each package, laid out like a data root.
//!
//! It exists so that everything runs without a download. Its objects are written for this repository and only shaped
//! like the published releases; the images do not exist. The directory `bundle/` beside this file is the source, the
//! table below the only list of it, and a test proves that they agree. Nothing here parses YAML.

use std::collections::BTreeSet;

use async_trait::async_trait;
use bytes::Bytes;

use crate::source::{Entry, Source, SourceError};

/// The embedded bundle as a [`Source`] with the root `""`: `list("knative-serving")` gives the versions.
///
/// Paths are relative and use `/`; a leading or trailing slash makes no difference. URLs are not found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Embedded;

/// Path and text of every file, in the order of the paths.
macro_rules! bundle {
    ($($path:literal,)*) => {
        const FILES: &[(&str, &str)] = &[$(($path, include_str!(concat!("bundle/", $path)))),*];
    };
}

bundle! {
    "eventing-source/1.22/github/github.yaml",
    "eventing-source/1.23/github/github.yaml",
    "ingress/1.22/contour/net-contour.yaml",
    "ingress/1.22/gateway-api/net-gateway-api.yaml",
    "ingress/1.22/istio/net-istio.yaml",
    "ingress/1.22/kourier/kourier.yaml",
    "ingress/1.23/contour/net-contour.yaml",
    "ingress/1.23/gateway-api/net-gateway-api.yaml",
    "ingress/1.23/istio/net-istio.yaml",
    "ingress/1.23/kourier/kourier.yaml",
    "knative-eventing/1.22.0/1-eventing-crds.yaml",
    "knative-eventing/1.22.0/2-eventing-core.yaml",
    "knative-eventing/1.22.0/3-eventing-tls-networking.yaml",
    "knative-eventing/1.22.0/4-in-memory-channel.yaml",
    "knative-eventing/1.22.0/5-mt-channel-broker.yaml",
    "knative-eventing/1.22.0/6-eventing-post-install.yaml",
    "knative-eventing/1.23.0/1-eventing-crds.yaml",
    "knative-eventing/1.23.0/2-eventing-core.yaml",
    "knative-eventing/1.23.0/3-eventing-tls-networking.yaml",
    "knative-eventing/1.23.0/4-in-memory-channel.yaml",
    "knative-eventing/1.23.0/5-mt-channel-broker.yaml",
    "knative-eventing/1.23.0/6-eventing-post-install.yaml",
    "knative-serving/1.22.0/1-serving-crds.yaml",
    "knative-serving/1.22.0/2-serving-core.yaml",
    "knative-serving/1.22.0/3-serving-hpa.yaml",
    "knative-serving/1.22.0/4-serving-post-install-jobs.yaml",
    "knative-serving/1.23.0/1-serving-crds.yaml",
    "knative-serving/1.23.0/2-serving-core.yaml",
    "knative-serving/1.23.0/3-serving-hpa.yaml",
    "knative-serving/1.23.0/4-serving-post-install-jobs.yaml",
    "security-guard/0.6/guard.yaml",
}

#[async_trait]
impl Source for Embedded {
    async fn list(&self, directory: &str) -> Result<Vec<Entry>, SourceError> {
        let entries: BTreeSet<Entry> =
            FILES.iter().filter_map(|(path, _)| below(path, directory).map(first_part)).collect();
        if entries.is_empty() {
            return Err(SourceError::NotFound { location: directory.into() });
        }
        Ok(entries.into_iter().collect())
    }

    async fn read(&self, location: &str) -> Result<Bytes, SourceError> {
        let path = location.trim_matches('/');
        FILES
            .binary_search_by_key(&path, |(path, _)| path)
            .map(|found| Bytes::from_static(FILES[found].1.as_bytes()))
            .map_err(|_| SourceError::NotFound { location: location.into() })
    }
}

/// What is left of `path` below `directory`, or nothing when it is somewhere else.
fn below<'a>(path: &'a str, directory: &str) -> Option<&'a str> {
    match directory.trim_matches('/') {
        "" => Some(path),
        directory => path.strip_prefix(directory)?.strip_prefix('/'),
    }
}

/// The entry that leads to `path`: a directory unless it is the last part.
fn first_part(path: &str) -> Entry {
    match path.split_once('/') {
        Some((name, _)) => Entry { name: name.into(), is_dir: true },
        None => Entry { name: path.into(), is_dir: false },
    }
}

#[cfg(test)]
mod tests;
