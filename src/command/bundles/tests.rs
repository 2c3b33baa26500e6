//! Fetching from a mirror in memory, and looking over what came of it. What the network does is the fetcher's matter.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use parking_lot::Mutex;

use super::fetch::{Fetch, FetchError, Fetched};
use super::sums::{NAME, Sums, digest};
use super::verify::problems;
use crate::source::{Entry, Source, SourceError};

const FROM: &str = "https://mirror.example/releases";
const CORE: &str = "knative-serving/1.23.0/2-core.yaml";
const CRDS: &str = "knative-serving/1.23.0/1-crds.yaml";
const EVENTING: &str = "knative-eventing/1.23.0/1-core.yaml";

fn manifest(name: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\n")
}

/// A mirror; tells what was asked for. Like the real source it refuses content of another digest than the URL's.
struct Mirror {
    files: BTreeMap<String, String>,
    asked: Mutex<Vec<String>>,
}

impl Mirror {
    fn new() -> Self {
        let mut files: BTreeMap<String, String> =
            [CORE, CRDS, EVENTING].map(|path| (path.to_owned(), manifest("a"))).into();
        let sums = files.iter().map(|(path, text)| (path.clone(), digest(text.as_bytes()))).collect();
        files.insert(NAME.into(), Sums(sums).format());
        Self { files, asked: Mutex::default() }
    }
}

#[async_trait]
impl Source for Mirror {
    async fn list(&self, directory: &str) -> Result<Vec<Entry>, SourceError> {
        Err(SourceError::NotFound { location: directory.into() })
    }

    async fn read(&self, location: &str) -> Result<Bytes, SourceError> {
        let (url, wanted) = location.split_once("#sha256=").unwrap_or((location, ""));
        let path = url.strip_prefix(FROM).unwrap().trim_start_matches('/');
        self.asked.lock().push(path.into());
        let text = self.files.get(path).ok_or(SourceError::NotFound { location: url.into() })?;
        if !wanted.is_empty() && digest(text.as_bytes()) != wanted {
            let cause = Arc::new(std::io::Error::other("another digest"));
            return Err(SourceError::Unreadable { location: url.into(), cause });
        }
        Ok(text.clone().into())
    }
}

struct Root(PathBuf);

impl Root {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("operator-bundles-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Self(path)
    }

    fn read(&self, path: &str) -> Option<String> {
        std::fs::read_to_string(self.0.join(path)).ok()
    }
}

impl Drop for Root {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

async fn fetch(mirror: &Mirror, root: &Path, only: &[&str]) -> Result<Fetched, FetchError> {
    let only: Vec<String> = only.iter().map(|name| (*name).to_owned()).collect();
    Fetch { from: FROM, root, only: &only, list_digest: None }.run(mirror, &mut Vec::new()).await
}

#[tokio::test]
async fn what_is_fetched_is_sound_and_not_fetched_again() {
    let (mirror, root) = (Mirror::new(), Root::new("again"));
    assert_eq!(fetch(&mirror, &root.0, &[]).await.unwrap(), Fetched { downloaded: 3, present: 0 });
    assert_eq!(problems(&root.0), (3, Vec::new()));
    std::fs::remove_file(root.0.join(CORE)).unwrap();
    std::fs::write(root.0.join(CRDS), "half a fi").unwrap();
    mirror.asked.lock().clear();
    assert_eq!(fetch(&mirror, &root.0, &[]).await.unwrap(), Fetched { downloaded: 2, present: 1 });
    assert_eq!(*mirror.asked.lock(), [NAME, CRDS, CORE]);
    assert_eq!(problems(&root.0), (3, Vec::new()));
}

#[tokio::test]
async fn parts_are_fetched_by_name_and_the_list_grows_with_them() {
    let (mirror, root) = (Mirror::new(), Root::new("parts"));
    assert_eq!(fetch(&mirror, &root.0, &["knative-eventing"]).await.unwrap().downloaded, 1);
    assert_eq!(problems(&root.0), (1, Vec::new()));
    assert_eq!(fetch(&mirror, &root.0, &["knative-serving/1.23.0/"]).await.unwrap().downloaded, 2);
    assert_eq!(problems(&root.0), (3, Vec::new()));
    let unknown = fetch(&mirror, &root.0, &["knative-serving/1.2"]).await.unwrap_err();
    assert!(unknown.to_string().ends_with("lists nothing below knative-serving/1.2"), "{unknown}");
}

#[tokio::test]
async fn a_file_of_another_digest_is_not_kept_and_the_others_are() {
    let (mut mirror, root) = (Mirror::new(), Root::new("forged"));
    mirror.files.insert(CORE.into(), manifest("forged"));
    let error = fetch(&mirror, &root.0, &[]).await.unwrap_err();
    assert_eq!(error.to_string(), format!("cannot download {FROM}/{CORE}"));
    assert_eq!(root.read(CORE), None);
    assert_eq!(root.read(EVENTING), Some(manifest("a")));
}

#[tokio::test]
async fn the_list_itself_can_be_pinned() {
    let (mirror, root) = (Mirror::new(), Root::new("pinned"));
    let pinned = async |wanted: &str| {
        let task = Fetch { from: FROM, root: &root.0, only: &[], list_digest: Some(wanted) };
        task.run(&mirror, &mut Vec::new()).await
    };
    assert!(matches!(pinned(&digest(b"another")).await, Err(FetchError::ListDigest { .. })));
    assert!(!root.0.exists());
    assert_eq!(pinned(&digest(mirror.files[NAME].as_bytes())).await.unwrap().downloaded, 3);
}

#[tokio::test]
async fn everything_that_is_wrong_in_a_data_root_is_said() {
    let (mirror, root) = (Mirror::new(), Root::new("wrong"));
    fetch(&mirror, &root.0, &[]).await.unwrap();
    std::fs::remove_file(root.0.join(CORE)).unwrap();
    std::fs::write(root.0.join(CRDS), manifest("a") + "---\n" + &manifest("a")).unwrap();
    std::fs::write(root.0.join("knative-serving/1.23.0/9-more.yaml"), "[").unwrap();
    let (files, found) = problems(&root.0);
    assert_eq!(files, 3);
    let has = |words: &str| found.iter().any(|problem| problem.contains(words));
    assert!(has(&format!("{CORE}: listed but not there")), "{found:?}");
    assert!(has(&format!("{CRDS}: its SHA-256 is")) && has("ConfigMap a is in it twice"), "{found:?}");
    assert!(has("9-more.yaml: not listed") && found.len() >= 5, "{found:?}");
    let (_, empty) = problems(Path::new("/nonexistent"));
    assert_eq!(empty.len(), 2, "{empty:?}");
}
