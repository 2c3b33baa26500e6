//! Each rule finds what it is there for, and nothing in a tidy tree.

use super::*;

const RUSTC: &str = "rustc 1.95.0 (59807616e 2026-04-14)\n";
const MANIFEST: &str = "[workspace.package]\nrust-version = \"1.95\"\n[package]\nedition.workspace = true\n\
    license.workspace = true\nrust-version.workspace = true\n[lints]\nworkspace = true\n";

fn file(path: &str, text: impl Into<String>) -> File {
    File { path: path.into(), text: text.into() }
}

/// A tidy repository and one more file.
fn with(extra: File) -> Vec<Finding> {
    let tree = [file("LICENSE", "Apache License"), file("Cargo.toml", MANIFEST), extra];
    findings(&tree, RUSTC)
}

fn source(lines: usize) -> String {
    "//! A module.\n".repeat(lines)
}

#[test]
fn a_tidy_tree_has_no_findings() {
    assert_eq!(with(file("src/lib.rs", source(499))), []);
}

#[test]
fn five_hundred_lines_are_worth_a_look_and_more_than_eight_hundred_are_refused() {
    assert_eq!(with(file("src/a.rs", source(500))), [warning("src/a.rs", "has 500 lines; is it one idea?")]);
    assert_eq!(with(file("src/a.rs", source(800))).iter().filter(|finding| finding.is_error).count(), 0);
    assert_eq!(with(file("src/a.rs", source(801))), [error("src/a.rs", "has 801 lines, more than 800")]);
    assert_eq!(with(file("bundle/core.yaml", "kind: A\n".repeat(5000))), []);
}

#[test]
fn a_module_that_does_not_say_what_it_is_is_refused() {
    for text in ["", "use std::fs;\n", "// A comment.\n", "#![forbid(unsafe_code)]\n//! Late.\n", "//!\n"] {
        assert_eq!(with(file("src/a.rs", text)).len(), 1, "{text:?}");
    }
}

#[test]
fn reference_data_is_named_by_continuous_integration_only() {
    let text = format!("first\nsee {OUTSIDE}/x\n");
    let found = with(file("docs/a.txt", text.clone()));
    assert_eq!(found, [error("docs/a.txt", "line 2 names ../shared, which lies outside the repository")]);
    for allowed in ["ci/a.txt", ".ci/run", ".github/workflows/ci.yml"] {
        assert_eq!(with(file(allowed, text.clone())), []);
    }
}

#[test]
fn a_licence_is_required() {
    let found = findings(&[file("Cargo.toml", MANIFEST)], RUSTC);
    assert_eq!(found, [error("LICENSE", "is missing or is not the Apache License")]);
}

#[test]
fn the_promised_compiler_is_the_one_in_use() {
    let check = |rustc: &str| toolchain(&file("Cargo.toml", MANIFEST), rustc).map(|finding| finding.is_error);
    assert_eq!(check(RUSTC), None);
    assert_eq!(check("rustc 1.94.1 (abc 2026-03-01)"), Some(true));
    assert_eq!(check("rustc 1.96.0-nightly (abc 2026-05-01)"), Some(false), "a newer one is only reported");
    assert_eq!(check(""), Some(true));
    assert!(toolchain(&file("Cargo.toml", "[workspace]\n"), RUSTC).is_some_and(|finding| finding.is_error));
}

#[test]
fn a_crate_with_rules_of_its_own_is_refused() {
    assert_eq!(with(file("a/Cargo.toml", MANIFEST)), []);
    let own = MANIFEST.replace("edition.workspace = true", "edition = \"2021\"");
    assert_eq!(with(file("a/Cargo.toml", own)), [error("a/Cargo.toml", "lacks `edition.workspace = true`")]);
    let unlinted = MANIFEST.replace("[lints]\nworkspace = true\n", "");
    assert_eq!(
        with(file("a/Cargo.toml", unlinted)),
        [error("a/Cargo.toml", "lacks `[lints] workspace = true`")]
    );
}
