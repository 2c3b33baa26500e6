//! The paths of a group and version, with what can be sent to each.

use serde_json::{Map, Value, json};

use crate::registry::{Resource, Version};

/// Query parameters of every write.
const WRITE: [&str; 3] = ["dryRun", "fieldManager", "fieldValidation"];

/// Body of every patch.
const PATCH: &str = "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.Patch";

/// The paths of one kind below `/ROOT`.
pub(super) fn add(paths: &mut Map<String, Value>, resource: &Resource, version: &Version, root: &str) {
    let kind = json!({ "group": resource.group, "version": version.name, "kind": resource.kind });
    let place = if resource.namespaced { "namespaces/{namespace}/" } else { "" };
    let collection = format!("/{root}/{place}{}", resource.plural);
    let mut all = json!({ "post": operation("post", &kind, &WRITE) });
    if !resource.traits.virtual_resource {
        all["get"] =
            operation("list", &kind, &["labelSelector", "fieldSelector", "limit", "continue", "watch"]);
        let mut patch = operation("patch", &kind, &["dryRun", "fieldManager", "fieldValidation", "force"]);
        patch["requestBody"] = json!({ "required": true, "content": patch_bodies(resource) });
        let item = json!({
            "get": operation("get", &kind, &[]),
            "put": operation("put", &kind, &WRITE),
            "patch": patch,
            "delete": operation("delete", &kind, &["dryRun", "gracePeriodSeconds", "propagationPolicy"]),
        });
        paths.insert(format!("{collection}/{{name}}"), item);
    }
    paths.insert(collection, all);
}

/// The document of `/version` has this one path.
pub(super) fn of_version() -> Map<String, Value> {
    let get = json!({ "get": { "responses": { "200": { "description": "OK" } } } });
    Map::from_iter([("/version/".to_owned(), get)])
}

fn operation(action: &str, kind: &Value, parameters: &[&str]) -> Value {
    let parameter = |name: &&str| json!({ "name": name, "in": "query", "schema": { "type": "string" } });
    json!({
        "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind": kind,
        "parameters": parameters.iter().map(parameter).collect::<Vec<_>>(),
        "responses": { "200": { "description": "OK" } },
    })
}

fn patch_bodies(resource: &Resource) -> Value {
    let mut types =
        vec!["application/apply-patch+yaml", "application/json-patch+json", "application/merge-patch+json"];
    if !resource.traits.custom {
        types.push("application/strategic-merge-patch+json");
    }
    types
        .into_iter()
        .map(|name| (name.to_owned(), json!({ "schema": { "$ref": PATCH } })))
        .collect::<Map<_, _>>()
        .into()
}
