//! The oldest Kubernetes that is supported.

use crate::manifest::version;

/// Oldest supported version, unless `KUBERNETES_MIN_VERSION` says otherwise.
pub const MINIMUM_KUBERNETES: &str = "v1.33.0";

/// A cluster runs something too old, or something that is no version.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "kubernetes version {found:?} is not compatible, need at least {minimum:?} (this can be overridden with the env var \
     \"KUBERNETES_MIN_VERSION\")"
)]
pub struct UnsupportedKubernetes {
    /// What the cluster says.
    pub found: String,
    /// What is required.
    pub minimum: String,
}

/// Checks a cluster's version (`gitVersion`). Pre-releases and vendor suffixes of the minimum are good enough. A
/// minimum that is no version allows everything.
///
/// # Errors
/// [`UnsupportedKubernetes`].
pub fn check_kubernetes(found: &str, minimum: &str) -> Result<(), UnsupportedKubernetes> {
    let numbers =
        |text: &str| version::parse(text).map(|version| (version.major, version.minor, version.patch));
    let Some(required) = numbers(minimum) else { return Ok(()) };
    match numbers(found) {
        Some(running) if running >= required => Ok(()),
        _ => Err(UnsupportedKubernetes { found: found.into(), minimum: minimum.into() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vendor_suffixes_do_not_matter_and_old_clusters_are_refused() {
        for good in ["v1.33.0", "v1.33.0-rc.1", "v1.34.2+k3s1", "1.33", "v1.36.1-eks-1-34"] {
            assert_eq!(check_kubernetes(good, MINIMUM_KUBERNETES), Ok(()), "{good}");
        }
        for bad in ["v1.32.9", "", "nonsense"] {
            assert!(check_kubernetes(bad, MINIMUM_KUBERNETES).is_err(), "{bad}");
        }
        assert_eq!(check_kubernetes("v1.20.0", "v1.20.0"), Ok(()));
    }
}
