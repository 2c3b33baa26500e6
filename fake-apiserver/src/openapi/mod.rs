//! OpenAPI documents: v3 by group and version, and v2 as one.
//!
//! What clients look for in them: which kind a path is of, that writes take `fieldValidation` (kubectl refuses to send
//! anything otherwise), the fields of a kind (`kubectl explain`), how its lists merge (`kubectl apply`), and the schemas of
//! custom resources. Nothing here describes a field in words but what a CustomResourceDefinition says.

mod paths;
mod schemas;

use std::collections::BTreeSet;

use http::{HeaderValue, Response, header};
use serde_json::{Map, Value, json};

use self::schemas::{Edition, Schemas};
use crate::registry::{Registry, Resource, Version};
use crate::response::{Accept, ResponseBody, encode, plain, respond};

/// `/openapi/v3`: where the document of each group and version is. The hash changes with the document.
pub(crate) fn index(registry: &Registry) -> Response<ResponseBody> {
    let roots: BTreeSet<String> =
        registry.all().flat_map(|resource| served(resource).map(root)).chain(["version".into()]).collect();
    let paths: Map<String, Value> = roots
        .into_iter()
        .map(|root| {
            let url = format!("/openapi/v3/{root}?hash={:016X}", fingerprint(registry, &root));
            (root, json!({ "serverRelativeURL": url }))
        })
        .collect();
    let mut response = respond(200, encode(&json!({ "paths": paths })), Accept::default());
    // So the real server says.
    let plain_text = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, plain_text);
    response
}

/// `/openapi/v3/ROOT`, for instance `apis/apps/v1`.
pub(crate) fn document(registry: &Registry, root: &str) -> Response<ResponseBody> {
    let (paths, schemas) = match root {
        "version" => (paths::of_version(), Map::new()),
        _ => of_group(registry, root),
    };
    if paths.is_empty() {
        // Without a word, and without saying of what kind.
        let mut nothing = plain(404, "");
        nothing.headers_mut().remove(header::CONTENT_TYPE);
        return nothing;
    }
    let document = json!({
        "openapi": "3.0.0",
        "info": info(),
        "paths": paths,
        "components": { "schemas": schemas },
    });
    respond(200, encode(&document), Accept::default())
}

/// `/openapi/v2`: the definitions of all kinds.
pub(crate) fn v2(registry: &Registry) -> Response<ResponseBody> {
    let mut schemas = Schemas::new(Edition::V2);
    for resource in registry.all() {
        served(resource).for_each(|version| schemas.add_kind(resource, version));
    }
    let document = json!({ "swagger": "2.0", "info": info(), "paths": {}, "definitions": schemas.finish() });
    respond(200, encode(&document), Accept::default())
}

fn info() -> Value {
    json!({ "title": "Kubernetes", "version": "v1.36.0" })
}

fn of_group(registry: &Registry, wanted: &str) -> (Map<String, Value>, Map<String, Value>) {
    let (mut paths, mut schemas) = (Map::new(), Schemas::new(Edition::V3));
    for resource in registry.all() {
        for version in served(resource).filter(|version| root(version) == wanted) {
            paths::add(&mut paths, resource, version, wanted);
            schemas.add_kind(resource, version);
        }
    }
    (paths, schemas.finish())
}

fn served(resource: &Resource) -> impl Iterator<Item = &Version> {
    resource.versions.iter().filter(|version| version.served)
}

/// `api/v1`, `apis/apps/v1`.
fn root(version: &Version) -> String {
    let prefix = if version.api_version.contains('/') { "apis" } else { "api" };
    format!("{prefix}/{}", version.api_version)
}

/// Changes whenever a document does: built-in ones never do, the others with the schemas of their definitions.
/// FNV-1a, 64 bit.
fn fingerprint(registry: &Registry, wanted: &str) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut mix = |bytes: &[u8]| {
        for byte in bytes {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    };
    mix(wanted.as_bytes());
    for resource in registry.all().filter(|resource| resource.traits.custom) {
        for version in served(resource).filter(|version| root(version) == wanted) {
            mix(resource.kind.as_bytes());
            mix(&version.openapi.as_deref().map(encode).unwrap_or_default());
        }
    }
    hash
}
