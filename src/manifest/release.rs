//! What was loaded for one custom resource.

use std::sync::Arc;

use super::Object;

/// An element of `status.manifests`: a path or URL, or several joined by commas.
pub type SourcePath = String;

/// The objects of a release, before any change, shared between all resources that use them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Release {
    /// Resolved version, for instance `1.23.0`; empty for `spec.manifests` without a version.
    pub target_version: String,
    /// Where the objects were read from, for `status.manifests`; only what was really loaded.
    pub sources: Vec<SourcePath>,
    /// The objects, in the order they are applied.
    pub parts: Vec<Part>,
    /// Why some objects are those of an earlier reading; empty when all are current.
    pub stale: Vec<String>,
}

/// The objects of one file, directory or URL.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// What they are for.
    pub role: Role,
    /// In the order of the file.
    pub objects: Arc<Vec<Object>>,
}

/// What a part of a release is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// The component itself.
    Core,
    /// An ingress plugin.
    Ingress,
    /// An event source.
    Source,
    /// The security-guard add-on.
    Guard,
    /// `spec.additionalManifests`.
    Additional,
}
