//! The CustomResourceDefinitions of both kinds, derived from the types that read the resources.
//!
//! They accept everything that the definitions of the Go operator accept, so that they can replace them in place. The
//! parts of pods stay open objects: the target cluster validates them, and it may know fields that we do not.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::{CommonSpec, ComponentKind, EventingSpec, GROUP, ServingSpec, VERSION};

/// Both definitions, ready to be applied.
pub fn definitions() -> Vec<Value> {
    ComponentKind::ALL.into_iter().map(definition).collect()
}

/// The definition of one kind.
pub fn definition(kind: ComponentKind) -> Value {
    let singular = kind.kind().to_ascii_lowercase();
    let short = match kind {
        ComponentKind::Serving => "kns",
        ComponentKind::Eventing => "kne",
    };
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": kind.finalizer(), "labels": {"app.kubernetes.io/name": "knative-operator"}},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {
                "kind": kind.kind(),
                "listKind": format!("{kind}List"),
                "plural": kind.plural(),
                "singular": singular,
                "shortNames": [short],
                "categories": ["knative"],
            },
            "conversion": {"strategy": "None"},
            "versions": [{
                "name": VERSION,
                "served": true,
                "storage": true,
                "subresources": {"status": {}},
                "additionalPrinterColumns": columns(),
                "schema": {"openAPIV3Schema": {
                    "description": format!("{kind} says which release is installed on a cluster, and how."),
                    "type": "object",
                    "properties": {
                        "apiVersion": {"type": "string"},
                        "kind": {"type": "string"},
                        "metadata": {"type": "object"},
                        "spec": spec(kind),
                        "status": status(),
                    },
                    "x-kubernetes-validations": rules(),
                }},
            }],
        },
    })
}

fn columns() -> Value {
    let ready = |field: &str| format!(".status.conditions[?(@.type==\"Ready\")].{field}");
    json!([
        {"name": "Version", "type": "string", "jsonPath": ".status.version"},
        {"name": "Ready", "type": "string", "jsonPath": ready("status")},
        {"name": "Reason", "type": "string", "jsonPath": ready("reason")},
        {"name": "Target Cluster", "type": "string", "jsonPath": ".spec.clusterProfileRef.name"},
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    ])
}

/// The target never changes. The rules sit at the root: below `spec` they would not run for an update that removes
/// `spec`, which would turn a remote resource into a local one.
fn rules() -> Value {
    let has = |object: &str| format!("(has({object}.spec) && has({object}.spec.clusterProfileRef))");
    let (new, old) = (has("self"), has("oldSelf"));
    json!([
        {
            "rule": format!("{new} == {old}"),
            "message": "spec.clusterProfileRef cannot be added or removed after creation",
        },
        {
            "rule": format!(
                "!{new} || !{old} || self.spec.clusterProfileRef == oldSelf.spec.clusterProfileRef"
            ),
            "message": "spec.clusterProfileRef is immutable",
        },
    ])
}

fn spec(kind: ComponentKind) -> Value {
    let mut common = schema::<CommonSpec>();
    let specific = match kind {
        ComponentKind::Serving => schema::<ServingSpec>(),
        ComponentKind::Eventing => schema::<EventingSpec>(),
    };
    common["description"] = "What is to be installed.".into();
    if let (Some(into), Value::Object(specific)) =
        (common["properties"].as_object_mut(), &specific["properties"])
    {
        into.extend(specific.clone());
    }
    common
}

fn status() -> Value {
    json!({
        "description": "What the operator found and did.",
        "type": "object",
        "properties": {
            "observedGeneration": {"type": "integer", "format": "int64",
                "description": "The generation that the rest of the status speaks of."},
            "version": {"type": "string", "description": "Release that is completely installed."},
            "manifests": {"type": "array", "items": {"type": "string"},
                "description": "Where the installed objects were read from."},
            "annotations": {"type": "object", "additionalProperties": {"type": "string"},
                "description": "Facts that the operator must not forget."},
            "conditions": {"type": "array", "description": "How it is going; Ready sums it up.", "items": {
                "type": "object",
                "required": ["status", "type"],
                "properties": {
                    "type": {"type": "string", "description": "What it is about."},
                    "status": {"type": "string", "description": "True, False or Unknown."},
                    "severity": {"type": "string", "description": "Info, or empty for an error."},
                    "reason": {"type": "string", "description": "Why, for machines."},
                    "message": {"type": "string", "description": "Why, for people."},
                    "lastTransitionTime": {"type": "string", "description": "When it last changed."},
                },
            }},
        },
    })
}

/// The structural schema of a type.
fn schema<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    make_structural(&mut schema);
    schema
}

/// Removes what structural schemas may not have. An optional field is one that may be absent, not one that may be null.
fn make_structural(schema: &mut Value) {
    let Some(fields) = schema.as_object_mut() else { return };
    // A default would be written into stored resources; absence has its own meaning to those who read them.
    fields.remove("default");
    fields.remove("title");
    if let Some(mut inner) = optional(fields) {
        let description = fields.remove("description");
        fields.remove("anyOf");
        fields.append(&mut inner);
        fields.extend(description.map(|text| ("description".to_owned(), text)));
        fields.remove("title");
    }
    if let Some(Value::Array(types)) = fields.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            fields.insert("type".into(), only);
        }
    }
    for (key, field) in fields.iter_mut() {
        match (key.as_str(), field) {
            ("properties", Value::Object(properties)) => properties.values_mut().for_each(make_structural),
            ("items" | "additionalProperties", inner) => make_structural(inner),
            _ => {}
        }
    }
}

/// The one alternative to null, if the schema is a choice between those two.
fn optional(fields: &Map<String, Value>) -> Option<Map<String, Value>> {
    let choices = fields.get("anyOf")?.as_array()?;
    let (nulls, others): (Vec<_>, Vec<_>) =
        choices.iter().partition(|choice| choice.get("type").is_some_and(|name| name == "null"));
    match (nulls.len(), others.as_slice()) {
        (1, [Value::Object(only)]) => Some(only.clone()),
        _ => None,
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Every schema node of a definition with its path.
    fn walk(schema: &Value, path: &str, visit: &mut impl FnMut(&str, &Map<String, Value>)) {
        let fields = schema.as_object().unwrap_or_else(|| panic!("{path} is no schema"));
        visit(path, fields);
        for (name, property) in fields.get("properties").and_then(Value::as_object).into_iter().flatten() {
            walk(property, &format!("{path}.{name}"), visit);
        }
        for inner in ["items", "additionalProperties"] {
            if let Some(schema) = fields.get(inner) {
                walk(schema, &format!("{path}[]"), visit);
            }
        }
    }

    fn root(kind: ComponentKind) -> Value {
        definition(kind)["spec"]["versions"][0]["schema"]["openAPIV3Schema"].clone()
    }

    #[test]
    fn the_schemas_are_structural() {
        for kind in ComponentKind::ALL {
            walk(&root(kind), "", &mut |path, fields| {
                let typed = fields.get("type").is_some_and(Value::is_string);
                assert!(typed || fields.contains_key("x-kubernetes-int-or-string"), "{path} has no type");
                for banned in ["$ref", "$defs", "title", "oneOf", "nullable", "const", "default"] {
                    assert!(!fields.contains_key(banned), "{path} has {banned}");
                }
                assert!(!fields.contains_key("anyOf") || !typed, "{path} is still a choice");
            });
        }
    }

    #[test]
    fn w04_the_target_is_immutable_at_the_root() {
        let rules = root(ComponentKind::Serving)["x-kubernetes-validations"].clone();
        assert_eq!(rules.as_array().unwrap().len(), 2);
        assert!(
            rules[0]["rule"]
                .as_str()
                .unwrap()
                .starts_with("(has(self.spec) && has(self.spec.clusterProfileRef))")
        );
    }

    #[test]
    fn required_fields_are_those_of_the_existing_definitions() {
        let mut required = Vec::new();
        walk(&root(ComponentKind::Serving), "", &mut |path, fields| {
            if let Some(names) = fields.get("required") {
                required.push(format!("{path}: {names}"));
            }
        });
        for expected in [
            ".spec.additionalManifests[]: [\"URL\"]",
            ".spec.clusterProfileRef: [\"name\",\"namespace\"]",
            ".spec.high-availability: [\"replicas\"]",
            ".spec.security: [\"securityGuard\"]",
            ".spec.workloads[].env[].envVars[]: [\"name\"]",
            ".spec.workloads[]: [\"name\"]",
        ] {
            assert!(required.iter().any(|found| found == expected), "{expected} not in {required:#?}");
        }
    }

    #[test]
    fn w44_a_list_shows_version_readiness_and_age() {
        let columns =
            definition(ComponentKind::Eventing)["spec"]["versions"][0]["additionalPrinterColumns"].clone();
        let names: Vec<_> =
            columns.as_array().unwrap().iter().map(|column| column["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["Version", "Ready", "Reason", "Target Cluster", "Age"]);
    }
}
