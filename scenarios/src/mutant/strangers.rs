//! Operators that lay hands on what is not theirs.

use std::collections::BTreeMap;
use std::sync::Arc;

use http::{HeaderValue, Method, header};
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::Mutant;
use crate::wire::{Letter, Meddler};

pub(super) const MUTANTS: &[Mutant] = &[
    Mutant {
        name: "deletes-strangers",
        family: "strangers",
        what: "deletes other people's ConfigMaps in the namespace",
        make: || Arc::new(Deletes),
    },
    Mutant {
        name: "overwrites-strangers",
        family: "strangers",
        what: "applies its roles under other people's names too",
        make: || Arc::new(Overwrites),
    },
    Mutant {
        name: "deletes-namespaces",
        family: "strangers",
        what: "deletes the namespace of an installation with everything in it",
        make: || Arc::new(DeletesNamespaces::default()),
    },
    Mutant {
        name: "rips-finalizers",
        family: "strangers",
        what: "takes the finalizers of others off what it deletes",
        make: || Arc::new(Rips::default()),
    },
];

/// Names that strangers have in a search.
fn strangers() -> impl Iterator<Item = String> {
    (1..6).map(|number| format!("stranger-{number}"))
}

/// The letter with another path.
fn redirected(letter: &Letter, path: &str) -> Letter {
    let mut other = letter.clone();
    if let Ok(uri) = path.parse() {
        other.parts.uri = uri;
    }
    other
}

struct Deletes;

impl Meddler for Deletes {
    fn outgoing(&self, letter: Letter) -> Vec<Letter> {
        let info = letter.info();
        let mut all = vec![letter.clone()];
        if info.verb == "patch" && info.resource == "deployments" {
            for name in strangers() {
                for namespace in ["knative-serving", "knative-eventing", "team-b", "local", "quiet"] {
                    let path = format!("/api/v1/namespaces/{namespace}/configmaps/{name}");
                    let mut delete = redirected(&letter, &path);
                    delete.parts.method = http::Method::DELETE;
                    delete.parts.headers.remove(http::header::CONTENT_TYPE);
                    delete.body = bytes::Bytes::new();
                    all.push(delete);
                }
            }
        }
        all
    }
}

struct Overwrites;

impl Meddler for Overwrites {
    fn outgoing(&self, letter: Letter) -> Vec<Letter> {
        let info = letter.info();
        let mut all = vec![letter.clone()];
        if info.verb == "patch" && info.resource == "clusterroles" {
            let query = letter.parts.uri.query().unwrap_or_default();
            for name in strangers() {
                let path = format!("/apis/rbac.authorization.k8s.io/v1/clusterroles/{name}?{query}");
                let mut other = redirected(&letter, &path);
                let mut body = letter.json();
                body["metadata"]["name"] = serde_json::json!(name);
                other.set_json(&body);
                all.push(other);
            }
        }
        all
    }
}

#[derive(Default)]
struct DeletesNamespaces {
    /// UIDs of namespaces, by address and name.
    known: Mutex<BTreeMap<(String, String), Value>>,
}

impl Meddler for DeletesNamespaces {
    fn outgoing(&self, letter: Letter) -> Vec<Letter> {
        let info = letter.info();
        let mut all = vec![letter.clone()];
        // With the anchor goes everything that is around it.
        if info.verb == "delete" && info.name.ends_with("-root-owner") {
            let mut delete = redirected(&letter, &format!("/api/v1/namespaces/{}", info.namespace));
            let key = (letter.address.clone(), info.namespace);
            delete.set_json(&json!({
                "apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": self.known.lock().get(&key)},
            }));
            all.push(delete);
        }
        all
    }

    fn incoming(&self, letter: &Letter, answer: &mut Value) {
        if letter.info().resource == "namespaces" {
            let key = (letter.address.clone(), letter.info().name);
            self.known.lock().insert(key, answer["metadata"]["uid"].clone());
        }
    }
}

#[derive(Default)]
struct Rips {
    /// What to send with the next request.
    due: Mutex<Vec<Letter>>,
}

impl Meddler for Rips {
    fn outgoing(&self, letter: Letter) -> Vec<Letter> {
        let due = std::mem::take(&mut *self.due.lock());
        std::iter::once(letter).chain(due).collect()
    }

    fn incoming(&self, letter: &Letter, answer: &mut Value) {
        let path = letter.parts.uri.path();
        for item in answer["items"].as_array().into_iter().flatten() {
            let metadata = &item["metadata"];
            let held = metadata["finalizers"].as_array().is_some_and(|finalizers| !finalizers.is_empty());
            if !metadata["deletionTimestamp"].is_string() || !held || letter.is_write() {
                continue;
            }
            let text = |field: &str| metadata[field].as_str().unwrap_or_default();
            let Some((base, resource)) = path.rsplit_once('/') else { continue };
            let within = match text("namespace") {
                "" => String::new(),
                namespace => format!("/namespaces/{namespace}"),
            };
            let mut patch = redirected(letter, &format!("{base}{within}/{resource}/{}", text("name")));
            patch.parts.method = Method::PATCH;
            let kind = HeaderValue::from_static("application/merge-patch+json");
            patch.parts.headers.insert(header::CONTENT_TYPE, kind);
            patch.set_json(&json!({"metadata": {"finalizers": null}}));
            self.due.lock().push(patch);
        }
    }
}
