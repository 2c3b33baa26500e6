//! Discovery documents, version and health: everything outside resources. Generated from the registry at each
//! request, so custom resources appear at once.

use http::{Method, Response};
use serde_json::{Value, json};

use crate::openapi;
use crate::registry::{Registry, Resource};
use crate::response::{Accept, Representation, ResponseBody, encode, plain, respond};

/// Answers a path that names no resource, if it is one of ours.
pub(crate) fn answer(
    registry: &Registry,
    kubernetes: &str,
    method: &Method,
    path: &str,
    accept: Accept,
) -> Option<Response<ResponseBody>> {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let document = match parts.as_slice() {
        ["healthz" | "livez" | "readyz"] | ["healthz" | "livez" | "readyz", "ping" | "etcd" | "log"] => {
            return Some(plain(200, "ok"));
        }
        _ if method != Method::GET && method != Method::HEAD => return None,
        ["api"] | ["apis"] if accept.representation == Representation::Discovery => {
            return Some(aggregated(registry, parts.first() == Some(&"api"), accept));
        }
        ["openapi", "v2"] => return Some(openapi::v2(registry)),
        ["openapi", "v3"] => return Some(openapi::index(registry)),
        ["openapi", "v3", root @ ..] => return Some(openapi::document(registry, &root.join("/"))),
        ["version"] => version(kubernetes),
        [] => json!({ "paths": ["/api", "/api/v1", "/apis", "/healthz", "/livez", "/readyz", "/version"] }),
        ["api"] => json!({
            "kind": "APIVersions",
            "versions": ["v1"],
            "serverAddressByClientCIDRs": [{ "clientCIDR": "0.0.0.0/0", "serverAddress": "10.0.0.1:6443" }],
        }),
        ["api", "v1"] => resources(registry, "", "v1")?,
        ["apis"] => {
            let groups: Vec<Value> =
                groups(registry).iter().map(|group| api_group(registry, group)).collect();
            json!({ "kind": "APIGroupList", "apiVersion": "v1", "groups": groups })
        }
        ["apis", group] if groups(registry).iter().any(|known| known == group) => {
            let mut document = api_group(registry, group);
            document["kind"] = json!("APIGroup");
            document["apiVersion"] = json!("v1");
            document
        }
        ["apis", group, version] => resources(registry, group, version)?,
        _ => return None,
    };
    Some(respond(200, encode(&document), accept))
}

/// Everything in one document (KEP-3352).
fn aggregated(registry: &Registry, core: bool, accept: Accept) -> Response<ResponseBody> {
    let names = if core { vec![String::new()] } else { groups(registry) };
    let items: Vec<Value> = names.iter().map(|group| aggregated_group(registry, group)).collect();
    let document = json!({
        "kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items,
    });
    let mut response = respond(200, encode(&document), accept);
    let content_type = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    response.headers_mut().insert(http::header::CONTENT_TYPE, http::HeaderValue::from_static(content_type));
    response
}

fn aggregated_group(registry: &Registry, group: &str) -> Value {
    let versions: Vec<Value> = version_names(registry, group)
        .into_iter()
        .map(|version| {
            let served = registry.all().filter(|resource| resource.group == group).filter_map(|resource| {
                let served = resource.versions.iter().find(|v| v.served && v.name == version)?;
                Some(aggregated_resource(resource, &served.subresources))
            });
            json!({ "version": version, "freshness": "Current", "resources": served.collect::<Vec<_>>() })
        })
        .collect();
    let metadata = if group.is_empty() { json!({}) } else { json!({ "name": group }) };
    json!({ "metadata": metadata, "versions": versions })
}

fn aggregated_resource(resource: &Resource, subresources: &[String]) -> Value {
    let mut document = json!({
        "resource": resource.plural,
        "responseKind": { "group": "", "version": "", "kind": resource.kind },
        "scope": if resource.namespaced { "Namespaced" } else { "Cluster" },
        "singularResource": resource.singular,
        "verbs": resource.verbs(),
    });
    if !resource.short_names.is_empty() {
        document["shortNames"] = json!(resource.short_names);
    }
    if !resource.categories.is_empty() {
        document["categories"] = json!(resource.categories);
    }
    let parts: Vec<Value> = subresources
        .iter()
        .map(|name| {
            let entry = subresource_entry(resource, name);
            let text = |field: &str| entry[field].as_str().unwrap_or_default();
            json!({
                "subresource": name,
                "responseKind": { "group": text("group"), "version": text("version"), "kind": entry["kind"] },
                "verbs": entry["verbs"],
            })
        })
        .collect();
    if !parts.is_empty() {
        document["subresources"] = json!(parts);
    }
    document
}

fn version(kubernetes: &str) -> Value {
    let mut numbers = kubernetes.trim_start_matches('v').split('.');
    let (major, minor) = (numbers.next().unwrap_or_default(), numbers.next().unwrap_or_default());
    json!({
        "major": major,
        "minor": minor,
        "gitVersion": format!("{kubernetes}+fake"),
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "none",
        "compiler": "rustc",
        "platform": "linux/amd64",
    })
}

/// The named groups, built-in ones first, each once.
fn groups(registry: &Registry) -> Vec<String> {
    let mut groups: Vec<String> = Vec::new();
    for resource in registry.all().filter(|resource| !resource.group.is_empty()) {
        if !groups.contains(&resource.group) {
            groups.push(resource.group.clone());
        }
    }
    groups
}

/// The served versions of a group, preferred first.
fn version_names<'a>(registry: &'a Registry, group: &str) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for resource in registry.all().filter(|resource| resource.group == group) {
        for version in resource.versions.iter().filter(|version| version.served) {
            if !names.contains(&version.name.as_str()) {
                names.push(&version.name);
            }
        }
    }
    names
}

fn api_group(registry: &Registry, group: &str) -> Value {
    let names = version_names(registry, group);
    let entry = |name: &&str| json!({ "groupVersion": format!("{group}/{name}"), "version": name });
    let versions: Vec<Value> = names.iter().map(entry).collect();
    json!({ "name": group, "preferredVersion": versions.first(), "versions": versions })
}

fn resources(registry: &Registry, group: &str, version: &str) -> Option<Value> {
    let mut list: Vec<Value> = Vec::new();
    for resource in registry.all().filter(|resource| resource.group == group) {
        let Some(served) = resource.versions.iter().find(|v| v.served && v.name == version) else { continue };
        list.push(entry(resource));
        for subresource in &served.subresources {
            list.push(subresource_entry(resource, subresource));
        }
    }
    if list.is_empty() {
        return None;
    }
    let group_version = if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
    let mut document = json!({ "kind": "APIResourceList", "groupVersion": group_version, "resources": list });
    if !group.is_empty() {
        document["apiVersion"] = json!("v1");
    }
    Some(document)
}

fn entry(resource: &Resource) -> Value {
    let mut entry = json!({
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": resource.verbs(),
    });
    if !resource.short_names.is_empty() {
        entry["shortNames"] = json!(resource.short_names);
    }
    if !resource.categories.is_empty() {
        entry["categories"] = json!(resource.categories);
    }
    if !resource.traits.virtual_resource && !resource.traits.read_only {
        entry["storageVersionHash"] = json!(storage_version_hash(resource));
    }
    entry
}

/// The kind of the options in the query of a connection.
fn connection_options(subresource: &str) -> &'static str {
    match subresource {
        "attach" => "PodAttachOptions",
        "exec" => "PodExecOptions",
        _ => "PodPortForwardOptions",
    }
}

fn subresource_entry(resource: &Resource, subresource: &str) -> Value {
    let (kind, origin, verbs): (&str, Option<(&str, &str)>, &[&str]) = match subresource {
        "scale" => ("Scale", Some(("autoscaling", "v1")), &["get", "patch", "update"]),
        "eviction" => ("Eviction", Some(("policy", "v1")), &["create"]),
        "token" => ("TokenRequest", Some(("authentication.k8s.io", "v1")), &["create"]),
        "binding" => ("Binding", None, &["create"]),
        "log" => (&resource.kind, None, &["get"]),
        "attach" | "exec" | "portforward" => (connection_options(subresource), None, &["create", "get"]),
        "finalize" => (&resource.kind, None, &["update"]),
        _ => (&resource.kind, None, &["get", "patch", "update"]),
    };
    let mut entry = json!({
        "name": format!("{}/{subresource}", resource.plural),
        "singularName": "",
        "namespaced": resource.namespaced,
        "kind": kind,
        "verbs": verbs,
    });
    if let Some((group, version)) = origin {
        entry["group"] = json!(group);
        entry["version"] = json!(version);
    }
    entry
}

/// A hash that tells clients when the stored version changes: the start of the SHA-256 of group, version and kind, as in
/// `k8s.io/apiserver/pkg/endpoints/discovery`.
fn storage_version_hash(resource: &Resource) -> String {
    use base64::Engine;
    use sha2::Digest;
    // Definitions are still stored as they were before they became stable.
    let definitions = resource.is("customresourcedefinitions.apiextensions.k8s.io");
    let version = if definitions { "v1beta1" } else { resource.stored_version().name.as_str() };
    let text = format!("{}/{version}/{}", resource.group, resource.kind);
    let hash = sha2::Sha256::digest(text);
    base64::engine::general_purpose::STANDARD.encode(&hash[..8])
}
