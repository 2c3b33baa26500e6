//! Which release a resource gets, and whether it may follow the installed one. Pure.
//!
//! Versions are those of Go's `golang.org/x/mod/semver`: a leading `v` is optional here, `1` and `1.22` are valid.

use semver::Version;

use crate::api::ComponentKind;

/// The word that stands for the newest release.
pub const LATEST: &str = "latest";

/// Why a release may not be installed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VersionError {
    /// Not a version.
    #[error("target version {0} is not in a valid semantic versioning format")]
    Invalid(String),
    /// A major version only.
    #[error("target version {0} should at least include the major and minor numbers")]
    MajorOnly(String),
    /// The installed version is not a version.
    #[error("minor number of the current version {0} should be an integer")]
    InstalledInvalid(String),
    /// Another major version is installed.
    #[error(
        "not supported to upgrade or downgrade across the MAJOR version. The installed {kind} version is {installed}"
    )]
    AcrossMajor {
        /// Which component.
        kind: ComponentKind,
        /// Version that is installed.
        installed: String,
    },
    /// The installed version is two or more minor versions away.
    #[error(
        "not supported to upgrade or downgrade across multiple MINOR versions. The installed {kind} version is {installed}"
    )]
    AcrossMinors {
        /// Which component.
        kind: ComponentKind,
        /// Version that is installed.
        installed: String,
    },
}

/// The version with a leading `v`.
pub fn with_v(version: &str) -> String {
    if version.starts_with('v') { version.into() } else { format!("v{version}") }
}

/// Reads a version; missing minor and patch numbers count as zero.
pub fn parse(version: &str) -> Option<Version> {
    let text = version.strip_prefix('v').unwrap_or(version);
    let padding = match text.matches('.').count() {
        _ if text.contains(['-', '+']) => "",
        0 => ".0.0",
        1 => ".0",
        _ => "",
    };
    Version::parse(&format!("{text}{padding}")).ok()
}

/// `major.minor` of a version.
pub fn minor(version: &str) -> Option<String> {
    parse(version).map(|version| format!("{}.{}", version.major, version.minor))
}

/// Names of releases, newest first; what is no version comes last.
pub fn newest_first(mut names: Vec<String>) -> Vec<String> {
    names.sort_by(|a, b| parse(b).cmp(&parse(a)).then_with(|| a.cmp(b)));
    names
}

/// Whether the request can only be answered with the list of available releases.
pub fn is_open(requested: &str, own_manifests: bool) -> bool {
    requested.eq_ignore_ascii_case(LATEST) || !own_manifests && (requested.is_empty() || is_minor(requested))
}

/// The release that a request stands for.
///
/// `own_manifests`: whether `spec.manifests` is used; then only `latest` is resolved. `available`: newest first.
pub fn target(requested: &str, own_manifests: bool, available: &[String]) -> String {
    if is_open(requested, own_manifests) { newest_for(requested, available) } else { requested.into() }
}

/// The newest release that fits, or the request itself when none does.
fn newest_for(requested: &str, available: &[String]) -> String {
    let fits = |name: &&String| name.starts_with(requested) && minor(name) == minor(requested);
    let found = match requested {
        "" => available.first(),
        latest if latest.eq_ignore_ascii_case(LATEST) => {
            available.iter().find(|name| *name == latest).or(available.first())
        }
        _ => available.iter().find(fits),
    };
    found.map_or(requested, String::as_str).into()
}

/// Whether the text is just `X.Y`, with or without `v`.
fn is_minor(text: &str) -> bool {
    minor(text).is_some_and(|minor| minor == text.strip_prefix('v').unwrap_or(text))
}

/// Whether `target` may be installed where `installed` (the CR's `status.version`) is.
///
/// # Errors
/// [`VersionError`]: the first rule that is broken.
pub fn check_migration(
    kind: ComponentKind,
    target: &str,
    installed: Option<&str>,
) -> Result<(), VersionError> {
    if target == LATEST {
        return Ok(());
    }
    let new = parse(target).ok_or_else(|| VersionError::Invalid(with_v(target)))?;
    if !target.contains('.') {
        return Err(VersionError::MajorOnly(with_v(target)));
    }
    let Some(installed) = installed.filter(|version| !version.is_empty() && *version != LATEST) else {
        return Ok(());
    };
    let old = parse(installed).ok_or_else(|| VersionError::InstalledInvalid(installed.into()))?;
    let installed = with_v(installed);
    // Release 1.0 followed 0.26.
    let mut minors = [(old.major, old.minor), (new.major, new.minor)];
    minors.sort_unstable();
    if minors == [(0, 26), (1, 0)] {
        Ok(())
    } else if old.major != new.major {
        Err(VersionError::AcrossMajor { kind, installed })
    } else if old.minor.abs_diff(new.minor) < 2 {
        Ok(())
    } else {
        Err(VersionError::AcrossMinors { kind, installed })
    }
}

#[cfg(test)]
mod tests;
