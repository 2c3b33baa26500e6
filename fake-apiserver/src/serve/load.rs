//! Files of manifests, applied to a cluster as its administrator.

use std::path::Path;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full};
use serde_json::Value;
use tower::ServiceExt;

use super::ServeError;
use crate::{FakeApiServer, User};

/// Field manager of what is loaded.
const MANAGER: &str = "fake-apiserver-load";

/// Bytes of values that aliases of one file may repeat.
const MAX_EVENTS: usize = 10_000_000;

/// Applies (server-side) the documents of a YAML or JSON file in order; items of a `List` count as documents. The
/// number of objects is the answer. A definition is served at once, so its resources may follow in the same file.
///
/// # Errors
/// When the file cannot be read or the cluster refuses an object; what came before stays.
pub async fn load(cluster: &FakeApiServer, path: &Path) -> Result<usize, ServeError> {
    let failed = |source| ServeError::Read { path: path.to_owned(), source };
    let bytes = tokio::fs::read(path).await.map_err(failed)?;
    let mut count = 0;
    for object in documents(&bytes).map_err(|source| ServeError::Yaml { path: path.to_owned(), source })? {
        apply(cluster, &object).await.map_err(|message| ServeError::Refused {
            path: path.to_owned(),
            object: describe(&object),
            message,
        })?;
        count += 1;
    }
    Ok(count)
}

/// The objects of a file, without empty documents.
fn documents(bytes: &[u8]) -> Result<Vec<Value>, Box<serde_saphyr::Error>> {
    let options = serde_saphyr::options! {
        strict_booleans: true,
        // What a file holds may be secret.
        with_snippet: false,
        budget: serde_saphyr::budget! { max_events: MAX_EVENTS, max_nodes: MAX_EVENTS },
    };
    let documents: Vec<Value> = serde_saphyr::from_slice_multiple_with_options(bytes, options)?;
    let mut objects = Vec::new();
    for mut document in documents {
        let is_list = document["kind"].as_str().is_some_and(|kind| kind.ends_with("List"));
        match document.get_mut("items").map(Value::take) {
            Some(Value::Array(items)) if is_list => objects.extend(items),
            _ if document.is_null() => {}
            Some(items) => {
                document["items"] = items;
                objects.push(document);
            }
            None => objects.push(document),
        }
    }
    Ok(objects)
}

async fn apply(cluster: &FakeApiServer, object: &Value) -> Result<(), String> {
    let path = path_of(cluster, object)?;
    let request = Request::patch(format!("{path}?fieldManager={MANAGER}&force=true"))
        .header(http::header::CONTENT_TYPE, "application/apply-patch+yaml")
        .body(Full::new(Bytes::from(object.to_string())))
        .map_err(|error| error.to_string())?;
    let service = cluster.service_as(User::admin());
    let response = service.oneshot(request).await.map_err(|error| error.to_string())?;
    if response.status().is_success() {
        return Ok(());
    }
    let code = response.status();
    let body = response.into_body().collect().await.map_err(|error| error.to_string())?.to_bytes();
    let status: Value = serde_json::from_slice(&body).unwrap_or_default();
    Err(status["message"].as_str().map_or_else(|| code.to_string(), str::to_owned))
}

/// The path of an object; namespaced ones without a namespace go to `default`.
fn path_of(cluster: &FakeApiServer, object: &Value) -> Result<String, String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (api_version, kind) = (text(&object["apiVersion"]), text(&object["kind"]));
    let name = text(&object["metadata"]["name"]);
    if name.is_empty() {
        return Err("it has no metadata.name".into());
    }
    let (group, version) = api_version.split_once('/').unwrap_or(("", &api_version));
    let resource = cluster.lock().registry.by_kind(group, &kind).cloned();
    let resource = resource.ok_or_else(|| format!("the cluster has no {kind} in \"{group}\""))?;
    let root = if group.is_empty() { "/api".to_owned() } else { format!("/apis/{group}") };
    let place = match (resource.namespaced, text(&object["metadata"]["namespace"])) {
        (false, _) => String::new(),
        (true, namespace) if namespace.is_empty() => "namespaces/default/".to_owned(),
        (true, namespace) => format!("namespaces/{namespace}/"),
    };
    Ok(format!("{root}/{version}/{place}{}/{}", resource.plural, escaped(&name)))
}

/// A name as one segment of a path: names of roles may hold colons and more.
fn escaped(name: &str) -> String {
    let mut out = String::new();
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b':' => {
                out.push(char::from(byte));
            }
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

fn describe(object: &Value) -> String {
    let kind = object["kind"].as_str().unwrap_or("object without a kind");
    let name = object["metadata"]["name"].as_str().unwrap_or("?");
    match object["metadata"]["namespace"].as_str() {
        Some(namespace) => format!("{kind} {namespace}/{name}"),
        None => format!("{kind} {name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_taken_apart_and_empty_documents_skipped() {
        let text = b"---\n# nothing\n---\nkind: ConfigMapList\nitems: [{kind: ConfigMap}, {kind: Secret}]\n---\nkind: Pod\n";
        let kinds: Vec<Value> =
            documents(text).unwrap().iter().map(|object| object["kind"].clone()).collect();
        assert_eq!(kinds, ["ConfigMap", "Secret", "Pod"]);
    }

    #[tokio::test]
    async fn a_definition_may_be_followed_by_its_resources() {
        let cluster = FakeApiServer::builder().build();
        let file = std::env::temp_dir().join(format!("fake-apiserver-load-{}.yaml", std::process::id()));
        let text = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: things.example.com }
spec:
  group: example.com
  scope: Namespaced
  names: { plural: things, kind: Thing }
  versions: [{ name: v1, served: true, storage: true, schema: { openAPIV3Schema: { type: object } } }]
---
apiVersion: example.com/v1
kind: Thing
metadata: { name: one }
";
        std::fs::write(&file, text).unwrap();
        let loaded = load(&cluster, &file).await;
        std::fs::remove_file(&file).unwrap();
        assert_eq!(loaded.unwrap(), 2);
        assert!(cluster.get("example.com", "Thing", "default", "one").is_some());
    }

    #[tokio::test]
    async fn what_the_cluster_does_not_know_is_refused_by_name() {
        let cluster = FakeApiServer::builder().build();
        let object = serde_json::json!({ "apiVersion": "x.io/v1", "kind": "X", "metadata": { "name": "x" } });
        assert_eq!(apply(&cluster, &object).await, Err("the cluster has no X in \"x.io\"".into()));
    }
}
