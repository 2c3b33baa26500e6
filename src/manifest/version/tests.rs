//! Version resolution and migration, by its vectors.

use super::*;

fn bundled() -> Vec<String> {
    let names = ["1.20.0", "1.22.0", "1.21.3", "1.23.0", "1.20.3", "1.22.1", "1.21.0"];
    newest_first(names.map(String::from).to_vec())
}

#[track_caller]
fn check(
    requested: &str,
    own_manifests: bool,
    installed: Option<&str>,
    target_version: &str,
    refusal: Option<&str>,
) {
    let resolved = target(requested, own_manifests, &bundled());
    assert_eq!(resolved, target_version, "target of {requested:?}");
    let verdict =
        check_migration(ComponentKind::Serving, &resolved, installed).map_err(|error| error.to_string());
    assert_eq!(verdict.err().as_deref(), refusal, "{requested:?} over {installed:?}");
}

#[test]
fn releases_are_sorted_by_version_and_names_come_last() {
    let names = ["0.24.0", "latest", "0.26.1", "1.0.0", "1.10.0", "1.9.0"].map(String::from).to_vec();
    assert_eq!(newest_first(names), ["1.10.0", "1.9.0", "1.0.0", "0.26.1", "0.24.0", "latest"]);
}

#[test]
fn no_version_means_the_newest_and_may_be_too_far_away() {
    check("", false, None, "1.23.0", None);
    check("", false, Some("1.22.1"), "1.23.0", None);
    check(
        "",
        false,
        Some("1.21.3"),
        "1.23.0",
        Some(
            "not supported to upgrade or downgrade across multiple MINOR versions. \
             The installed KnativeServing version is v1.21.3",
        ),
    );
}

#[test]
fn a_minor_version_means_its_newest_patch_and_may_go_back_by_one() {
    check("1.22", false, Some("1.23.0"), "1.22.1", None);
    check("1.2", false, None, "1.2", None);
    check("v1.22", false, None, "v1.22", None);
    check("1.22", true, None, "1.22", None);
}

#[test]
fn an_exact_version_is_not_looked_up() {
    check("1.22.9", false, Some("1.22.1"), "1.22.9", None);
}

#[test]
fn latest_is_a_concrete_release_unless_there_is_a_directory_of_that_name() {
    let refusal = "not supported to upgrade or downgrade across multiple MINOR versions. \
                   The installed KnativeServing version is v1.10.0";
    check("latest", false, Some("1.10.0"), "1.23.0", Some(refusal));
    check("LATEST", true, None, "1.23.0", None);
    let with_latest = newest_first([bundled(), vec!["latest".into()]].concat());
    assert_eq!(target("latest", false, &with_latest), "latest");
    assert_eq!(target("Latest", false, &with_latest), "1.23.0");
    assert_eq!(check_migration(ComponentKind::Serving, "latest", Some("1.10.0")), Ok(()));
}

#[test]
fn what_is_no_version_is_refused() {
    check(
        "1",
        false,
        None,
        "1",
        Some("target version v1 should at least include the major and minor numbers"),
    );
    check(
        "foo",
        false,
        None,
        "foo",
        Some("target version vfoo is not in a valid semantic versioning format"),
    );
    check("", true, None, "", Some("target version v is not in a valid semantic versioning format"));
    check(
        "1.02",
        false,
        None,
        "1.02",
        Some("target version v1.02 is not in a valid semantic versioning format"),
    );
    let installed = check_migration(ComponentKind::Eventing, "1.23.0", Some("abc")).unwrap_err();
    assert_eq!(installed.to_string(), "minor number of the current version abc should be an integer");
}

#[test]
fn major_versions_are_crossed_only_between_0_26_and_1_0() {
    let verdict = |target, installed| check_migration(ComponentKind::Eventing, target, Some(installed));
    assert_eq!(verdict("1.0.0", "0.26.1"), Ok(()));
    assert_eq!(verdict("0.26.0", "1.0.3"), Ok(()));
    assert_eq!(
        verdict("2.0.0", "1.23.0").unwrap_err().to_string(),
        "not supported to upgrade or downgrade across the MAJOR version. \
         The installed KnativeEventing version is v1.23.0"
    );
}
