//! The state of a cluster at one revision: cheap to take, never changes.

use std::sync::Arc;

use imbl::OrdMap;
use serde_json::Value;

use super::{Objects, ResourceId, Stored, object_key};

/// All objects of a cluster at one revision.
#[derive(Clone, Debug)]
pub struct Snapshot {
    tables: OrdMap<ResourceId, Objects>,
    revision: u64,
}

/// One object in a snapshot.
#[derive(Clone, Copy, Debug)]
pub struct ObjectRef<'a> {
    /// Plural resource name with its group, as in `deployments.apps`.
    pub resource: &'a str,
    /// Empty for cluster-scoped objects.
    pub namespace: &'a str,
    /// `metadata.name`.
    pub name: &'a str,
    /// The object in its stored version.
    pub value: &'a Arc<Value>,
}

impl Snapshot {
    pub(super) fn new(tables: OrdMap<ResourceId, Objects>, revision: u64) -> Self {
        Self { tables, revision }
    }

    /// The revision of the latest write in it.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// One object by resource (`configmaps`, `deployments.apps`); `namespace` is empty for cluster-scoped ones.
    pub fn find(&self, resource: &str, namespace: &str, name: &str) -> Option<Arc<Value>> {
        self.stored(resource, &object_key(namespace, name)).map(|stored| stored.value.clone())
    }

    /// One object by group and kind, in its stored version.
    pub fn get(&self, group: &str, kind: &str, namespace: &str, name: &str) -> Option<Arc<Value>> {
        let key = object_key(namespace, name);
        self.of_kind(group, kind).find_map(|objects| objects.get(&*key)).map(|stored| stored.value.clone())
    }

    /// All objects of a kind in `namespace`, or everywhere when it is empty, in key order.
    pub fn list(&self, group: &str, kind: &str, namespace: &str) -> Vec<Arc<Value>> {
        let prefix = if namespace.is_empty() { String::new() } else { format!("{namespace}/") };
        self.of_kind(group, kind)
            .flat_map(|objects| objects.iter())
            .filter(|(key, _)| key.starts_with(&prefix))
            .map(|(_, stored)| stored.value.clone())
            .collect()
    }

    /// How many objects there are.
    pub fn len(&self) -> usize {
        self.tables.values().map(OrdMap::len).sum()
    }

    /// Whether there is nothing at all.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Every object, by resource and then in key order.
    pub fn objects(&self) -> impl Iterator<Item = ObjectRef<'_>> {
        self.tables.iter().flat_map(|(resource, objects)| {
            objects.iter().map(move |(key, stored)| {
                let (namespace, name) = key.split_once('/').unwrap_or(("", key));
                ObjectRef { resource, namespace, name, value: &stored.value }
            })
        })
    }

    /// The tables that hold objects of a kind: at most one, told by its first object.
    fn of_kind(&self, group: &str, kind: &str) -> impl Iterator<Item = &Objects> {
        let suffix = if group.is_empty() { String::new() } else { format!(".{group}") };
        self.tables.iter().filter_map(move |(resource, objects)| {
            let in_group =
                if suffix.is_empty() { !resource.contains('.') } else { resource.ends_with(&suffix) };
            let first = in_group.then(|| objects.get_min()).flatten()?;
            (first.1.value["kind"] == kind && first.1.group() == group).then_some(objects)
        })
    }

    pub(crate) fn stored(&self, resource: &str, key: &str) -> Option<&Arc<Stored>> {
        self.tables.get(resource)?.get(key)
    }
}

impl Stored {
    /// The API group of the object; empty for the core group.
    pub fn group(&self) -> &str {
        self.value["apiVersion"]
            .as_str()
            .and_then(|version| version.split_once('/'))
            .map_or("", |(group, _)| group)
    }
}
