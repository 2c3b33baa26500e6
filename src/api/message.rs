//! The texts of conditions. Users and their alerts match on them, so they are written in one place.

use std::error::Error;
use std::fmt::Display;

/// An error with all its causes, on one line.
pub fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let next = error.to_string();
        // Some errors repeat their cause in their own text.
        if !text.ends_with(&next) {
            text = format!("{text}: {next}");
        }
        cause = error.source();
    }
    text
}

/// Of `VersionMigrationEligible`: the release may not be installed.
pub fn not_eligible(error: &dyn Error) -> String {
    format!("Version migration is not eligible with message: {}", chain(error))
}

/// Of `VersionMigrationEligible`: the release may not follow a definition that is on the cluster.
pub fn not_eligible_by(error: &dyn Error, definition: &str, cluster: &str) -> String {
    format!(
        "{}, by the label of CustomResourceDefinition {definition} on {cluster}; go there by the minor versions between, \
         or delete the definitions, and with them what is stored in them",
        not_eligible(error)
    )
}

/// Of `InstallSucceeded`: a step of the install failed.
pub fn install_failed(error: &dyn Error) -> String {
    format!("Install failed with message: {}", chain(error))
}

/// Of `DeploymentsAvailable`: the named workloads are not rolled out.
pub fn waiting_on<'a>(workloads: impl IntoIterator<Item = &'a str>) -> String {
    format!("Waiting on deployments: {}", workloads.into_iter().collect::<Vec<_>>().join(", "))
}

/// Of `OverridesApplied`: what the resource asks for without effect.
pub fn without_effect(names: &[String]) -> String {
    format!("Without effect: {}", names.join("; "))
}

/// Of `Drifted`: what was changed back.
pub fn repaired(objects: &[impl Display]) -> String {
    format!("changed or deleted by somebody else, and repaired: {}", named(objects))
}

/// Of `Drifted`: what is left as somebody made it.
pub fn left_drifted(objects: &[impl Display]) -> String {
    format!("changed or deleted by somebody else, and left so: {}", named(objects))
}

/// How many there are, and the first of them.
fn named(objects: &[impl Display]) -> String {
    const NAMED: usize = 10;
    let names: Vec<_> = objects.iter().take(NAMED).map(ToString::to_string).collect();
    let more = if objects.len() > NAMED { ", ..." } else { "" };
    let noun = if objects.len() == 1 { "object" } else { "objects" };
    format!("{} {noun}: {}{more}", objects.len(), names.join(", "))
}

/// Of `ManifestsCurrent`: what could not be read, whose last good copy is used.
pub fn last_good(failures: &[String]) -> String {
    format!("The last good copy is in force: {}", failures.join("; "))
}

/// Of the Event `TargetReplaced`: another cluster answers where the installation was.
pub fn moved(from: &str, to: &str, objects: usize) -> String {
    format!(
        "The cluster with kube-system uid {from} is now one with uid {to}: installing there. If the former still \
         exists, its {objects} objects are not looked after any more"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("outer")]
    struct Outer(#[source] Inner);

    #[derive(Debug, thiserror::Error)]
    #[error("inner")]
    struct Inner;

    #[test]
    fn of_many_drifted_objects_ten_are_named() {
        let many: Vec<_> = (0..12).map(|number| format!("o{number}")).collect();
        let text = repaired(&many);
        assert!(text.contains("12 objects: o0, ") && text.ends_with("o9, ..."), "{text}");
        assert!(left_drifted(&["o"]).ends_with("left so: 1 object: o"));
    }

    #[test]
    fn the_causes_of_an_error_are_kept() {
        assert_eq!(install_failed(&Outer(Inner)), "Install failed with message: outer: inner");
        assert_eq!(waiting_on(["a", "b"]), "Waiting on deployments: a, b");
    }
}
