//! Which resource and scope a kind has on a cluster, from the cluster's own discovery documents.

use std::collections::BTreeMap;

use parking_lot::Mutex;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

use crate::manifest::GroupKind;

/// Path facts of one kind in one version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    /// `apiVersion` for paths and bodies.
    pub api_version: String,
    /// Kind.
    pub kind: String,
    /// Plural name.
    pub plural: String,
    /// Whether it lives in namespaces.
    pub namespaced: bool,
}

/// What may stand in a path segment as it is (RFC 3986 `pchar`, less what a name never holds).
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b':');

impl Resource {
    /// Reads one entry of an `APIResourceList`; `None` for a subresource and for what is no such entry.
    pub fn from_discovery(api_version: &str, entry: &Value) -> Option<Self> {
        let (plural, kind) = (entry["name"].as_str()?, entry["kind"].as_str()?);
        let namespaced = entry["namespaced"].as_bool()?;
        let [api_version, kind, plural] = [api_version, kind, plural].map(str::to_owned);
        (!plural.contains('/')).then_some(Self { api_version, kind, plural, namespaced })
    }

    /// Path of one object.
    pub fn path(&self, namespace: &str, name: &str) -> String {
        format!("{}/{}", self.collection(namespace), utf8_percent_encode(name, SEGMENT))
    }

    /// Path of the collection (`namespace` is ignored for a cluster-scoped kind; empty: all namespaces).
    pub fn collection(&self, namespace: &str) -> String {
        let root = if self.api_version.contains('/') { "/apis" } else { "/api" };
        let within = match namespace {
            "" => String::new(),
            _ if !self.namespaced => String::new(),
            namespace => format!("/namespaces/{}", utf8_percent_encode(namespace, SEGMENT)),
        };
        format!("{root}/{}{within}/{}", self.api_version, self.plural)
    }
}

/// Group-versions read so far. What a cluster did not serve is not remembered: a definition may appear at any time.
#[derive(Default)]
pub struct Mapping {
    known: Mutex<BTreeMap<String, BTreeMap<String, Resource>>>,
}

impl Mapping {
    /// The resource of a kind, if its group-version was read already.
    pub fn get(&self, api_version: &str, kind: &str) -> Option<Resource> {
        self.known.lock().get(api_version)?.get(kind).cloned()
    }

    /// Remembers an `APIResourceList`; an earlier one of the same group-version is replaced.
    pub fn learn(&self, api_version: &str, document: &Value) {
        let resources = document["resources"].as_array().into_iter().flatten();
        let kinds = resources.filter_map(|entry| {
            let resource = Resource::from_discovery(api_version, entry)?;
            Some((resource.kind.clone(), resource))
        });
        self.known.lock().insert(api_version.into(), kinds.collect());
    }

    /// Drops what is known of a group-version, after the cluster contradicted it.
    pub fn forget(&self, api_version: &str) {
        self.known.lock().remove(api_version);
    }

    /// Scopes of everything known (`true`: namespaced).
    pub fn scopes(&self) -> BTreeMap<GroupKind, bool> {
        let known = self.known.lock();
        let all = known.iter().flat_map(|(api_version, kinds)| {
            let group = api_version.rsplit_once('/').map_or("", |(group, _)| group);
            kinds.iter().map(move |(kind, r)| (GroupKind::new(group, kind), r.namespaced))
        });
        all.collect()
    }
}
