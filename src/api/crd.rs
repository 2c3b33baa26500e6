//! The CustomResourceDefinitions of both kinds.

use serde_json::Value;

/// Both definitions, ready to be applied.
pub fn definitions() -> Vec<Value> {
    Vec::new()
}

/// Schemas of the parts that stay JSON.
pub(super) mod shape {
    use schemars::{Schema, SchemaGenerator, json_schema};

    /// An object with any content.
    pub(crate) fn open_object(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})
    }

    /// A list of objects with any content.
    pub(crate) fn open_objects(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "array", "items": open_object(generator)})
    }

    /// A list of objects with a name and any other content.
    pub(crate) fn named_open_objects(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "array", "items": {
            "type": "object", "x-kubernetes-preserve-unknown-fields": true,
            "properties": {"name": {"type": "string"}}, "required": ["name"],
        }})
    }

    /// A number or a text.
    pub(crate) fn int_or_string(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]})
    }

    /// Kubernetes quantities by name.
    pub(crate) fn quantities(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "object", "additionalProperties": {
            "x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}],
            // The grammar of quantities, apimachinery pkg/api/resource.
            "pattern": r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$",
        }})
    }

    /// TLS mode of an Istio Gateway.
    pub(crate) fn tls_mode(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string",
            "enum": ["PASSTHROUGH", "SIMPLE", "MUTUAL", "AUTO_PASSTHROUGH", "ISTIO_MUTUAL"]})
    }
}
