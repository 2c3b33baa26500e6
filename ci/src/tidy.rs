//! The rules of the repository that no compiler checks, as a pure function of its files.
//!
//! Warnings are printed and do not fail; errors do. Formatting and lints are not looked at: other steps do that.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// Lines from which a file is looked at.
const LONG: usize = 500;
/// Lines that no file may exceed.
const TOO_LONG: usize = 800;
/// Directories that are not ours to check.
const SKIPPED: [&str; 2] = [".git", "target"];
/// Reference data lies outside the repository and may be absent: only the steps that pass it on may name it.
const OUTSIDE: &str = "../shared";
/// Who may name it.
const MAY_NAME_OUTSIDE: [&str; 3] = ["ci/", ".ci/", ".github/workflows/"];

/// A file of the repository.
struct File {
    /// Relative to the root, with `/`.
    path: String,
    text: String,
}

/// What is wrong with a file.
#[derive(Debug, PartialEq, Eq)]
struct Finding {
    path: String,
    message: String,
    is_error: bool,
}

/// Checks the repository at `root` and prints what it finds.
///
/// # Errors
/// If a rule is broken, or a file cannot be read.
#[expect(clippy::print_stdout, reason = "findings are this step's output")]
pub(crate) fn check(root: &Path) -> Result<()> {
    let mut files = Vec::new();
    read_tree(root, root, &mut files)?;
    let rustc = Command::new("rustc").arg("--version").output().context("cannot start rustc")?;
    let findings = findings(&files, &String::from_utf8_lossy(&rustc.stdout));
    for finding in &findings {
        let severity = if finding.is_error { "error" } else { "warning" };
        println!("{severity}: {}: {}", finding.path, finding.message);
    }
    let errors = findings.iter().filter(|finding| finding.is_error).count();
    ensure!(errors == 0, "broken rules of the repository: {errors}");
    println!("{} files are tidy", files.len());
    Ok(())
}

/// Reads every text file below `directory`, in the order of the names.
fn read_tree(root: &Path, directory: &Path, files: &mut Vec<File>) -> Result<()> {
    let entries = fs::read_dir(directory).with_context(|| format!("cannot list {}", directory.display()))?;
    let mut entries = entries.collect::<Result<Vec<_>, _>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        let kind = entry.file_type()?;
        if kind.is_dir() && !SKIPPED.iter().any(|skipped| entry.file_name() == *skipped) {
            read_tree(root, &path, files)?;
        } else if kind.is_file() {
            let bytes = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
            let relative = path.strip_prefix(root)?.to_string_lossy().replace('\\', "/");
            // What is no UTF-8 is no text, and no rule of ours is about it.
            files.extend(String::from_utf8(bytes).ok().map(|text| File { path: relative, text }));
        }
    }
    Ok(())
}

fn findings(files: &[File], rustc: &str) -> Vec<Finding> {
    let mut found: Vec<Finding> =
        files.iter().flat_map(|file| [length(file), opening(file), outside(file)]).flatten().collect();
    if !files.iter().any(|file| file.path == "LICENSE" && file.text.contains("Apache License")) {
        found.push(error("LICENSE", "is missing or is not the Apache License"));
    }
    match files.iter().find(|file| file.path == "Cargo.toml") {
        Some(workspace) => found.extend(toolchain(workspace, rustc)),
        None => found.push(error("Cargo.toml", "is missing")),
    }
    found.extend(files.iter().filter_map(inheritance));
    found
}

fn error(path: &str, message: impl Into<String>) -> Finding {
    Finding { path: path.into(), message: message.into(), is_error: true }
}

fn warning(path: &str, message: impl Into<String>) -> Finding {
    Finding { is_error: false, ..error(path, message) }
}

/// Code and prose stay short; data does not have to.
fn length(file: &File) -> Option<Finding> {
    if ![".rs", ".md", ".sh", ".toml"].iter().any(|extension| file.path.ends_with(extension)) {
        return None;
    }
    match file.text.lines().count() {
        lines if lines > TOO_LONG => {
            Some(error(&file.path, format!("has {lines} lines, more than {TOO_LONG}")))
        }
        lines if lines >= LONG => Some(warning(&file.path, format!("has {lines} lines; is it one idea?"))),
        _ => None,
    }
}

/// A module says what it is before anything else.
fn opening(file: &File) -> Option<Finding> {
    let silent = file.path.ends_with(".rs") && !file.text.starts_with("//! ");
    silent.then(|| error(&file.path, "does not start with a `//!` line that says what it is"))
}

fn outside(file: &File) -> Option<Finding> {
    let may = MAY_NAME_OUTSIDE.iter().any(|directory| file.path.starts_with(directory));
    let line = file.text.lines().position(|line| line.contains(OUTSIDE)).filter(|_| !may)?;
    Some(error(&file.path, format!("line {} names {OUTSIDE}, which lies outside the repository", line + 1)))
}

/// An older compiler than promised cannot have checked the promise; a newer one has not.
fn toolchain(workspace: &File, rustc: &str) -> Option<Finding> {
    let promised = workspace.text.lines().find_map(|line| line.strip_prefix("rust-version = "));
    let Some(promised) = promised.and_then(|text| version(text.trim_matches('"'))) else {
        return Some(error(&workspace.path, "has no rust-version"));
    };
    let used = rustc.split_whitespace().nth(1).and_then(version);
    let message = |used: (u32, u32)| {
        format!("rust-version is {}.{}, rustc is {}.{}", promised.0, promised.1, used.0, used.1)
    };
    match used {
        None => Some(error(&workspace.path, format!("cannot tell the version of `{}`", rustc.trim()))),
        Some(used) if used < promised => Some(error(&workspace.path, message(used))),
        Some(used) if used > promised => Some(warning(&workspace.path, message(used))),
        Some(_) => None,
    }
}

/// Major and minor.
fn version(text: &str) -> Option<(u32, u32)> {
    let mut parts = text.split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

/// Crates take edition, licence, compiler and lints from the workspace, so that these cannot differ.
fn inheritance(file: &File) -> Option<Finding> {
    if !file.path.ends_with("Cargo.toml") {
        return None;
    }
    let wanted = ["edition.workspace = true", "license.workspace = true", "rust-version.workspace = true"];
    let missing = wanted.into_iter().find(|line| !file.text.lines().any(|found| found == *line));
    let missing = missing
        .or_else(|| (!file.text.contains("[lints]\nworkspace = true")).then_some("[lints] workspace = true"));
    missing.map(|line| error(&file.path, format!("lacks `{line}`")))
}

#[cfg(test)]
mod tests;
