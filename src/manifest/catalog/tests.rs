//! Choosing and loading releases.

use std::collections::BTreeMap;

use async_trait::async_trait;
use bytes::Bytes;
use serde_json::{Value, json};

use super::*;
use crate::source::Entry;

/// Files by path.
struct Files(BTreeMap<&'static str, String>);

/// One URL, whose content changes every other time it is read.
#[derive(Default)]
struct Changing(std::sync::atomic::AtomicUsize);

#[async_trait]
impl Source for Changing {
    async fn list(&self, directory: &str) -> Result<Vec<Entry>, SourceError> {
        Err(SourceError::NotFound { location: directory.into() })
    }

    async fn read(&self, _: &str) -> Result<Bytes, SourceError> {
        let reads = self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Ok(config_map(&format!("read-{}", reads / 2), "1.23.0").into())
    }
}

#[async_trait]
impl Source for Files {
    async fn list(&self, directory: &str) -> Result<Vec<Entry>, SourceError> {
        let below = |path: &&str| path.strip_prefix(directory)?.strip_prefix('/').map(str::to_owned);
        let mut entries: Vec<_> = self
            .0
            .keys()
            .filter_map(below)
            .map(|rest| match rest.split_once('/') {
                Some((name, _)) => Entry { name: name.into(), is_dir: true },
                None => Entry { name: rest, is_dir: false },
            })
            .collect();
        entries.dedup();
        match entries.is_empty() {
            true => Err(SourceError::NotFound { location: directory.into() }),
            false => Ok(entries),
        }
    }

    async fn read(&self, location: &str) -> Result<Bytes, SourceError> {
        let found = self.0.get(location).cloned().map(Bytes::from);
        found.ok_or_else(|| SourceError::NotFound { location: location.into() })
    }
}

fn config_map(name: &str, version: &str) -> String {
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n  labels: {{app.kubernetes.io/version: \"{version}\"}}\n---\n"
    )
}

fn catalog() -> Catalog {
    let files = [
        ("/d/knative-serving/1.23.0/1-a.yaml", config_map("a", "1.23.0")),
        ("/d/knative-serving/1.23.0/2-b.yaml", config_map("b", "v1.23.0")),
        ("/d/knative-serving/1.22.1/1-a.yaml", config_map("a", "1.22.1")),
        ("/d/ingress/1.23/kourier/kourier.yaml", config_map("kourier", "1.23.0")),
        ("/d/ingress/1.23/contour/net-contour.yaml", config_map("contour", "1.23.0")),
        ("/d/security-guard/0.6/guard.yaml", config_map("guard", "0.6")),
        ("https://h/1.22/a.yaml", config_map("own", "1.22.0")),
        ("https://h/one.yaml", config_map("one", "2.1.0")),
        ("https://h/two.yaml", config_map("two", "2.1.0")),
        ("https://h/empty.yaml", "---\n".into()),
    ];
    Catalog::new(Arc::new(Files(files.into_iter().collect())), "/d")
}

async fn release(spec: Value) -> Result<Release, ManifestError> {
    let component = Component::from_value(&json!({
        "apiVersion": "operator.knative.dev/v1beta1", "kind": "KnativeServing",
        "metadata": {"name": "ks", "namespace": "ns"}, "spec": spec,
    }));
    catalog().release(&component.unwrap()).await
}

fn names(release: &Release) -> Vec<&str> {
    release.parts.iter().flat_map(|part| part.objects.iter()).map(Object::name).collect()
}

#[tokio::test]
async fn core_ingress_and_additional_manifests_are_loaded_and_recorded() {
    let spec = json!({
        "ingress": {"kourier": {"enabled": true}, "contour": {"enabled": true}},
        "additionalManifests": [{"URL": "https://h/one.yaml"}, {"URL": "https://h/two.yaml"}],
    });
    let release = release(spec).await.unwrap();
    assert_eq!(release.target_version, "1.23.0");
    assert_eq!(
        release.sources,
        [
            "/d/knative-serving/1.23.0",
            "https://h/one.yaml,https://h/two.yaml",
            "/d/ingress/1.23/contour,/d/ingress/1.23/kourier"
        ]
    );
    assert_eq!(names(&release), ["a", "b", "contour", "kourier", "one", "two"]);
}

#[tokio::test]
async fn w13_the_guard_is_loaded_and_recorded_too() {
    let spec = json!({"ingress": {}, "security": {"securityGuard": {"enabled": true}}});
    let release = release(spec).await.unwrap();
    assert_eq!(release.sources, ["/d/knative-serving/1.23.0", "/d/security-guard/0.6"]);
}

#[tokio::test]
async fn w53_a_missing_ingress_is_tolerated_with_own_manifests_and_not_recorded() {
    let spec = json!({"version": "1.22", "manifests": [{"URL": "https://h/${VERSION}/a.yaml"}]});
    let release = release(spec).await.unwrap();
    assert_eq!((release.target_version.as_str(), names(&release)), ("1.22", vec!["own"]));
    assert_eq!(release.sources, ["https://h/1.22/a.yaml"]);
}

#[tokio::test]
async fn a_missing_ingress_of_a_bundled_release_is_an_error_that_names_it() {
    let error =
        release(json!({"version": "1.22.1", "ingress": {"kourier": {"enabled": true}}})).await.unwrap_err();
    assert_eq!(error.to_string(), "cannot load the manifests at /d/ingress/1.22/kourier");
}

#[tokio::test]
async fn an_unknown_release_is_named_and_keeps_the_cause() {
    let error = release(json!({"version": "1.22.9"})).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the manifests of the target version 1.22.9 are not available to this release"
    );
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert!(cause.contains("/d/knative-serving/1.22.9"), "{cause}");
}

#[tokio::test]
async fn w29_a_failing_additional_manifest_is_blamed_itself_and_its_labels_are_its_own() {
    let error =
        release(json!({"ingress": {}, "additionalManifests": [{"URL": "https://h/gone.yaml"}]})).await;
    assert_eq!(error.unwrap_err().to_string(), "cannot load the manifests at https://h/gone.yaml");
    assert!(
        release(json!({"ingress": {}, "additionalManifests": [{"URL": "https://h/one.yaml"}]})).await.is_ok()
    );
}

#[tokio::test]
async fn core_objects_of_another_release_are_refused() {
    let spec = json!({"version": "1.24.0", "manifests": [{"URL": "https://h/1.22/a.yaml"}]});
    assert_eq!(
        release(spec).await.unwrap_err().to_string(),
        "the version of the manifests v1.22.0 of the component own does not match the target version of the operator CR v1.24.0"
    );
}

#[tokio::test]
async fn a_manifest_without_objects_is_an_error() {
    let spec = json!({"version": "1.24.0", "manifests": [{"URL": "https://h/empty.yaml"}]});
    assert_eq!(
        release(spec).await.unwrap_err().to_string(),
        "there is no resource available in the target manifests https://h/empty.yaml"
    );
}

#[tokio::test]
async fn no_guard_goes_with_an_unknown_release() {
    let catalog = Catalog::new(
        Arc::new(Files([("knative-serving/1.30.0/a.yaml", config_map("a", "1.30.0"))].into_iter().collect())),
        "",
    );
    let component = Component::from_value(&json!({
        "apiVersion": "operator.knative.dev/v1beta1", "kind": "KnativeServing", "metadata": {},
        "spec": {"ingress": {}, "security": {"securityGuard": {"enabled": true}}},
    }));
    let error = catalog.release(&component.unwrap()).await.unwrap_err();
    assert!(
        error.to_string().starts_with("the current version of Knative Serving is 1.30. You need"),
        "{error}"
    );
}

#[tokio::test]
async fn w26_a_data_root_without_releases_is_an_error() {
    let catalog = Catalog::new(Arc::new(Files(BTreeMap::new())), "/none");
    let error = catalog.releases(ComponentKind::Eventing).await.unwrap_err();
    assert_eq!(error.to_string(), "unable to find any version number under the path /none/knative-eventing");
}

#[tokio::test]
async fn a_release_is_parsed_once_and_shared() {
    let catalog = catalog();
    let first = catalog.bundled("/d/knative-serving/1.23.0").await.unwrap();
    let second = catalog.bundled("/d/knative-serving/1.23.0").await.unwrap();
    assert!(Arc::ptr_eq(&first, &second));
    catalog.forget().await;
    assert!(!Arc::ptr_eq(&first, &catalog.bundled("/d/knative-serving/1.23.0").await.unwrap()));
}

#[tokio::test]
async fn catalogs_with_one_library_parse_a_release_once() {
    let library = Library::default();
    let (first, second) = (catalog().with_library(library.clone()), catalog().with_library(library));
    let path = "/d/knative-serving/1.23.0";
    let parsed = first.bundled(path).await.unwrap();
    assert!(Arc::ptr_eq(&parsed, &second.bundled(path).await.unwrap()));
    assert!(!Arc::ptr_eq(&parsed, &catalog().bundled(path).await.unwrap()), "others have their own");
}

#[tokio::test]
async fn w25_a_url_is_parsed_again_only_when_its_bytes_changed() {
    let catalog = Catalog::new(Arc::new(Changing::default()), "/d");
    let urls = [ManifestUrl { url: "https://h/a.yaml".into() }];
    let mut objects = Vec::new();
    for _ in 0..3 {
        objects.push(catalog.given(&urls, "1.23.0").await.unwrap().objects.remove(0));
    }
    assert!(Arc::ptr_eq(&objects[0], &objects[1]));
    assert_eq!((objects[0][0].name(), objects[2][0].name()), ("read-0", "read-1"));
}

/// A URL that gives what it is told.
#[derive(Default)]
struct Told(parking_lot::Mutex<Option<&'static str>>);

#[async_trait]
impl Source for Told {
    async fn list(&self, directory: &str) -> Result<Vec<Entry>, SourceError> {
        Err(SourceError::NotFound { location: directory.into() })
    }

    async fn read(&self, location: &str) -> Result<Bytes, SourceError> {
        let content = self.0.lock().map(|content| Bytes::from_static(content.as_bytes()));
        content.ok_or_else(|| SourceError::NotFound { location: shown(location) })
    }
}

#[tokio::test]
async fn w25_the_last_good_copy_of_a_url_stays_in_force_and_the_release_says_why() {
    let told = Arc::new(Told::default());
    let catalog = catalog().with_given(told.clone());
    let component = Component::from_value(&json!({
        "apiVersion": "operator.knative.dev/v1beta1", "kind": "KnativeServing", "metadata": {},
        "spec": {"ingress": {}, "additionalManifests": [{"URL": "https://ann:hush@h/${VERSION}.yaml"}]},
    }))
    .unwrap();
    assert!(catalog.release(&component).await.is_err(), "there is no good copy yet");
    *told.0.lock() = Some("{apiVersion: v1, kind: ConfigMap, metadata: {name: good}}");
    let good = catalog.release(&component).await.unwrap();
    assert!(good.stale.is_empty() && names(&good) == ["a", "b", "good"]);
    for (content, why) in [(None, "no such file"), (Some("kind: ["), "cannot parse")] {
        *told.0.lock() = content;
        let last = catalog.release(&component).await.unwrap();
        assert_eq!(last.parts, good.parts);
        let said = last.stale.join("");
        assert!(said.contains("https://h/1.23.0.yaml") && said.contains(why), "{said}");
    }
    assert_eq!(good.sources[1], "https://h/1.23.0.yaml", "credentials are not recorded");
}
