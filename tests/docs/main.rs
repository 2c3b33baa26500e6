//! The documentation: pages that are made from the code are as the code says, commands in the others do what is shown, and
//! links lead somewhere.
//!
//! `UPDATE_DOCS=1 cargo test -p knative-operator --test docs` writes the pages that are made from the code.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod commands;
mod links;
mod pages;

use std::path::{Path, PathBuf};

/// The repository.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every page for people: in the root, in `docs`, and of each crate.
fn all_pages() -> Vec<PathBuf> {
    let mut pages = Vec::new();
    for directory in ["", "docs", "deploy", "fake-apiserver", "scenarios", "bench"] {
        let Ok(entries) = std::fs::read_dir(root().join(directory)) else { continue };
        let files = entries.map(|entry| entry.unwrap().path());
        pages.extend(files.filter(|path| path.extension().is_some_and(|extension| extension == "md")));
    }
    pages.sort();
    pages
}
