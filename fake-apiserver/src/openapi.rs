//! OpenAPI, as much of it as clients ask for: the schemas of all kinds, which kinds have which paths, and that writes
//! take `fieldValidation` (without that kubectl refuses to send anything).
//!
//! Documents of built-in groups never change and are made once, when somebody asks; those of custom resources are made
//! for each request.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use bytes::Bytes;
use http::{HeaderValue, Response, header};
use serde_json::{Map, Value, json};

use crate::registry::{Registry, Resource, Version};
use crate::response::{Accept, ResponseBody, empty, encode, respond};
use crate::schema::builtin::openapi::{Dialect, Schemas, meta_name, name};
use crate::schema::builtin::table::Types;

/// Query parameters of every write.
const WRITE: [&str; 3] = ["dryRun", "fieldManager", "fieldValidation"];

/// A document as it is sent, and a hash that changes with it.
struct Document {
    text: Bytes,
    hash: u64,
}

impl Document {
    fn new(document: &Value) -> Self {
        let text = Bytes::from(encode(document));
        Self { hash: hash(&text), text }
    }
}

/// The documents of the built-in groups and of `/version`, by root.
fn built_in() -> &'static BTreeMap<String, Document> {
    static DOCUMENTS: LazyLock<BTreeMap<String, Document>> = LazyLock::new(|| {
        let registry = Registry::default();
        let mut documents = BTreeMap::new();
        for root in roots(&registry) {
            let document = Document::new(&document_of(&registry, &root));
            documents.insert(root, document);
        }
        let version = json!({ "get": { "responses": { "200": { "description": "OK" } } } });
        let version = framed(json!({ "/version/": version }), Map::new());
        documents.insert("version".into(), Document::new(&version));
        documents
    });
    &DOCUMENTS
}

/// `/openapi/v3`: where the document of each group and version is. The hash changes with the document.
pub(crate) fn index(registry: &Registry) -> Response<ResponseBody> {
    let mut paths = Map::new();
    let mut add = |root: &str, hash: u64| {
        let url = format!("/openapi/v3/{root}?hash={hash:016X}");
        paths.insert(root.to_owned(), json!({ "serverRelativeURL": url }));
    };
    for (root, document) in built_in() {
        add(root, document.hash);
    }
    for root in roots(registry).into_iter().filter(|root| !built_in().contains_key(root)) {
        add(&root, hash(&encode(&document_of(registry, &root))));
    }
    let mut response = respond(200, encode(&json!({ "paths": paths })), Accept::default());
    // So the real server says.
    let plain_text = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, plain_text);
    response
}

/// `/openapi/v3/ROOT`, for instance `apis/apps/v1`.
pub(crate) fn document(registry: &Registry, root: &str) -> Response<ResponseBody> {
    if let Some(document) = built_in().get(root) {
        return respond(200, document.text.to_vec(), Accept::default());
    }
    let document = document_of(registry, root);
    let unknown = document["paths"].as_object().is_none_or(Map::is_empty);
    if unknown { empty(404) } else { respond(200, encode(&document), Accept::default()) }
}

/// `/openapi/v2`: the schemas of everything, without paths.
pub(crate) fn swagger(registry: &Registry) -> Response<ResponseBody> {
    let mut schemas = Schemas::new(Dialect::Two);
    for resource in registry.all() {
        for version in served(resource) {
            add_schemas(&mut schemas, Dialect::Two, resource, version);
        }
    }
    let document = json!({
        "swagger": "2.0",
        "info": { "title": "Kubernetes", "version": "v1.36.0" },
        "paths": {},
        "definitions": schemas.finish(),
    });
    respond(200, encode(&document), Accept::default())
}

fn roots(registry: &Registry) -> std::collections::BTreeSet<String> {
    registry.all().flat_map(|resource| served(resource).map(root)).collect()
}

fn document_of(registry: &Registry, wanted: &str) -> Value {
    let mut paths = Map::new();
    let mut schemas = Schemas::new(Dialect::Three);
    for resource in registry.all() {
        for version in served(resource).filter(|version| root(version) == wanted) {
            add_paths(&mut paths, wanted, resource, version);
            add_schemas(&mut schemas, Dialect::Three, resource, version);
        }
    }
    framed(Value::Object(paths), schemas.finish())
}

fn framed(paths: Value, schemas: Map<String, Value>) -> Value {
    json!({
        "openapi": "3.0.0",
        "info": { "title": "Kubernetes", "version": "v1.36.0" },
        "paths": paths,
        "components": { "schemas": schemas },
    })
}

fn add_paths(paths: &mut Map<String, Value>, root: &str, resource: &Resource, version: &Version) {
    let kind = json!({ "group": resource.group, "version": version.name, "kind": resource.kind });
    let place = if resource.namespaced { "namespaces/{namespace}/" } else { "" };
    let collection = format!("/{root}/{place}{}", resource.plural);
    let body = Dialect::Three.reference(&schema_name(resource, version));
    let body = json!({ "content": { "*/*": { "schema": body["allOf"][0] } }, "required": true });
    let write = |action: &str| {
        let mut operation = operation(action, &kind, &WRITE);
        operation["requestBody"] = body.clone();
        operation
    };
    if resource.traits.virtual_resource {
        paths.insert(collection, json!({ "post": write("post") }));
        return;
    }
    let mut patch = operation("patch", &kind, &["dryRun", "fieldManager", "fieldValidation", "force"]);
    let mut media =
        vec!["application/apply-patch+yaml", "application/json-patch+json", "application/merge-patch+json"];
    if !resource.traits.custom {
        media.push("application/strategic-merge-patch+json");
    }
    let reference = &Dialect::Three.reference(&meta_name("Patch"))["allOf"][0];
    let content: Map<String, Value> =
        media.into_iter().map(|media| (media.to_owned(), json!({ "schema": reference }))).collect();
    patch["requestBody"] = json!({ "content": content, "required": true });
    let get = operation("get", &kind, &[]);
    let item = json!({
        "get": get,
        "put": write("put"),
        "patch": patch,
        "delete": operation("delete", &kind, &["dryRun", "propagationPolicy"]),
    });
    let list = operation("list", &kind, &["labelSelector", "fieldSelector", "limit", "continue", "watch"]);
    paths.insert(collection.clone(), json!({ "get": list, "post": write("post") }));
    if version.has("status") {
        let status = json!({ "get": get, "put": write("put"), "patch": item["patch"] });
        paths.insert(format!("{collection}/{{name}}/status"), status);
    }
    paths.insert(format!("{collection}/{{name}}"), item);
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

/// Adds the kind, its list and what goes through its subresources.
fn add_schemas(schemas: &mut Schemas, dialect: Dialect, resource: &Resource, version: &Version) {
    let kind = |kind: &str| json!([{ "group": resource.group, "version": version.name, "kind": kind }]);
    let own = schema_name(resource, version);
    match version.built_in {
        Some(of) => schemas.add(of),
        None => schemas.insert(own.clone(), custom_schema(dialect, version, kind(&resource.kind))),
    }
    let below = [
        ("scale", "autoscaling/v1", "Scale"),
        ("eviction", "policy/v1", "Eviction"),
        ("token", "authentication.k8s.io/v1", "TokenRequest"),
    ];
    for (subresource, api_version, kind) in below {
        if let Some(of) = Types::get().kind(api_version, kind).filter(|_| version.has(subresource)) {
            schemas.add(of);
        }
    }
    if resource.traits.virtual_resource {
        return;
    }
    let list = json!({
        "type": "object",
        "properties": {
            "apiVersion": { "type": "string" },
            "kind": { "type": "string" },
            "items": { "type": "array", "items": dialect.reference(&own) },
            "metadata": dialect.reference(&meta_name("ListMeta")),
        },
        "required": ["items"],
        "x-kubernetes-group-version-kind": kind(&resource.list_kind),
    });
    let prefix = own.strip_suffix(resource.kind.as_str()).unwrap_or_default();
    schemas.insert(format!("{prefix}{}", resource.list_kind), list);
}

/// What a definition says of its objects, with what is true of all objects.
fn custom_schema(dialect: Dialect, version: &Version, kind: Value) -> Value {
    let open = || json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    let mut schema = version.published.as_deref().cloned().unwrap_or_else(open);
    schema["properties"]["apiVersion"] = json!({ "type": "string" });
    schema["properties"]["kind"] = json!({ "type": "string" });
    schema["properties"]["metadata"] = dialect.reference(&meta_name("ObjectMeta"));
    schema["x-kubernetes-group-version-kind"] = kind;
    schema
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
    version.built_in.map_or_else(
        || {
            let group: Vec<&str> = resource.group.rsplit('.').collect();
            format!("{}.{}.{}", group.join("."), version.name, resource.kind)
        },
        name,
    )
}

/// FNV-1a, 64 bit.
fn hash(text: &[u8]) -> u64 {
    text.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
