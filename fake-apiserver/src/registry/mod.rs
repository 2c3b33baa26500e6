//! Which kinds a cluster serves: the built-in ones, shared by all clusters, and its custom resources.
//!
//! A [`Resource`] is data; what happens on a write follows from it in `strategy`.

mod builtin;
mod custom;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use serde_json::Value;

use crate::schema::builtin::merge_type;
use crate::schema::builtin::table::Type;
use crate::schema::{MergeType, StructuralSchema};
use crate::status::ResourceName;
use crate::storage::ResourceId;
use crate::table::Column;

pub(crate) use self::custom::resource_of;

/// A kind with everything the request path needs to know about it.
#[derive(Debug)]
pub(crate) struct Resource {
    /// `deployments.apps`; `configmaps` in the core group.
    pub(crate) id: ResourceId,
    /// The `id` of the resource as which the objects are stored: another one if this is but a view of them.
    pub(crate) storage: ResourceId,
    pub(crate) group: String,
    pub(crate) kind: String,
    pub(crate) list_kind: String,
    pub(crate) plural: String,
    pub(crate) singular: String,
    pub(crate) short_names: Vec<String>,
    pub(crate) categories: Vec<String>,
    pub(crate) namespaced: bool,
    /// Preferred version first.
    pub(crate) versions: Vec<Version>,
    /// Index of the version that objects are stored in.
    pub(crate) stored: usize,
    pub(crate) traits: Traits,
    /// How the webhook is reached that converts between versions, if one does.
    pub(crate) conversion: Option<Value>,
    /// The field labels a field selector may name, beyond name and namespace.
    pub(crate) selectable: Vec<String>,
}

/// How a kind departs from the common behaviour.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Traits {
    /// Comes from a CustomResourceDefinition.
    pub(crate) custom: bool,
    /// `metadata.generation` counts changes of the specification.
    pub(crate) generation: bool,
    /// A put without resourceVersion overwrites.
    pub(crate) unconditional_update: bool,
    /// A put to a missing object creates it.
    pub(crate) create_on_update: bool,
    /// A delete answers the object instead of a Status.
    pub(crate) delete_answers_object: bool,
    /// A delete without propagation policy orphans dependents.
    pub(crate) orphans_by_default: bool,
    /// Cannot be deleted as a collection.
    pub(crate) no_delete_collection: bool,
    /// Only answers creates; nothing is stored.
    pub(crate) virtual_resource: bool,
    /// Cannot be written.
    pub(crate) read_only: bool,
    /// The CustomResourceDefinition is being deleted: no new objects.
    pub(crate) terminating: bool,
}

/// One served version of a kind.
#[derive(Debug)]
pub(crate) struct Version {
    pub(crate) name: String,
    /// `apps/v1`, `v1`.
    pub(crate) api_version: String,
    pub(crate) served: bool,
    /// `"apiVersion":"apps/v1","kind":"Deployment"`.
    pub(crate) type_members: Bytes,
    pub(crate) subresources: Vec<String>,
    pub(crate) schema: Option<Arc<StructuralSchema>>,
    /// The same as its definition has it.
    pub(crate) openapi: Option<Arc<Value>>,
    /// Its type, unless it is a custom resource.
    pub(crate) built_in: Option<&'static Type>,
    /// How values merge; of a built-in type only once somebody asks.
    merge: OnceLock<Arc<MergeType>>,
    pub(crate) scale: Option<ScalePaths>,
    pub(crate) deprecation: Option<String>,
    /// What a Table shows.
    pub(crate) columns: Arc<[Column]>,
}

/// Where the scale subresource finds its fields, as JSON pointers.
#[derive(Clone, Debug)]
pub(crate) struct ScalePaths {
    pub(crate) spec_replicas: String,
    pub(crate) status_replicas: String,
    pub(crate) selector: Option<String>,
}

impl Version {
    pub(crate) fn new(group: &str, name: &str, kind: &str, built_in: Option<&'static Type>) -> Self {
        let api_version = if group.is_empty() { name.to_owned() } else { format!("{group}/{name}") };
        let type_members = format!("\"apiVersion\":\"{api_version}\",\"kind\":\"{kind}\"").into();
        Self {
            name: name.to_owned(),
            api_version,
            served: true,
            type_members,
            subresources: Vec::new(),
            schema: None,
            openapi: None,
            built_in,
            merge: OnceLock::new(),
            scale: None,
            deprecation: None,
            columns: Arc::default(),
        }
    }

    /// How values merge: as the schema says, or the built-in type, otherwise as they look.
    pub(crate) fn merge(&self) -> &Arc<MergeType> {
        self.merge.get_or_init(|| match (&self.schema, self.built_in) {
            (Some(schema), _) => schema.merge_type(),
            (None, Some(of)) => merge_type(of),
            (None, None) => Arc::new(MergeType::Deduced),
        })
    }

    pub(crate) fn has(&self, subresource: &str) -> bool {
        self.subresources.iter().any(|name| name == subresource)
    }
}

impl Resource {
    /// As messages name it: `deployments.apps`.
    pub(crate) fn name(&self) -> ResourceName<'_> {
        // The only kind that cannot be written goes by its singular.
        let resource = if self.traits.read_only { &self.singular } else { &self.plural };
        ResourceName { group: self.own_group(), resource }
    }

    /// As validation errors name it: `Deployment.apps`.
    pub(crate) fn kind_name(&self) -> ResourceName<'_> {
        ResourceName { group: self.own_group(), resource: &self.kind }
    }

    /// The group that messages name: a view goes by that of what it shows, which is the core group.
    fn own_group(&self) -> &str {
        if self.storage == self.id { &self.group } else { "" }
    }

    pub(crate) fn stored_version(&self) -> &Version {
        &self.versions[self.stored]
    }

    /// Whether its objects cannot be stored in another version than the one that is asked for.
    pub(crate) fn has_one_form(&self) -> bool {
        !self.traits.custom && self.versions.len() == 1
    }

    pub(crate) fn is(&self, id: &str) -> bool {
        &*self.id == id
    }

    /// The verbs of the main endpoint, as discovery lists them.
    pub(crate) fn verbs(&self) -> Vec<&'static str> {
        if self.traits.virtual_resource {
            vec!["create"]
        } else if self.traits.read_only {
            vec!["get", "list"]
        } else if self.traits.custom {
            vec!["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"]
        } else {
            let all = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
            let skip = self.traits.no_delete_collection;
            all.into_iter().filter(|verb| !(skip && *verb == "deletecollection")).collect()
        }
    }
}

/// A resource in the version a request names.
#[derive(Clone, Debug)]
pub(crate) struct Served {
    pub(crate) resource: Arc<Resource>,
    pub(crate) version: usize,
}

impl Served {
    pub(crate) fn version(&self) -> &Version {
        &self.resource.versions[self.version]
    }
}

/// Why a path names nothing.
#[derive(Debug, PartialEq)]
pub(crate) enum Unknown {
    /// The group is served by the API server itself, but has no such version or resource.
    Resource,
    /// Nobody serves the group.
    Group,
}

/// The kinds of one cluster.
#[derive(Clone, Debug, Default)]
pub(crate) struct Registry {
    custom: BTreeMap<ResourceId, Arc<Resource>>,
}

impl Registry {
    /// Finds what a request path names.
    pub(crate) fn resolve(&self, group: &str, version: &str, plural: &str) -> Result<Served, Unknown> {
        let id = resource_id(group, plural);
        let found = builtin::table().by_id.get(&id).or_else(|| self.custom.get(&id));
        let served = found.and_then(|resource| {
            let index = resource.versions.iter().position(|v| v.served && v.name == version)?;
            Some(Served { resource: resource.clone(), version: index })
        });
        served.ok_or(if Self::is_builtin_group(group) { Unknown::Resource } else { Unknown::Group })
    }

    /// Finds a kind by group and kind, whatever its versions.
    pub(crate) fn by_kind(&self, group: &str, kind: &str) -> Option<&Arc<Resource>> {
        builtin::table().by_kind.get(&(group.to_owned(), kind.to_owned())).or_else(|| {
            self.custom.values().find(|resource| resource.group == group && resource.kind == kind)
        })
    }

    /// Finds a kind by its storage name.
    pub(crate) fn by_id(&self, id: &str) -> Option<&Arc<Resource>> {
        builtin::table().by_id.get(id).or_else(|| self.custom.get(id))
    }

    /// Every kind, built-in ones first.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<Resource>> {
        builtin::table().in_order.iter().chain(self.custom.values())
    }

    /// Whether the API server itself serves the group.
    pub(crate) fn is_builtin_group(group: &str) -> bool {
        builtin::table().in_order.iter().any(|resource| resource.group == group)
    }

    /// Adds or replaces a custom resource.
    pub(crate) fn install(&mut self, resource: Resource) {
        self.custom.insert(resource.id.clone(), Arc::new(resource));
    }

    /// Removes a custom resource.
    pub(crate) fn uninstall(&mut self, id: &str) {
        self.custom.remove(id);
    }
}

/// The storage name of a resource.
pub(crate) fn resource_id(group: &str, plural: &str) -> ResourceId {
    if group.is_empty() { plural.into() } else { format!("{plural}.{group}").into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_version_of_a_built_in_group_is_an_unknown_resource() {
        let registry = Registry::default();
        assert!(registry.resolve("apps", "v1", "deployments").is_ok());
        assert_eq!(registry.resolve("apps", "v7", "deployments").unwrap_err(), Unknown::Resource);
        assert_eq!(registry.resolve("nobody.example.com", "v1", "things").unwrap_err(), Unknown::Group);
    }

    #[test]
    fn built_in_kinds_are_unique_by_name_and_by_kind() {
        let table = builtin::table();
        assert_eq!(table.in_order.len(), table.by_id.len());
        assert_eq!(table.in_order.len(), table.by_kind.len());
    }
}
