//! Built-in types as OpenAPI schemas, as the server publishes them, without descriptions.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::table::{Field, ListKind, Shape, Type, TypeId, Types};

/// Which of the two documents a schema is for: they differ in how types refer to each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Dialect {
    /// `/openapi/v2`
    Two,
    /// `/openapi/v3`
    Three,
}

const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1";

impl Dialect {
    /// A reference to a schema by its full name.
    pub(crate) fn reference(self, name: &str) -> Value {
        match self {
            Self::Two => json!({ "$ref": format!("#/definitions/{name}") }),
            Self::Three => json!({ "allOf": [{ "$ref": format!("#/components/schemas/{name}") }] }),
        }
    }

    /// The schemas of scalars that have a name.
    fn scalars(self) -> [(&'static str, Value); 5] {
        let either = |format: &str| match self {
            Self::Two => json!({ "type": "string" }),
            Self::Three if format.is_empty() => {
                json!({ "oneOf": [{ "type": "string" }, { "type": "number" }] })
            }
            Self::Three => {
                json!({ "format": format, "oneOf": [{ "type": "integer" }, { "type": "string" }] })
            }
        };
        [
            ("io.k8s.apimachinery.pkg.apis.meta.v1.Time", json!({ "type": "string", "format": "date-time" })),
            (
                "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime",
                json!({ "type": "string", "format": "date-time" }),
            ),
            ("io.k8s.apimachinery.pkg.api.resource.Quantity", either("")),
            ("io.k8s.apimachinery.pkg.util.intstr.IntOrString", either("int-or-string")),
            ("io.k8s.apimachinery.pkg.apis.meta.v1.Patch", json!({ "type": "object" })),
        ]
    }
}

/// The full name of a type.
pub(crate) fn name(of: &Type) -> String {
    format!("{}.{}", Types::get().package(of).prefix, of.name)
}

/// The full name of a type of `metadata` and the like.
pub(crate) fn meta_name(name: &str) -> String {
    format!("{META}.{name}")
}

/// A set of schemas in which every reference leads somewhere.
pub(crate) struct Schemas {
    dialect: Dialect,
    done: BTreeSet<TypeId>,
    found: BTreeMap<String, Value>,
}

impl Schemas {
    pub(crate) fn new(dialect: Dialect) -> Self {
        let found = dialect.scalars().into_iter().map(|(name, schema)| (name.to_owned(), schema)).collect();
        let mut schemas = Self { dialect, done: BTreeSet::new(), found };
        for name in ["ObjectMeta", "ListMeta", "DeleteOptions"] {
            if let Some(of) = Types::get().named("meta", name) {
                schemas.add(of);
            }
        }
        schemas
    }

    /// Adds a type and what it refers to.
    pub(crate) fn add(&mut self, of: &Type) {
        let all = &Types::get().all;
        let Some(id) = all.iter().position(|other| std::ptr::eq(other, of)) else { return };
        let mut waiting = vec![id];
        while let Some(id) = waiting.pop() {
            if !self.done.insert(id) {
                continue;
            }
            let of = &all[id];
            waiting.extend(of.fields.iter().filter_map(|field| below(&field.shape)));
            self.found.insert(name(of), self.schema(of));
        }
    }

    /// Adds a schema of another origin.
    pub(crate) fn insert(&mut self, name: String, schema: Value) {
        self.found.insert(name, schema);
    }

    /// The schemas by their names.
    pub(crate) fn finish(self) -> Map<String, Value> {
        self.found.into_iter().collect()
    }

    fn schema(&self, of: &Type) -> Value {
        let mut properties = Map::new();
        for field in &of.fields {
            properties.insert(field.name.to_owned(), self.property(field));
        }
        let mut schema = json!({ "type": "object" });
        if of.kind {
            for member in ["apiVersion", "kind"] {
                properties.insert(member.to_owned(), json!({ "type": "string" }));
            }
            let version = Types::get().package(of).api_version;
            let (group, version) = version.split_once('/').unwrap_or(("", version));
            schema["x-kubernetes-group-version-kind"] =
                json!([{ "group": group, "version": version, "kind": of.name }]);
        }
        if !properties.is_empty() {
            schema["properties"] = properties.into();
        }
        let mut required: Vec<&str> = of
            .fields
            .iter()
            .filter(|field| field.required && !(of.kind && field.name == "metadata"))
            .map(|field| field.name)
            .collect();
        required.sort_unstable();
        if !required.is_empty() {
            schema["required"] = json!(required);
        }
        if of.atomic {
            schema["x-kubernetes-map-type"] = json!("atomic");
        }
        schema
    }

    fn property(&self, field: &Field) -> Value {
        let mut schema = self.shape(&field.shape);
        let is_list = matches!(field.shape, Shape::List(_));
        match &field.list {
            ListKind::Keyed(keys) => {
                let keys: Vec<&str> = keys.iter().map(|(name, _)| *name).collect();
                schema["x-kubernetes-list-map-keys"] = json!(keys);
                schema["x-kubernetes-list-type"] = json!("map");
            }
            ListKind::Set => schema["x-kubernetes-list-type"] = json!("set"),
            ListKind::Atomic if !is_list => schema["x-kubernetes-map-type"] = json!("atomic"),
            ListKind::Plain | ListKind::Atomic if is_list => {
                schema["x-kubernetes-list-type"] = json!("atomic")
            }
            ListKind::Plain | ListKind::Atomic => {}
        }
        if let Some(patch) = field.patch {
            schema["x-kubernetes-patch-strategy"] = json!(patch.strategy);
            if let Some(key) = patch.key {
                schema["x-kubernetes-patch-merge-key"] = json!(key);
            }
        }
        schema
    }

    fn shape(&self, shape: &Shape) -> Value {
        let [time, micro_time, quantity, int_or_string, _] = self.dialect.scalars().map(|(name, _)| name);
        match shape {
            Shape::String => json!({ "type": "string" }),
            Shape::Bool => json!({ "type": "boolean" }),
            Shape::Int32 => json!({ "type": "integer", "format": "int32" }),
            Shape::Int64 => json!({ "type": "integer", "format": "int64" }),
            Shape::Double => json!({ "type": "number", "format": "double" }),
            Shape::Bytes => json!({ "type": "string", "format": "byte" }),
            Shape::Time => self.dialect.reference(time),
            Shape::MicroTime => self.dialect.reference(micro_time),
            Shape::Quantity => self.dialect.reference(quantity),
            Shape::IntOrString => self.dialect.reference(int_or_string),
            Shape::Any => json!({ "x-kubernetes-preserve-unknown-fields": true }),
            Shape::Struct(id) => self.dialect.reference(&name(&Types::get().all[*id])),
            Shape::List(item) => json!({ "type": "array", "items": self.shape(item) }),
            Shape::Map(value) => json!({ "type": "object", "additionalProperties": self.shape(value) }),
        }
    }
}

/// The struct in a shape.
fn below(shape: &Shape) -> Option<TypeId> {
    match shape {
        Shape::Struct(id) => Some(*id),
        Shape::List(inner) | Shape::Map(inner) => below(inner),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reference_leads_to_a_schema() {
        let mut schemas = Schemas::new(Dialect::Three);
        for of in Types::get().all.iter().filter(|of| of.kind) {
            schemas.add(of);
        }
        let found = schemas.finish();
        let text = Value::from(found.clone()).to_string();
        for reference in text.split("#/components/schemas/").skip(1) {
            let name = reference.split('"').next().unwrap();
            assert!(found.contains_key(name), "{name}");
        }
    }

    #[test]
    fn lists_by_key_name_their_keys_for_both_kinds_of_merge() {
        let mut schemas = Schemas::new(Dialect::Three);
        schemas.add(Types::get().named("core", "Container").unwrap());
        let ports = &schemas.finish()["io.k8s.api.core.v1.Container"]["properties"]["ports"];
        assert_eq!(ports["x-kubernetes-list-map-keys"], json!(["containerPort", "protocol"]));
        assert_eq!(ports["x-kubernetes-patch-merge-key"], "containerPort");
    }
}
