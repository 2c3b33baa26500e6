//! A cluster in a file: every object as it was stored, with UIDs and versions. Tokens, history and scripts are not
//! kept: whoever watched before has to list again.

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ServeError;
use crate::FakeApiServer;
use crate::controllers::crd;
use crate::storage::object_key;

/// The version of the file format.
pub(super) const FORMAT: u64 = 1;

const DEFINITIONS: &str = "customresourcedefinitions.apiextensions.k8s.io";

#[derive(Serialize, Deserialize)]
struct Saved {
    #[serde(rename = "fakeApiserverFormat")]
    format: u64,
    revision: u64,
    objects: Vec<Entry>,
}

#[derive(Serialize, Deserialize)]
struct Entry {
    resource: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    namespace: String,
    name: String,
    object: Value,
}

/// Writes every object to a file, which appears whole or not at all.
///
/// # Errors
/// When the file cannot be written.
pub async fn save(cluster: &FakeApiServer, path: &Path) -> Result<(), ServeError> {
    let snapshot = cluster.snapshot();
    let objects = snapshot.objects().map(|object| Entry {
        resource: object.resource.to_owned(),
        namespace: object.namespace.to_owned(),
        name: object.name.to_owned(),
        object: (**object.value).clone(),
    });
    let saved = Saved { format: FORMAT, revision: snapshot.revision(), objects: objects.collect() };
    let text = serde_json::to_vec(&saved).expect("JSON values with string keys encode into memory");
    let failed = |source| ServeError::Write { path: path.to_owned(), source };
    let mut beside = path.as_os_str().to_owned();
    beside.push(".partial");
    tokio::fs::write(&beside, text).await.map_err(failed)?;
    tokio::fs::rename(&beside, path).await.map_err(failed)
}

/// Replaces everything in a cluster by what a file holds. Meant for a new cluster: open watches do not notice.
///
/// # Errors
/// When the file cannot be read or is no saved cluster; then the cluster is as it was.
pub async fn restore(cluster: &FakeApiServer, path: &Path) -> Result<usize, ServeError> {
    let failed = |source| ServeError::Read { path: path.to_owned(), source };
    let bytes = tokio::fs::read(path).await.map_err(failed)?;
    let wrong = |source| ServeError::Saved { path: path.to_owned(), source };
    let saved: Saved = serde_json::from_slice(&bytes).map_err(wrong)?;
    if saved.format != FORMAT {
        return Err(ServeError::SavedFormat { path: path.to_owned(), found: saved.format });
    }
    let count = saved.objects.len();
    let definitions: Vec<String> = saved
        .objects
        .iter()
        .filter(|entry| entry.resource == DEFINITIONS)
        .map(|entry| entry.name.clone())
        .collect();
    let objects = saved
        .objects
        .into_iter()
        .map(|entry| (entry.resource.into(), object_key(&entry.namespace, &entry.name), entry.object));
    let now = cluster.now();
    let mut state = cluster.lock();
    state.storage.restore(objects, saved.revision);
    definitions.iter().for_each(|name| crd::settle(&mut state, name, now));
    drop(state);
    cluster.wake_controllers();
    Ok(count)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn thing_definition() -> Value {
        json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": { "name": "things.example.com" },
            "spec": {
                "group": "example.com", "scope": "Cluster",
                "names": { "plural": "things", "kind": "Thing" },
                "versions": [{
                    "name": "v1", "served": true, "storage": true,
                    "schema": { "openAPIV3Schema": { "type": "object" } },
                }],
            },
        })
    }

    #[tokio::test]
    async fn a_restored_cluster_holds_the_same_objects_and_goes_on_counting() {
        let bare = || FakeApiServer::builder().controllers(crate::Controllers::none()).build();
        let before = bare();
        before.create(thing_definition()).unwrap();
        let thing = json!({ "apiVersion": "example.com/v1", "kind": "Thing", "metadata": { "name": "a" } });
        before.create(thing).unwrap();
        let file = std::env::temp_dir().join(format!("fake-apiserver-save-{}.json", std::process::id()));
        save(&before, &file).await.unwrap();
        let after = bare();
        let restored = restore(&after, &file).await;
        std::fs::remove_file(&file).unwrap();
        assert_eq!(restored.unwrap(), before.snapshot().len());
        let all = |cluster: &FakeApiServer| -> Vec<Value> {
            cluster.snapshot().objects().map(|object| (**object.value).clone()).collect()
        };
        assert_eq!(all(&after), all(&before));
        assert_eq!(after.revision(), before.revision());
        let next = json!({ "apiVersion": "example.com/v1", "kind": "Thing", "metadata": { "name": "b" } });
        after.create(next).unwrap();
        assert_eq!(after.revision(), before.revision() + 1);
    }
}
