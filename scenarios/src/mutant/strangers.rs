//! Operators that lay hands on what is not theirs.

use std::sync::Arc;

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
