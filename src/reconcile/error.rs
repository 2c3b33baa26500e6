//! What a failed step means: which condition says it, with which reason, and when to try again.

use crate::api::{ComponentError, ConditionType, Reason};
use crate::apply::anchor::AnchorError;
use crate::manifest::ManifestError;
use crate::plan::PlanError;
use crate::target::cluster::{ClusterError, Failure};
use crate::target::credentials::CredentialError;
use crate::target::resolve::{ResolveError, probe_reason};

/// A step that stopped a reconcile.
#[derive(Debug, thiserror::Error)]
pub enum StepError {
    /// The custom resource cannot be read.
    #[error("the resource is malformed")]
    Malformed(#[from] ComponentError),
    /// The target could not be resolved.
    #[error("failed to resolve target cluster")]
    Resolve(#[from] ResolveError),
    /// The release could not be put together.
    #[error("failed to load the manifest")]
    Manifest(#[from] ManifestError),
    /// The plan could not be made.
    #[error("failed to plan")]
    Plan(#[from] PlanError),
    /// The anchor is not to be had.
    #[error(transparent)]
    Anchor(AnchorError),
    /// A request to the target failed.
    #[error("failed to install")]
    Target(#[source] ClusterError),
    /// A request to the hub failed.
    #[error("failed to keep the record")]
    Hub(#[source] ClusterError),
}

/// When to try again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Category {
    /// Only a change of the custom resource, its profile or the release data helps; look again now and then.
    UserFixable,
    /// Time may help: back off.
    Transient,
    /// Somebody else wrote first: start over.
    Conflict,
}

impl StepError {
    /// Whether it is worth a condition, and which.
    pub fn condition(&self) -> Option<(ConditionType, Reason)> {
        let install = |reason| Some((ConditionType::InstallSucceeded, reason));
        let target = |reason| Some((ConditionType::TargetClusterResolved, reason));
        match self {
            Self::Resolve(error) => target(error.reason()),
            Self::Malformed(_) | Self::Manifest(_) | Self::Plan(_) => install(Reason::Error),
            Self::Anchor(AnchorError::OwnedElsewhere { .. }) => target(Reason::AnchorOwnedElsewhere),
            Self::Anchor(AnchorError::NamespaceTerminating { .. }) => {
                install(Reason::TargetNamespaceTerminating)
            }
            Self::Anchor(AnchorError::Terminating { .. }) => install(Reason::AnchorTerminating),
            Self::Anchor(AnchorError::Cluster(error)) | Self::Target(error) => match &error.failure {
                failure if failure.is_unreachable() => target(probe_reason(failure)),
                failure @ (Failure::Credentials(_) | Failure::Refused { code: 401, .. }) => {
                    target(probe_reason(failure))
                }
                _ => install(Reason::Error),
            },
            Self::Hub(_) => None,
        }
    }

    /// Whether the target, or the plugin for it, gave no answer.
    pub fn is_silence(&self) -> bool {
        let failure = match self {
            Self::Resolve(ResolveError::Probe { cause, .. })
            | Self::Anchor(AnchorError::Cluster(cause))
            | Self::Target(cause) => &cause.failure,
            _ => return false,
        };
        let timed_out = matches!(failure, Failure::Credentials(CredentialError::TimedOut { .. }));
        timed_out || failure.is_unreachable()
    }

    /// When to try again.
    pub fn category(&self) -> Category {
        match self {
            Self::Hub(error) if error.failure.is_conflict() => Category::Conflict,
            Self::Malformed(_)
            | Self::Plan(_)
            | Self::Resolve(ResolveError::NotPermitted { .. })
            | Self::Anchor(AnchorError::OwnedElsewhere { .. }) => Category::UserFixable,
            _ => Category::Transient,
        }
    }
}

impl From<AnchorError> for StepError {
    fn from(error: AnchorError) -> Self {
        Self::Anchor(error)
    }
}
