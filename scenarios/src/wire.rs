//! What passes over the wires of a world: requests as the operator sends them and as clusters see them, and who may
//! listen or meddle.

use bytes::Bytes;
use fake_apiserver::{RequestInfo, Snapshot};
use http::request::Parts;
use http::{Method, header};
use serde_json::Value;

/// A request on its way from the operator to an address.
#[derive(Clone, Debug)]
pub struct Letter {
    /// Which start of an operator sends it, counted from 1.
    pub replica: u64,
    /// Where it goes.
    pub address: String,
    /// Method, path and headers.
    pub parts: Parts,
    /// The whole body.
    pub body: Bytes,
}

impl Letter {
    /// Path and query.
    pub fn path(&self) -> String {
        self.parts.uri.path_and_query().map(ToString::to_string).unwrap_or_default()
    }

    /// What it asks for.
    pub fn info(&self) -> RequestInfo {
        let query = self.parts.uri.query().unwrap_or_default();
        RequestInfo::parse(&self.parts.method, self.parts.uri.path(), query)
    }

    /// Whether it is about the Lease by which replicas agree.
    pub fn is_about_lease(&self) -> bool {
        self.parts.uri.path().starts_with("/apis/coordination.k8s.io/v1/namespaces/knative-operator/leases")
    }

    /// Whether it opens a stream that may last.
    pub fn is_watch(&self) -> bool {
        self.parts.uri.query().unwrap_or_default().contains("watch=")
    }

    /// Whether it wants to change something.
    pub fn is_write(&self) -> bool {
        let dry = self.parts.uri.query().unwrap_or_default().contains("dryRun");
        self.parts.method != Method::GET && !dry
    }

    /// Its bearer token; empty when it has none.
    pub fn token(&self) -> &str {
        let value = self.parts.headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        value.and_then(|value| value.strip_prefix("Bearer ")).unwrap_or_default()
    }

    /// Gives it another body.
    pub fn set_json(&mut self, body: &Value) {
        self.body = body.to_string().into();
    }

    /// The body as JSON; null when it is none.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

/// A request that reached a cluster, with the cluster around it. An answer may still be lost.
#[derive(Debug)]
pub struct Seen<'a> {
    /// `hub` or the spoke's name.
    pub site: &'a str,
    /// The request.
    pub letter: &'a Letter,
    /// What it asks for.
    pub info: RequestInfo,
    /// Status code of the answer.
    pub code: u16,
    /// The cluster just before.
    pub before: Snapshot,
    /// The cluster just after.
    pub after: Snapshot,
}

impl Seen<'_> {
    /// Whether it changed the cluster.
    pub fn took_effect(&self) -> bool {
        self.before.revision() != self.after.revision()
    }

    /// Resource with group, as in `deployments.apps`.
    pub fn resource(&self) -> String {
        match self.info.group.as_str() {
            "" => self.info.resource.clone(),
            group => format!("{}.{group}", self.info.resource),
        }
    }

    /// The object that it is about, in a state of the cluster.
    pub fn object(&self, cluster: &Snapshot) -> Option<std::sync::Arc<Value>> {
        // A request for a namespace counts as one in it.
        let namespace = if self.info.resource == "namespaces" { "" } else { &self.info.namespace };
        cluster.find(&self.resource(), namespace, &self.name())
    }

    /// The name of the object that was written, also of one that was just created.
    pub fn name(&self) -> String {
        match self.info.name.as_str() {
            "" => self.letter.json()["metadata"]["name"].as_str().unwrap_or_default().to_owned(),
            name => name.to_owned(),
        }
    }
}

/// Somebody who listens on all wires of a world.
pub trait Tap: Send + Sync {
    /// The operator sends a request.
    fn sent(&self, letter: &Letter);
    /// A cluster has answered a request that is no watch.
    fn seen(&self, seen: &Seen<'_>);
    /// An answer has come back to the operator.
    fn answered(&self, letter: &Letter, code: u16);
}

/// Somebody between the operator and its wires who makes a wrong operator of it.
pub trait Meddler: Send + Sync {
    /// What goes out in place of a request; the operator gets the answer of the first, or of success if there is none.
    fn outgoing(&self, letter: Letter) -> Vec<Letter> {
        vec![letter]
    }

    /// Changes an answer that is no watch.
    fn incoming(&self, _letter: &Letter, _answer: &mut Value) {}
}
