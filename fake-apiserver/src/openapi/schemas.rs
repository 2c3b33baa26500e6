//! The schemas of kinds and of the types that they are made of.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::registry::{Resource, Version};
use crate::schema::builtin::table::{Field, ListKind, Shape, Type, Types};

/// Package of what all kinds share, in names of schemas.
const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1";

/// The two forms of OpenAPI.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Edition {
    V2,
    V3,
}

/// Schemas in the making: each kind that is added brings the types that it names.
pub(super) struct Schemas {
    edition: Edition,
    types: &'static Types,
    found: Map<String, Value>,
    /// Names of types that something refers to.
    wanted: Vec<&'static Type>,
}

impl Schemas {
    pub(super) fn new(edition: Edition) -> Self {
        Self { edition, types: Types::get(), found: Map::new(), wanted: Vec::new() }
    }

    pub(super) fn add_kind(&mut self, resource: &Resource, version: &Version) {
        let gvk = json!([{ "group": resource.group, "version": version.name, "kind": resource.kind }]);
        let (name, mut schema) = match self.types.kind(&version.api_version, &resource.kind) {
            Some(kind) if !resource.traits.custom => (self.name(kind), self.of_type(kind)),
            _ => (custom_name(resource, version), self.of_definition(version)),
        };
        schema["x-kubernetes-group-version-kind"] = gvk;
        self.found.insert(name, schema);
    }

    /// Everything that was added and all that it refers to.
    pub(super) fn finish(mut self) -> Map<String, Value> {
        while let Some(next) = self.wanted.pop() {
            let name = self.name(next);
            if !self.found.contains_key(&name) {
                let schema = self.of_type(next);
                self.found.insert(name, schema);
            }
        }
        self.found.insert(format!("{META}.Patch"), json!({ "type": "object" }));
        self.found
    }

    fn name(&self, of: &Type) -> String {
        format!("{}.{}", self.types.package(of).prefix, of.name)
    }

    fn of_type(&mut self, of: &'static Type) -> Value {
        let mut properties = Map::new();
        if of.kind {
            properties.insert("apiVersion".into(), json!({ "type": "string" }));
            properties.insert("kind".into(), json!({ "type": "string" }));
        }
        let mut required = BTreeSet::new();
        for field in of.fields() {
            if field.required {
                required.insert(field.name);
            }
            let schema = self.of_field(field);
            properties.insert(field.name.to_owned(), schema);
        }
        let mut schema = json!({ "type": "object", "properties": properties });
        if !required.is_empty() {
            schema["required"] = json!(required);
        }
        if of.atomic {
            schema["x-kubernetes-map-type"] = json!("atomic");
        }
        schema
    }

    fn of_field(&mut self, field: &'static Field) -> Value {
        let mut schema = self.of_shape(&field.shape);
        let list = matches!(field.shape, Shape::List(_));
        match &field.list {
            ListKind::Plain => {}
            ListKind::Atomic if list => schema["x-kubernetes-list-type"] = json!("atomic"),
            ListKind::Atomic => schema["x-kubernetes-map-type"] = json!("atomic"),
            ListKind::Set => schema["x-kubernetes-list-type"] = json!("set"),
            ListKind::Keyed(keys) => {
                schema["x-kubernetes-list-type"] = json!("map");
                schema["x-kubernetes-list-map-keys"] = keys.iter().map(|(key, _)| json!(key)).collect();
            }
        }
        if let Some(patch) = field.patch {
            schema["x-kubernetes-patch-strategy"] = json!(patch.strategy);
            if let Some(key) = patch.key {
                schema["x-kubernetes-patch-merge-key"] = json!(key);
            }
        }
        schema
    }

    fn of_shape(&mut self, shape: &'static Shape) -> Value {
        match shape {
            Shape::String => json!({ "type": "string" }),
            Shape::Bool => json!({ "type": "boolean" }),
            Shape::Int32 => json!({ "type": "integer", "format": "int32" }),
            Shape::Int64 => json!({ "type": "integer", "format": "int64" }),
            Shape::Double => json!({ "type": "number", "format": "double" }),
            Shape::Bytes => json!({ "type": "string", "format": "byte" }),
            Shape::Time | Shape::MicroTime => json!({ "type": "string", "format": "date-time" }),
            Shape::Quantity if self.edition == Edition::V3 => {
                json!({ "oneOf": [{ "type": "string" }, { "type": "number" }] })
            }
            Shape::IntOrString if self.edition == Edition::V3 => {
                json!({ "format": "int-or-string", "oneOf": [{ "type": "integer" }, { "type": "string" }] })
            }
            Shape::Quantity => json!({ "type": "string" }),
            Shape::IntOrString => json!({ "type": "string", "format": "int-or-string" }),
            Shape::Any => json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true }),
            Shape::List(item) => json!({ "type": "array", "items": self.of_shape(item) }),
            Shape::Map(item) => json!({ "type": "object", "additionalProperties": self.of_shape(item) }),
            Shape::Struct(id) => {
                let of = &self.types.all[*id];
                self.wanted.push(of);
                self.refer(&self.name(of))
            }
        }
    }

    fn refer(&self, name: &str) -> Value {
        match self.edition {
            Edition::V2 => json!({ "$ref": format!("#/definitions/{name}") }),
            Edition::V3 => json!({ "allOf": [{ "$ref": format!("#/components/schemas/{name}") }] }),
        }
    }

    /// What a CustomResourceDefinition says, with the members that every object has. Without a schema anything goes, as for
    /// built-in kinds that the table does not describe.
    fn of_definition(&mut self, version: &Version) -> Value {
        let open = || json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
        let mut schema = version.openapi.as_deref().cloned().unwrap_or_else(open);
        self.wanted.extend(self.types.object_meta());
        let metadata = self.refer(&format!("{META}.ObjectMeta"));
        if let Some(root) = schema.as_object_mut() {
            let properties = root.entry("properties").or_insert_with(|| json!({}));
            properties["apiVersion"] = json!({ "type": "string" });
            properties["kind"] = json!({ "type": "string" });
            properties["metadata"] = metadata;
        }
        schema
    }
}

/// The group backwards, as in `com.example.v1.Thing`.
fn custom_name(resource: &Resource, version: &Version) -> String {
    let group: Vec<&str> = resource.group.rsplit('.').collect();
    format!("{}.{}.{}", group.join("."), version.name, resource.kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reference_leads_to_a_schema() {
        let types = Types::get();
        for edition in [Edition::V2, Edition::V3] {
            let mut schemas = Schemas::new(edition);
            schemas.wanted.extend(types.all.iter().filter(|of| of.kind));
            let found = schemas.finish();
            let text = Value::from(found.clone()).to_string();
            let marker = if edition == Edition::V2 { "#/definitions/" } else { "#/components/schemas/" };
            let names: BTreeSet<&str> =
                text.split(marker).skip(1).filter_map(|rest| rest.split('"').next()).collect();
            assert!(names.len() > 100, "{}", names.len());
            for name in names {
                assert!(found.contains_key(name), "{name}");
            }
        }
    }
}
