//! `bundles verify`: whether a data root holds what its `SHA256SUMS` says, and releases that can be used.

use std::collections::BTreeSet;
use std::path::Path;

use super::sums::{self, Sums, digest};
use crate::api::message::chain;
use crate::manifest::parse_yaml;

/// What is wrong in a data root, a line each; empty when nothing is. Also how many files were looked at.
pub(super) fn problems(root: &Path) -> (usize, Vec<String>) {
    let mut problems = Vec::new();
    let mut files = BTreeSet::new();
    manifests(root, "", &mut files, &mut problems);
    let sums = match std::fs::read(root.join(sums::NAME)) {
        Ok(bytes) => Sums::parse(&bytes).unwrap_or_else(|error| {
            problems.push(format!("{}: {error}", sums::NAME));
            Sums::default()
        }),
        Err(error) => {
            problems.push(format!("{}: {error}", sums::NAME));
            Sums::default()
        }
    };
    let listed: BTreeSet<String> = sums.0.keys().cloned().collect();
    problems.extend(listed.difference(&files).map(|path| format!("{path}: listed but not there")));
    for path in &files {
        let bytes = match std::fs::read(root.join(path)) {
            Ok(bytes) => bytes,
            Err(error) => {
                problems.push(format!("{path}: {error}"));
                continue;
            }
        };
        match sums.0.get(path) {
            None => problems.push(format!("{path}: not listed in {}", sums::NAME)),
            Some(wanted) if digest(&bytes) != *wanted => {
                problems.push(format!("{path}: its SHA-256 is {}, not {wanted}", digest(&bytes)));
            }
            Some(_) => {}
        }
        problems.extend(content(&bytes).map(|problem| format!("{path}: {problem}")));
    }
    (files.len(), problems)
}

/// What is wrong with a manifest.
fn content(bytes: &[u8]) -> Option<String> {
    let objects = match parse_yaml(bytes) {
        Ok(objects) => objects,
        Err(error) => return Some(chain(&error)),
    };
    let mut seen = BTreeSet::new();
    // Objects with generated names are told apart by the server.
    let mut named = objects.iter().filter(|object| !object.name().is_empty());
    let twice = named.find(|object| !seen.insert(object.key()));
    match twice {
        Some(object) => Some(format!("{} is in it twice", object.key())),
        None if objects.is_empty() => Some("there is no object in it".into()),
        None => None,
    }
}

/// The YAML files below a directory, as paths relative to the root.
fn manifests(root: &Path, below: &str, files: &mut BTreeSet<String>, problems: &mut Vec<String>) {
    let entries = match std::fs::read_dir(root.join(below)) {
        Ok(entries) => entries,
        Err(error) => {
            return problems
                .push(format!("{}: {error}", if below.is_empty() { "the data root" } else { below }));
        }
    };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if below.is_empty() { name.clone() } else { format!("{below}/{name}") };
        if name.starts_with('.') {
            continue;
        }
        if entry.path().is_dir() {
            manifests(root, &path, files, problems);
        } else if path.ends_with(".yaml") || path.ends_with(".yml") {
            files.insert(path);
        }
    }
}
