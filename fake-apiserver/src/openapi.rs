//! OpenAPI v3, as much of it as clients ask for: which kinds have which paths, and that writes take
//! `fieldValidation` (without that kubectl refuses to send anything). Schemas name the top of each kind only.

use http::{HeaderValue, Response, header};
use serde_json::{Map, Value, json};

use crate::registry::{Registry, Resource, Version};
use crate::response::{Accept, ResponseBody, encode, plain, respond};

const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

/// Query parameters of every write.
const WRITE: [&str; 3] = ["dryRun", "fieldManager", "fieldValidation"];

/// `/openapi/v3`: where the document of each group and version is. The hash changes with the document.
pub(crate) fn index(registry: &Registry) -> Response<ResponseBody> {
    let mut paths = Map::new();
    for resource in registry.all() {
        for version in served(resource) {
            let root = root(version);
            if !paths.contains_key(&root) {
                let hash = hash(&document_of(registry, &root));
                let url = format!("/openapi/v3/{root}?hash={hash:016X}");
                paths.insert(root, json!({ "serverRelativeURL": url }));
            }
        }
    }
    let mut response = respond(200, encode(&json!({ "paths": paths })), Accept::default());
    // So the real server says.
    let plain_text = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, plain_text);
    response
}

/// `/openapi/v3/ROOT`, for instance `apis/apps/v1`.
pub(crate) fn document(registry: &Registry, root: &str) -> Response<ResponseBody> {
    let document = document_of(registry, root);
    let unknown = document["paths"].as_object().is_none_or(Map::is_empty);
    if unknown { plain(404, "") } else { respond(200, encode(&document), Accept::default()) }
}

fn document_of(registry: &Registry, wanted: &str) -> Value {
    let (mut paths, mut schemas) = (Map::new(), Map::new());
    schemas.insert(META.into(), json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true }));
    for resource in registry.all() {
        for version in served(resource).filter(|version| root(version) == wanted) {
            let kind = json!({ "group": resource.group, "version": version.name, "kind": resource.kind });
            let place = if resource.namespaced { "namespaces/{namespace}/" } else { "" };
            let collection = format!("/{wanted}/{place}{}", resource.plural);
            paths.insert(collection.clone(), json!({ "post": operation("post", &kind, &WRITE) }));
            if !resource.traits.virtual_resource {
                let item = json!({
                    "get": operation("get", &kind, &[]),
                    "put": operation("put", &kind, &WRITE),
                    "patch": operation("patch", &kind, &["dryRun", "fieldManager", "fieldValidation", "force"]),
                    "delete": operation("delete", &kind, &["dryRun", "propagationPolicy"]),
                });
                paths.insert(format!("{collection}/{{name}}"), item);
            }
            schemas.insert(schema_name(resource, version), schema(resource, version, &kind));
        }
    }
    json!({
        "openapi": "3.0.0",
        "info": { "title": "Kubernetes", "version": "v1.36.0" },
        "paths": paths,
        "components": { "schemas": schemas },
    })
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

fn schema(resource: &Resource, version: &Version, kind: &Value) -> Value {
    let mut properties = json!({
        "apiVersion": { "type": "string" },
        "kind": { "type": "string" },
        "metadata": { "allOf": [{ "$ref": format!("#/components/schemas/{META}") }] },
    });
    let open = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    if resource.traits.generation || resource.traits.custom {
        properties["spec"] = open.clone();
    }
    if version.has("status") {
        properties["status"] = open;
    }
    json!({
        "type": "object",
        "description": format!("{} of {}.", resource.kind, version.api_version),
        "properties": properties,
        "x-kubernetes-group-version-kind": [kind],
        "x-kubernetes-preserve-unknown-fields": true,
    })
}

fn served(resource: &Resource) -> impl Iterator<Item = &Version> {
    resource.versions.iter().filter(|version| version.served)
}

/// `api/v1`, `apis/apps/v1`.
fn root(version: &Version) -> String {
    let prefix = if version.api_version.contains('/') { "apis" } else { "api" };
    format!("{prefix}/{}", version.api_version)
}

/// The group backwards, as in `com.example.v1.Thing`; built-in ones as the real server names them.
fn schema_name(resource: &Resource, version: &Version) -> String {
    if resource.traits.custom {
        let group: Vec<&str> = resource.group.rsplit('.').collect();
        return format!("{}.{}.{}", group.join("."), version.name, resource.kind);
    }
    let group = resource.group.split('.').next().filter(|group| !group.is_empty()).unwrap_or("core");
    format!("io.k8s.api.{group}.{}.{}", version.name, resource.kind)
}

/// FNV-1a, 64 bit.
fn hash(document: &Value) -> u64 {
    encode(document).iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
