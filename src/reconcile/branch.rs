//! Short names of everything that can go wrong in a pass, for logs and for counting what was tried.

use super::error::StepError;
use crate::apply::anchor::AnchorError;
use crate::manifest::ManifestError;
use crate::target::cluster::Failure;
use crate::target::resolve::ResolveError;

/// One table gives the names and the list of them.
macro_rules! branches {
    ($($pattern:pat => $name:literal,)*) => {
        /// Every name.
        pub const BRANCHES: &'static [&'static str] = &[$($name,)*];

        /// Which one it is.
        pub fn branch(&self) -> &'static str {
            match self { $($pattern => $name,)* }
        }
    };
}

impl StepError {
    branches! {
        Self::Malformed(_) => "malformed",
        Self::Resolve(ResolveError::ProfileNotFound { .. }) => "profile-not-found",
        Self::Resolve(ResolveError::ProfileUnavailable { .. }) => "profile-unavailable",
        Self::Resolve(ResolveError::NotReady { .. }) => "profile-not-ready",
        Self::Resolve(ResolveError::Disabled { .. }) => "multicluster-disabled",
        Self::Resolve(ResolveError::FileUnreadable { .. }) => "provider-file-unreadable",
        Self::Resolve(ResolveError::FileMalformed { .. }) => "provider-file-malformed",
        Self::Resolve(ResolveError::Access { .. }) => "no-access-provider",
        Self::Resolve(ResolveError::Connect { .. }) => "unusable-connection-data",
        Self::Resolve(ResolveError::Probe { .. }) => "probe",
        Self::Resolve(ResolveError::TooOld { .. }) => "kubernetes-too-old",
        Self::Resolve(ResolveError::NotPermitted { .. }) => "not-permitted",
        Self::Resolve(ResolveError::AuthorityUnreadable { .. }) => "authority-unreadable",
        Self::Resolve(ResolveError::Moved { .. }) => "moved",
        Self::Manifest(ManifestError::NoReleases { .. }) => "no-releases",
        Self::Manifest(ManifestError::Unavailable { .. }) => "release-unavailable",
        Self::Manifest(ManifestError::Unreadable { .. }) => "manifest-unreadable",
        Self::Manifest(ManifestError::Malformed { .. }) => "manifest-malformed",
        Self::Manifest(ManifestError::Empty { .. }) => "manifest-empty",
        Self::Manifest(ManifestError::Mismatch { .. }) => "manifest-of-another-version",
        Self::Manifest(ManifestError::NoGuard { .. }) => "no-security-guard",
        Self::Plan(_) => "plan",
        Self::Anchor(AnchorError::OwnedElsewhere { .. }) => "anchor-owned-elsewhere",
        Self::Anchor(AnchorError::NamespaceTerminating { .. }) => "namespace-terminating",
        Self::Anchor(AnchorError::Terminating { .. }) => "anchor-terminating",
        Self::Anchor(AnchorError::Cluster(_)) => "anchor",
        Self::Target(_) => "target",
        Self::Hub(_) => "hub",
    }

    /// The failed request behind it, if it was one.
    pub fn failure(&self) -> Option<&Failure> {
        match self {
            Self::Resolve(
                ResolveError::ProfileUnavailable { cause, .. } | ResolveError::Probe { cause, .. },
            )
            | Self::Anchor(AnchorError::Cluster(cause))
            | Self::Target(cause)
            | Self::Hub(cause) => Some(&cause.failure),
            _ => None,
        }
    }
}

impl Failure {
    branches! {
        Self::NoMatch { .. } => "no-match",
        Self::Refused { code: 401, .. } => "401",
        Self::Refused { code: 403, .. } => "403",
        Self::Refused { code: 404, .. } => "404",
        Self::Refused { code: 409, .. } => "409",
        Self::Refused { code: 422, .. } => "422",
        Self::Refused { code: 429, .. } => "429",
        Self::Refused { code: 500..=599, .. } => "5xx",
        Self::Refused { .. } => "refused",
        Self::Credentials(_) => "credentials",
        Self::Deadline(_) => "deadline",
        Self::Suspended(_) => "suspended",
        Self::Connection(_) => "connection",
        Self::Garbled(_) => "garbled",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::cluster::ClusterError;

    fn refused(code: u16) -> ClusterError {
        let failure = Failure::Refused { code, reason: String::new(), message: String::new() };
        ClusterError { cluster: "c".into(), action: "a".into(), failure }
    }

    #[test]
    fn an_error_is_named_by_where_a_pass_stopped_and_what_was_answered() {
        let error = StepError::Anchor(AnchorError::Cluster(refused(503)));
        assert_eq!((error.branch(), error.failure().map(Failure::branch)), ("anchor", Some("5xx")));
        let error = StepError::Resolve(ResolveError::Probe { cluster: "c".into(), cause: refused(401) });
        assert_eq!((error.branch(), error.failure().map(Failure::branch)), ("probe", Some("401")));
        let error = StepError::Resolve(ResolveError::ProfileNotFound { key: "k".into() });
        assert_eq!((error.branch(), error.failure().map(Failure::branch)), ("profile-not-found", None));
    }

    #[test]
    fn no_two_branches_have_one_name() {
        for names in [StepError::BRANCHES, Failure::BRANCHES] {
            let distinct: std::collections::BTreeSet<_> = names.iter().collect();
            assert_eq!(distinct.len(), names.len());
        }
    }
}
