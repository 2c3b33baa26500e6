//! Whether a schema is structural
//! (`k8s.io/apiextensions-apiserver/pkg/apiserver/schema/validation.go` and `pkg/apis/apiextensions/validation`).
//!
//! Not all rules: properties inside `anyOf` and the like need not occur outside.

use serde_json::{Map, Value};

use super::cel;
use super::error;
use super::node::{Additional, Node};
use super::validate;
use crate::schema::{FieldError, FieldErrorReason as Reason};

/// What is wrong with a schema.
pub(super) fn problems(schema: &Value, base: &str) -> Vec<FieldError> {
    let mut check = Check { path: base.to_owned(), problems: Vec::new() };
    check.schema(schema, Level::Root);
    check.problems
}

/// Defaults that their own schema refuses.
pub(super) fn wrong_defaults(root: &Node, base: &str) -> Vec<FieldError> {
    let mut problems = Vec::new();
    walk_defaults(root, base, &mut problems);
    problems
}

fn walk_defaults(node: &Node, path: &str, problems: &mut Vec<FieldError>) {
    if let Some(default) = &node.default {
        // The server validates a default by itself, so that its path is empty in messages.
        for mut wrong in validate::errors(node, default, None) {
            wrong.path = match wrong.path.as_str() {
                "" | "<nil>" => format!("{path}.default"),
                inner => format!("{path}.default.{inner}"),
            };
            problems.push(wrong);
        }
    }
    for (name, member) in &node.properties {
        walk_defaults(member, &format!("{path}.properties[{name}]"), problems);
    }
    if let Additional::Each(each) = &node.additional {
        walk_defaults(each, &format!("{path}.additionalProperties"), problems);
    }
    if let Some(item) = &node.items {
        walk_defaults(item, &format!("{path}.items"), problems);
    }
}

/// Where in a schema a schema stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Root,
    Field,
    Item,
}

struct Check {
    path: String,
    problems: Vec<FieldError>,
}

impl Check {
    fn fail(&mut self, place: &str, reason: Reason, message: &str) {
        self.problems.push(error(&format!("{}{place}", self.path), reason, message.to_owned()));
    }

    fn required(&mut self, place: &str, detail: &str) {
        self.fail(place, Reason::FieldValueRequired, &format!("Required value: {detail}"));
    }

    fn forbidden(&mut self, place: &str, detail: &str) {
        self.fail(place, Reason::FieldValueForbidden, &format!("Forbidden: {detail}"));
    }

    fn invalid(&mut self, place: &str, value: &Value, detail: &str) {
        self.fail(place, Reason::FieldValueInvalid, &format!("Invalid value: {value}: {detail}"));
    }

    fn below(&mut self, place: &str, check: impl FnOnce(&mut Self)) {
        let length = self.path.len();
        self.path.push_str(place);
        check(self);
        self.path.truncate(length);
    }

    fn schema(&mut self, schema: &Value, level: Level) {
        let Value::Object(schema) = schema else {
            self.required("", "must be specified");
            return;
        };
        self.type_name(schema, level);
        self.unsupported(schema);
        self.extensions(schema);
        self.metadata(schema, level);
        self.combinations(schema);
        self.rules(schema);
        if schema.contains_key("properties") && schema.contains_key("additionalProperties") {
            self.forbidden(
                ".additionalProperties",
                "additionalProperties and properties are mutual exclusive",
            );
        }
        if text(schema, "type") == Some("array") && !schema.contains_key("items") {
            self.required(".items", "must be specified");
        }
        for (name, member) in members(schema, "properties") {
            self.below(&format!(".properties[{name}]"), |check| check.schema(member, Level::Field));
        }
        if let Some(each @ Value::Object(_)) = schema.get("additionalProperties") {
            self.below(".additionalProperties", |check| check.schema(each, Level::Field));
        }
        if let Some(items) = schema.get("items") {
            self.below(".items", |check| check.schema(items, Level::Item));
        }
    }

    fn type_name(&mut self, schema: &Map<String, Value>, level: Level) {
        let embedded = is_set(schema, "x-kubernetes-embedded-resource");
        let any = is_set(schema, "x-kubernetes-int-or-string")
            || is_set(schema, "x-kubernetes-preserve-unknown-fields");
        match text(schema, "type").filter(|name| !name.is_empty()) {
            None if embedded => {
                self.required(".type", "must be object if x-kubernetes-embedded-resource is true");
            }
            None if any => {}
            None => self.required(
                ".type",
                match level {
                    Level::Root => "must not be empty at the root",
                    Level::Item => "must not be empty for specified array items",
                    Level::Field => "must not be empty for specified object fields",
                },
            ),
            Some("object") => {}
            Some(other) if embedded => self.invalid(
                ".type",
                &other.into(),
                "must be object if x-kubernetes-embedded-resource is true",
            ),
            Some(other) if level == Level::Root => {
                self.invalid(".type", &other.into(), "must be object at the root");
            }
            Some("array" | "string" | "integer" | "number" | "boolean") => {}
            Some(other) => self.fail(
                ".type",
                Reason::FieldValueNotSupported,
                &format!(
                    "Unsupported value: \"{other}\": supported values: \
                     \"array\", \"boolean\", \"integer\", \"number\", \"object\", \"string\""
                ),
            ),
        }
    }

    fn unsupported(&mut self, schema: &Map<String, Value>) {
        for name in
            ["$ref", "$schema", "id", "definitions", "dependencies", "patternProperties", "additionalItems"]
        {
            if schema.contains_key(name) {
                self.forbidden(&format!(".{name}"), &format!("{name} is not supported"));
            }
        }
        if is_set(schema, "uniqueItems") {
            self.forbidden(
                ".uniqueItems",
                "uniqueItems cannot be set to true since the runtime complexity becomes quadratic",
            );
        }
        if schema.get("additionalProperties") == Some(&Value::Bool(false)) {
            self.forbidden(".additionalProperties", "additionalProperties cannot be set to false");
        }
    }

    fn extensions(&mut self, schema: &Map<String, Value>) {
        let type_name = text(schema, "type").unwrap_or_default();
        let preserve = schema.get("x-kubernetes-preserve-unknown-fields");
        if preserve == Some(&Value::Bool(false)) {
            self.invalid(
                ".x-kubernetes-preserve-unknown-fields",
                &Value::Bool(false),
                "must be true or undefined",
            );
        }
        if is_set(schema, "x-kubernetes-embedded-resource")
            && !is_set(schema, "x-kubernetes-preserve-unknown-fields")
            && members(schema, "properties").next().is_none()
        {
            self.required(
                ".properties",
                "must not be empty if x-kubernetes-embedded-resource is true without \
                 x-kubernetes-preserve-unknown-fields",
            );
        }
        match text(schema, "x-kubernetes-map-type") {
            None => {}
            Some(_) if type_name != "object" => {
                self.invalid(
                    ".type",
                    &type_name.into(),
                    "must be object if x-kubernetes-map-type is specified",
                );
            }
            Some("atomic" | "granular") => {}
            Some(other) => self.fail(
                ".x-kubernetes-map-type",
                Reason::FieldValueNotSupported,
                &format!("Unsupported value: \"{other}\": supported values: \"atomic\", \"granular\""),
            ),
        }
        match text(schema, "x-kubernetes-list-type") {
            None => {
                if schema.contains_key("x-kubernetes-list-map-keys") {
                    self.required(
                        ".x-kubernetes-list-type",
                        "must be map if x-kubernetes-list-map-keys is non-empty",
                    );
                }
            }
            Some(_) if type_name != "array" => {
                self.invalid(
                    ".type",
                    &type_name.into(),
                    "must be array if x-kubernetes-list-type is specified",
                );
            }
            Some("atomic") => {}
            Some("set") => self.set_items(schema),
            Some("map") => self.map_keys(schema),
            Some(other) => self.fail(
                ".x-kubernetes-list-type",
                Reason::FieldValueNotSupported,
                &format!("Unsupported value: \"{other}\": supported values: \"atomic\", \"map\", \"set\""),
            ),
        }
    }

    fn set_items(&mut self, schema: &Map<String, Value>) {
        const OF_A_SET: &str = "must be atomic as item of a list with x-kubernetes-list-type=set";
        let Some(Value::Object(items)) = schema.get("items") else { return };
        if is_set(items, "nullable") {
            self.forbidden(".items.nullable", "cannot be nullable when x-kubernetes-list-type is set");
        }
        let (place, wanted) = match text(items, "type") {
            Some("object") => (".items.x-kubernetes-map-type", items.get("x-kubernetes-map-type")),
            Some("array") => (".items.x-kubernetes-list-type", items.get("x-kubernetes-list-type")),
            _ => return,
        };
        if wanted.is_none_or(|wanted| wanted != "atomic") {
            self.invalid(place, wanted.unwrap_or(&Value::Null), OF_A_SET);
        }
    }

    fn map_keys(&mut self, schema: &Map<String, Value>) {
        let keys: Vec<&str> = list(schema, "x-kubernetes-list-map-keys").filter_map(Value::as_str).collect();
        if keys.is_empty() {
            self.required(
                ".x-kubernetes-list-map-keys",
                "must not be empty if x-kubernetes-list-type is map",
            );
        }
        let Some(Value::Object(items)) = schema.get("items") else { return };
        if text(items, "type") != Some("object") {
            let found = items.get("type").unwrap_or(&Value::Null);
            self.invalid(
                ".items.type",
                found,
                "must be object if parent array's x-kubernetes-list-type is map",
            );
        }
        for (position, key) in keys.iter().enumerate() {
            let place = format!(".x-kubernetes-list-map-keys[{position}]");
            if keys[..position].contains(key) {
                self.fail(&place, Reason::FieldValueDuplicate, &format!("Duplicate value: \"{key}\""));
            }
            let Some(property) = members(items, "properties").find(|(name, _)| name == key) else {
                self.invalid(&place, &(*key).into(), "entries must all be names of item properties");
                continue;
            };
            let has_default = property.1.get("default").is_some();
            if !has_default && !list(items, "required").any(|name| name == key) {
                self.required(
                    &format!(".items.properties[{key}].default"),
                    "this property is in x-kubernetes-list-map-keys, so it must have a default or be a \
                     required property",
                );
            }
        }
    }

    fn metadata(&mut self, schema: &Map<String, Value>, level: Level) {
        if level != Level::Root && !is_set(schema, "x-kubernetes-embedded-resource") {
            return;
        }
        for (name, member) in members(schema, "properties") {
            match name.as_str() {
                "kind" | "apiVersion" => {
                    if let Some(found) = member.get("type").filter(|found| *found != "string") {
                        self.invalid(&format!(".properties[{name}].type"), found, "must be string");
                    }
                }
                "metadata" => {
                    if let Some(found) = member.get("type").filter(|found| *found != "object") {
                        self.invalid(".properties[metadata].type", found, "must be object");
                    }
                    let only_names =
                        member.get("properties").and_then(Value::as_object).is_none_or(|fields| {
                            fields.keys().all(|name| matches!(name.as_str(), "name" | "generateName"))
                        });
                    if !only_names || member.get("additionalProperties").is_some() {
                        self.forbidden(
                            ".properties[metadata]",
                            "must not specify anything other than name and generateName, but metadata is \
                             implicitly specified",
                        );
                    }
                }
                _ => {}
            }
        }
    }

    fn combinations(&mut self, schema: &Map<String, Value>) {
        // These two forms spell out what int-or-string means, and may name types.
        let int_or_string = is_set(schema, "x-kubernetes-int-or-string");
        let spelled_out = |alternatives: Option<&Value>| {
            int_or_string
                && alternatives.and_then(Value::as_array).is_some_and(|alternatives| {
                    let types: Vec<_> = alternatives.iter().filter_map(|one| one.get("type")).collect();
                    types.len() == 2 && types[0] == "integer" && types[1] == "string"
                })
        };
        for name in ["allOf", "anyOf", "oneOf"] {
            if name == "anyOf" && spelled_out(schema.get(name)) {
                continue;
            }
            for (position, nested) in list(schema, name).enumerate() {
                if name == "allOf" && position == 0 && spelled_out(nested.get("anyOf")) {
                    continue;
                }
                self.below(&format!(".{name}[{position}]"), |check| check.nested(nested));
            }
        }
        if let Some(not) = schema.get("not") {
            self.below(".not", |check| check.nested(not));
        }
    }

    fn rules(&mut self, schema: &Map<String, Value>) {
        let rules: Vec<&Value> = list(schema, "x-kubernetes-validations").collect();
        let is_blank = |rule: &&Value| rule.get("rule").and_then(Value::as_str).is_none_or(str::is_empty);
        let place = |position: usize| format!(".x-kubernetes-validations[{position}].rule");
        if rules.iter().any(is_blank) {
            for (position, _) in rules.iter().enumerate().filter(|(_, rule)| is_blank(rule)) {
                self.required(&place(position), "rule is not specified");
            }
            return;
        }
        for (position, rule) in rules.iter().enumerate() {
            if let Err(problem) = cel::compile(rule) {
                self.invalid(&place(position), rule, &format!("compilation failed: {problem}"));
            }
        }
    }

    /// A schema inside `allOf` and the like: it validates, and says nothing of the structure.
    fn nested(&mut self, schema: &Value) {
        let Value::Object(schema) = schema else { return };
        const FORBIDDEN: &[(&str, &str)] = &[
            ("type", "must be empty to be structural"),
            ("title", "must be empty to be structural"),
            ("description", "must be empty to be structural"),
            ("additionalProperties", "must be undefined to be structural"),
            ("default", "must be undefined to be structural"),
            ("nullable", "must be false to be structural"),
            ("x-kubernetes-preserve-unknown-fields", "must be undefined to be structural"),
            ("x-kubernetes-embedded-resource", "must be false to be structural"),
            ("x-kubernetes-int-or-string", "must be false to be structural"),
            ("x-kubernetes-list-map-keys", "must be empty to be structural"),
            ("x-kubernetes-list-type", "must be undefined to be structural"),
            ("x-kubernetes-map-type", "must be undefined to be structural"),
        ];
        for (name, detail) in FORBIDDEN {
            let blank = |value: &Value| *value == Value::Bool(false) || value == "";
            if schema.get(*name).is_some_and(|value| !blank(value)) {
                self.forbidden(&format!(".{name}"), detail);
            }
        }
        self.combinations(schema);
        for (name, member) in members(schema, "properties") {
            self.below(&format!(".properties[{name}]"), |check| check.nested(member));
        }
        if let Some(items) = schema.get("items") {
            self.below(".items", |check| check.nested(items));
        }
    }
}

fn text<'s>(schema: &'s Map<String, Value>, name: &str) -> Option<&'s str> {
    schema.get(name).and_then(Value::as_str)
}

fn is_set(schema: &Map<String, Value>, name: &str) -> bool {
    schema.get(name) == Some(&Value::Bool(true))
}

fn members<'s>(schema: &'s Map<String, Value>, name: &str) -> impl Iterator<Item = (&'s String, &'s Value)> {
    schema.get(name).and_then(Value::as_object).into_iter().flatten()
}

fn list<'s>(schema: &'s Map<String, Value>, name: &str) -> impl Iterator<Item = &'s Value> {
    schema.get(name).and_then(Value::as_array).into_iter().flatten()
}
