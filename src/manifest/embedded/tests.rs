//! The table is complete, the releases are coherent and would pass a real API server, and every trait that makes
//! release data hard is still in them.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::*;
use crate::manifest::Object;

mod traits;
mod typed;

const OLD: &str = "1.22.0";
const NEW: &str = "1.23.0";

/// Options under which scalars mean what they mean to kubectl: `0444` is octal, `on` is a string.
fn parse(path: &str, text: &str) -> Vec<Object> {
    let options = serde_saphyr::options! { strict_booleans: true, legacy_octal_numbers: true };
    let documents: Vec<Value> =
        serde_saphyr::from_multiple_with_options(text, options).unwrap_or_else(|e| panic!("{path}: {e}"));
    documents.into_iter().map(|document| Object::try_from(document).expect(path)).collect()
}

/// The objects of a directory, in order.
fn objects(directory: &str) -> Vec<Object> {
    let found: Vec<Object> = FILES
        .iter()
        .filter(|(path, _)| below(path, directory).is_some())
        .flat_map(|(path, text)| parse(path, text))
        .collect();
    assert!(!found.is_empty(), "nothing in {directory}");
    found
}

/// Everything that one release of Serving and one of Eventing can install.
fn releases(version: &str) -> [Vec<Object>; 2] {
    let minor = version.rsplit_once('.').expect("three parts").0;
    [("knative-serving", "ingress"), ("knative-eventing", "eventing-source")].map(|(core, additions)| {
        let mut found = objects(&format!("{core}/{version}"));
        found.extend(objects(&format!("{additions}/{minor}")));
        if core == "knative-serving" {
            found.extend(objects("security-guard"));
        }
        found
    })
}

fn every_release() -> impl Iterator<Item = Vec<Object>> {
    [OLD, NEW].into_iter().flat_map(releases)
}

fn files_on_disk(directory: &Path, into: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).expect("bundle directory is readable") {
        let path = entry.expect("entry").path();
        if path.is_dir() {
            files_on_disk(&path, into);
        } else {
            into.push(path);
        }
    }
}

#[test]
fn the_table_lists_every_file_of_the_directory_in_order() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/manifest/bundle");
    let mut on_disk = Vec::new();
    files_on_disk(&root, &mut on_disk);
    let mut on_disk: Vec<String> = on_disk
        .iter()
        .map(|path| path.strip_prefix(&root).expect("below the root").to_string_lossy().replace('\\', "/"))
        .collect();
    on_disk.sort_unstable();
    let table: Vec<&str> = FILES.iter().map(|(path, _)| *path).collect();
    assert_eq!(table, on_disk);
}

#[tokio::test]
async fn directories_list_their_entries_sorted_and_marked() {
    let names = |entries: Vec<Entry>| entries.into_iter().map(|e| (e.name, e.is_dir)).collect::<Vec<_>>();
    let dirs = |names: &[&str]| names.iter().map(|n| ((*n).to_owned(), true)).collect::<Vec<_>>();
    let root = names(Embedded.list("").await.expect("root"));
    let packages = ["eventing-source", "ingress", "knative-eventing", "knative-serving", "security-guard"];
    assert_eq!(root, dirs(&packages));
    assert_eq!(names(Embedded.list("knative-serving").await.expect("versions")), dirs(&[OLD, NEW]));
    let plugins = ["contour", "gateway-api", "istio", "kourier"];
    assert_eq!(names(Embedded.list("/ingress/1.23/").await.expect("plugins")), dirs(&plugins));
    let files = names(Embedded.list("knative-serving/1.23.0").await.expect("files"));
    assert_eq!(files.len(), 4);
    assert_eq!(files[0], ("1-serving-crds.yaml".to_owned(), false));
}

#[tokio::test]
async fn every_listed_file_can_be_read() {
    for (path, text) in FILES {
        assert_eq!(Embedded.read(path).await.expect(path), text.as_bytes(), "{path}");
    }
}

#[tokio::test]
async fn what_is_not_there_is_not_found() {
    for missing in ["knative-servin", "knative-serving/1.22", "ingress/1.23/nginx", "https://example.org/a"] {
        let error = Embedded.list(missing).await.expect_err(missing);
        assert_eq!(error.to_string(), format!("{missing}: no such file or directory"));
        assert!(matches!(Embedded.read(missing).await, Err(SourceError::NotFound { .. })), "{missing}");
    }
    assert!(Embedded.read("knative-serving").await.is_err(), "a directory has no bytes");
    assert!(
        Embedded.list("knative-serving/1.23.0/1-serving-crds.yaml").await.is_err(),
        "a file has no entries"
    );
}

#[test]
fn the_bundle_stays_small() {
    let bytes: usize = FILES.iter().map(|(_, text)| text.len()).sum();
    assert!(bytes < 200 * 1024, "{bytes} bytes");
}
