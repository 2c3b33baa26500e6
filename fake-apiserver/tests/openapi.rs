//! The documents that tell clients about kinds and their fields.
#![allow(clippy::unwrap_used, reason = "a test may stop at what it does not expect")]

mod common;

use common::{cluster, send};
use serde_json::{Value, json};

async fn document(cluster: &fake_apiserver::FakeApiServer, path: &str) -> Value {
    let answer = send(cluster, "GET", path, None).await;
    assert_eq!(answer.code, 200, "{path}: {}", answer.text);
    serde_json::from_str(&answer.text).unwrap()
}

fn things(fields: &Value) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "things.example.com" },
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": { "plural": "things", "kind": "Thing" },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": {
                "type": "object", "properties": { "spec": { "type": "object", "properties": fields } },
            } } }],
        },
    })
}

#[tokio::test]
async fn every_path_of_the_index_leads_to_a_document() {
    let cluster = cluster();
    let index = document(&cluster, "/openapi/v3").await;
    let paths = index["paths"].as_object().unwrap();
    assert!(paths.len() > 15 && paths.contains_key("version") && paths.contains_key("apis/apps/v1"));
    for entry in paths.values() {
        let url = entry["serverRelativeURL"].as_str().unwrap();
        assert_eq!(document(&cluster, url).await["openapi"], "3.0.0", "{url}");
    }
    let absent = send(&cluster, "GET", "/openapi/v3/apis/none.example.com/v1", None).await;
    assert_eq!((absent.code, absent.text.as_str()), (404, ""));
}

#[tokio::test]
async fn built_in_kinds_have_fields_keys_and_required_members() {
    let schemas = document(&cluster(), "/openapi/v3/apis/apps/v1").await["components"]["schemas"].take();
    let spec = &schemas["io.k8s.api.apps.v1.DeploymentSpec"];
    assert_eq!(spec["required"], json!(["selector", "template"]));
    assert_eq!(spec["properties"]["replicas"], json!({ "type": "integer", "format": "int32" }));
    let containers = &schemas["io.k8s.api.core.v1.PodSpec"]["properties"]["containers"];
    assert_eq!(containers["x-kubernetes-list-map-keys"], json!(["name"]));
    assert_eq!(containers["x-kubernetes-patch-merge-key"], "name");
}

#[tokio::test]
async fn a_definition_appears_in_full_and_a_change_of_it_changes_the_hash() {
    let cluster = cluster();
    let url = async || {
        let index = document(&cluster, "/openapi/v3").await;
        index["paths"]["apis/example.com/v1"]["serverRelativeURL"].as_str().unwrap_or_default().to_owned()
    };
    assert_eq!(url().await, "");
    cluster.create(things(&json!({ "a": { "type": "string", "description": "the first" } }))).unwrap();
    cluster.settle();
    let before = url().await;
    let schema = document(&cluster, &before).await["components"]["schemas"]["com.example.v1.Thing"].take();
    assert_eq!(schema["properties"]["spec"]["properties"]["a"]["description"], "the first");
    assert_eq!(schema["x-kubernetes-group-version-kind"][0]["kind"], "Thing");
    assert!(schema["properties"]["metadata"].is_object());
    cluster.replace(things(&json!({ "b": { "type": "string" } }))).unwrap();
    cluster.settle();
    assert_ne!(url().await, before);
    let definitions = document(&cluster, "/openapi/v2").await["definitions"].take();
    assert!(definitions["com.example.v1.Thing"]["properties"]["spec"]["properties"]["b"].is_object());
    assert_eq!(
        definitions["io.k8s.api.core.v1.ConfigMap"]["properties"]["binaryData"]["additionalProperties"]["format"],
        "byte"
    );
}
