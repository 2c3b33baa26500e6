//! One node of a schema, read from its JSON form.
//!
//! Reading is lenient: what is wrong is reported by `check`, and a node of a wrong schema is never used.

use std::collections::BTreeMap;

use regex::Regex;
use serde_json::{Map, Value};

use super::cel::Rule;

/// A schema for one value.
#[derive(Clone, Debug, Default)]
pub(super) struct Node {
    /// `object`, `array`, `string`, `integer`, `number`, `boolean`; absent for anything or int-or-string.
    pub(super) type_name: Option<String>,
    pub(super) nullable: bool,
    pub(super) int_or_string: bool,
    pub(super) preserve: bool,
    pub(super) embedded: bool,
    pub(super) properties: BTreeMap<String, Node>,
    pub(super) additional: Additional,
    pub(super) items: Option<Box<Node>>,
    pub(super) default: Option<Value>,
    pub(super) list: ListType,
    pub(super) atomic_map: bool,
    pub(super) checks: Checks,
    pub(super) rules: Vec<Rule>,
    /// Whether this node or one below it has rules.
    pub(super) ruled: bool,
}

/// What a schema says of members without a property.
#[derive(Clone, Debug, Default)]
pub(super) enum Additional {
    /// Unknown fields.
    #[default]
    None,
    /// Anything.
    Any,
    /// Values of a map.
    Each(Box<Node>),
}

/// `x-kubernetes-list-type`.
#[derive(Clone, Debug, Default)]
pub(super) enum ListType {
    #[default]
    Atomic,
    Set,
    /// By these keys.
    Map(Vec<String>),
}

/// Value validations.
#[derive(Clone, Debug, Default)]
pub(super) struct Checks {
    pub(super) format: Option<String>,
    pub(super) minimum: Option<f64>,
    pub(super) exclusive_minimum: bool,
    pub(super) maximum: Option<f64>,
    pub(super) exclusive_maximum: bool,
    pub(super) multiple_of: Option<f64>,
    pub(super) min_length: Option<u64>,
    pub(super) max_length: Option<u64>,
    pub(super) pattern: Option<Pattern>,
    pub(super) min_items: Option<u64>,
    pub(super) max_items: Option<u64>,
    pub(super) min_properties: Option<u64>,
    pub(super) max_properties: Option<u64>,
    pub(super) required: Vec<String>,
    pub(super) values: Vec<Value>,
    pub(super) all_of: Vec<Node>,
    pub(super) any_of: Vec<Node>,
    pub(super) one_of: Vec<Node>,
    pub(super) not: Option<Box<Node>>,
}

/// A regular expression and its text.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    pub(super) text: String,
    /// Absent if it uses syntax we do not have; such a pattern matches everything.
    pub(super) regex: Option<Regex>,
}

impl Node {
    /// Reads a schema.
    pub(super) fn parse(schema: &Value) -> Self {
        let Value::Object(schema) = schema else { return Self::default() };
        let flag = |name: &str| schema.get(name) == Some(&Value::Bool(true));
        let text = |name: &str| schema.get(name).and_then(Value::as_str);
        let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
        let mut node = Self {
            type_name: text("type").filter(|name| !name.is_empty()).map(str::to_owned),
            nullable: flag("nullable"),
            int_or_string: flag("x-kubernetes-int-or-string"),
            preserve: flag("x-kubernetes-preserve-unknown-fields"),
            embedded: flag("x-kubernetes-embedded-resource"),
            properties: properties.map(|(name, schema)| (name.clone(), Self::parse(schema))).collect(),
            additional: match schema.get("additionalProperties") {
                Some(Value::Bool(true)) => Additional::Any,
                Some(each @ Value::Object(_)) => Additional::Each(Box::new(Self::parse(each))),
                _ => Additional::None,
            },
            items: schema.get("items").map(|items| Box::new(Self::parse(items))),
            default: schema.get("default").cloned(),
            list: match text("x-kubernetes-list-type") {
                Some("set") => ListType::Set,
                Some("map") => ListType::Map(texts(schema, "x-kubernetes-list-map-keys")),
                _ => ListType::Atomic,
            },
            atomic_map: text("x-kubernetes-map-type") == Some("atomic"),
            checks: Checks::parse(schema),
            rules: Rule::parse_all(schema),
            ruled: false,
        };
        node.ruled = !node.rules.is_empty()
            || node.properties.values().any(|member| member.ruled)
            || node.items.as_ref().is_some_and(|item| item.ruled)
            || matches!(&node.additional, Additional::Each(each) if each.ruled);
        node
    }

    /// The schema of a member of an object; `None` for an unknown field.
    pub(super) fn member(&self, name: &str) -> Option<&Node> {
        self.properties.get(name).or(match &self.additional {
            Additional::Each(each) => Some(each),
            _ => None,
        })
    }
}

impl ListType {
    /// The old item that corresponds to a new one: only lists with keys tell.
    pub(super) fn counterpart<'v>(&self, item: &Value, old: Option<&'v Value>) -> Option<&'v Value> {
        let ListType::Map(keys) = self else { return None };
        old?.as_array()?.iter().find(|old| keys.iter().all(|key| old.get(key) == item.get(key)))
    }
}

impl Checks {
    fn parse(schema: &Map<String, Value>) -> Self {
        let flag = |name: &str| schema.get(name) == Some(&Value::Bool(true));
        let number = |name: &str| schema.get(name).and_then(Value::as_f64);
        let count = |name: &str| schema.get(name).and_then(Value::as_u64);
        let nodes = |name: &str| -> Vec<Node> {
            schema.get(name).and_then(Value::as_array).into_iter().flatten().map(Node::parse).collect()
        };
        Self {
            format: schema.get("format").and_then(Value::as_str).map(str::to_owned),
            minimum: number("minimum"),
            exclusive_minimum: flag("exclusiveMinimum"),
            maximum: number("maximum"),
            exclusive_maximum: flag("exclusiveMaximum"),
            multiple_of: number("multipleOf"),
            min_length: count("minLength"),
            max_length: count("maxLength"),
            pattern: schema
                .get("pattern")
                .and_then(Value::as_str)
                .map(|text| Pattern { text: text.to_owned(), regex: Regex::new(text).ok() }),
            min_items: count("minItems"),
            max_items: count("maxItems"),
            min_properties: count("minProperties"),
            max_properties: count("maxProperties"),
            required: texts(schema, "required"),
            values: schema.get("enum").and_then(Value::as_array).cloned().unwrap_or_default(),
            all_of: nodes("allOf"),
            any_of: nodes("anyOf"),
            one_of: nodes("oneOf"),
            not: schema.get("not").map(|not| Box::new(Node::parse(not))),
        }
    }
}

fn texts(schema: &Map<String, Value>, name: &str) -> Vec<String> {
    let list = schema.get(name).and_then(Value::as_array).into_iter().flatten();
    list.filter_map(Value::as_str).map(str::to_owned).collect()
}
