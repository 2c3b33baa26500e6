//! Reading a document into a built-in type as Go reads JSON into a struct (`sigs.k8s.io/json`): what has no field is
//! left out and reported, what has the wrong type is refused, scalars get their canonical form.

use std::collections::BTreeSet;

use base64::Engine;
use serde_json::{Map, Number, Value};

use super::table::{Field, Shape, Type, Types};
use super::{quantity, time};
use crate::schema::document::Document;

/// What was read.
#[derive(Debug)]
pub(crate) struct Decoded {
    pub(crate) value: Value,
    /// What a strict reader objects to, in the order of the document: unknown and repeated fields.
    pub(crate) objections: Vec<String>,
}

/// How a wrong type is told.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Wording {
    /// As by a reader of JSON.
    Json,
    /// As by what turns a patched map into an object (`k8s.io/apimachinery/pkg/runtime`, `FromUnstructured`).
    Map,
}

/// Reads a whole object, or the part of one that stands under `path`.
///
/// # Errors
/// What Go says of the first value of a wrong type.
pub(crate) fn decode(of: &Type, document: Document, path: &[&'static str]) -> Result<Decoded, String> {
    decode_worded(of, document, path, Wording::Json)
}

/// As [`decode`], with the words of another reader.
///
/// # Errors
/// What that reader says of the first value of a wrong type.
pub(crate) fn decode_worded(
    of: &Type,
    document: Document,
    path: &[&'static str],
    wording: Wording,
) -> Result<Decoded, String> {
    let mut reader = Reader {
        wording,
        types: Types::get(),
        within: of.name,
        fields: path.to_vec(),
        path: path.join("."),
        objections: Vec::new(),
        told: BTreeSet::new(),
    };
    let Document::Object(members) = document else {
        let go = reader.types.package(of).api_version.rsplit('/').next().unwrap_or_default();
        return Err(format!(
            "json: cannot unmarshal {} into Go value of type {go}.{}",
            document.kind(),
            of.name
        ));
    };
    let value = Value::Object(reader.members(of, members, Map::new())?);
    Ok(Decoded { value, objections: reader.objections })
}

struct Reader {
    wording: Wording,
    types: &'static Types,
    /// The struct that is being read, as Go's messages name it.
    within: &'static str,
    /// The fields on the way here; items of lists and keys of maps do not count.
    fields: Vec<&'static str>,
    /// The whole way here.
    path: String,
    objections: Vec<String>,
    /// The same, for looking up.
    told: BTreeSet<String>,
}

impl Reader {
    fn object(&mut self, what: &str, name: &str) {
        let objection = format!("{what} field \"{name}\"");
        if self.told.insert(objection.clone()) {
            self.objections.push(objection);
        }
    }

    /// Reads members into what earlier ones of the same name left.
    fn members(
        &mut self,
        of: &Type,
        members: Vec<(String, Document)>,
        mut object: Map<String, Value>,
    ) -> Result<Map<String, Value>, String> {
        let outside = std::mem::replace(&mut self.within, of.name);
        let mut seen = std::collections::BTreeSet::new();
        let length = self.path.len();
        for (name, document) in members {
            push(&mut self.path, &name);
            let path = self.path.clone();
            match of.field(&name) {
                Some(field) => {
                    if !seen.insert(field.name) {
                        self.object("duplicate", &path);
                    }
                    self.fields.push(field.name);
                    let before = object.remove(field.name);
                    if let Some(value) = self.value(&field.shape, Some(field), document, before)? {
                        object.insert(name, value);
                    }
                    self.fields.pop();
                }
                None if of.kind && matches!(name.as_str(), "apiVersion" | "kind") => {
                    if !seen.insert(if name == "kind" { "kind" } else { "apiVersion" }) {
                        self.object("duplicate", &path);
                    }
                    object.insert(name, document.into());
                }
                None => self.object("unknown", &path),
            }
            self.path.truncate(length);
        }
        self.within = outside;
        Ok(object)
    }

    /// Reads one value; `None` for a null, which says nothing.
    fn value(
        &mut self,
        shape: &Shape,
        field: Option<&Field>,
        document: Document,
        before: Option<Value>,
    ) -> Result<Option<Value>, String> {
        Ok(Some(match (shape, document) {
            (Shape::Any, Document::Null) | (_, Document::Null) => return Ok(before),
            (Shape::Any, document) => document.into(),
            (Shape::String, Document::String(text)) => text.into(),
            (Shape::Bool, Document::Bool(value)) => value.into(),
            (Shape::Int32 | Shape::IntOrString, Document::Number(number)) => {
                match number.as_i64().and_then(|number| i32::try_from(number).ok()) {
                    Some(number) => number.into(),
                    None => return Err(self.misfit(&format!("number {number}"), shape, field)),
                }
            }
            (Shape::Int64, Document::Number(number)) => match number.as_i64() {
                Some(number) => number.into(),
                None => return Err(self.misfit(&format!("number {number}"), shape, field)),
            },
            (Shape::Double, Document::Number(number)) => number.into(),
            (Shape::IntOrString, Document::String(text)) => text.into(),
            (Shape::Quantity, Document::String(text)) => quantity::canonical(&text)?.into(),
            (Shape::Quantity, Document::Number(number)) => quantity::canonical(&number.to_string())?.into(),
            (Shape::Quantity, document) => {
                return Err(quantity::canonical(document.kind()).err().unwrap_or_default().to_owned());
            }
            (Shape::Time, Document::String(text)) => time::canonical(&text, false)?.into(),
            (Shape::MicroTime, Document::String(text)) => time::canonical(&text, true)?.into(),
            (Shape::Bytes, Document::String(text)) => bytes(&text)?.into(),
            (Shape::Struct(id), Document::Object(members)) => {
                let before = match before {
                    Some(Value::Object(before)) => before,
                    _ => Map::new(),
                };
                let of = &self.types.all[*id];
                Value::Object(self.members(of, members, before)?)
            }
            (Shape::List(item), Document::List(items)) => {
                let length = self.path.len();
                let mut list = Vec::with_capacity(items.len());
                for (position, document) in items.into_iter().enumerate() {
                    self.path.push_str(&format!("[{position}]"));
                    list.push(self.value(item, None, document, None)?.unwrap_or_else(|| zero(item)));
                    self.path.truncate(length);
                }
                list.into()
            }
            (Shape::Map(value), Document::Object(members)) => self.map(value, members, before)?,
            (_, document) => return Err(self.misfit(document.kind(), shape, field)),
        }))
    }

    fn map(
        &mut self,
        shape: &Shape,
        members: Vec<(String, Document)>,
        before: Option<Value>,
    ) -> Result<Value, String> {
        let mut object = match before {
            Some(Value::Object(before)) => before,
            _ => Map::new(),
        };
        let mut seen = std::collections::BTreeSet::new();
        let length = self.path.len();
        for (name, document) in members {
            push(&mut self.path, &name);
            if !seen.insert(name.clone()) {
                let path = self.path.clone();
                self.object("duplicate", &path);
            }
            let value = self.value(shape, None, document, None)?.unwrap_or_else(|| zero(shape));
            object.insert(name, value);
            self.path.truncate(length);
        }
        Ok(Value::Object(object))
    }

    fn misfit(&self, what: &str, shape: &Shape, field: Option<&Field>) -> String {
        if self.wording == Wording::Map {
            let number = what.strip_prefix("number").map(|number| number.contains(['.', 'e']));
            let kind = match (what, number) {
                ("array", _) => "slice",
                ("object", _) => "map",
                (_, Some(true)) => "float64",
                (_, Some(false)) => "int64",
                (scalar, None) => scalar,
            };
            return match shape {
                Shape::List(_) | Shape::Bytes => format!("cannot restore slice from {kind}"),
                Shape::Struct(_) => format!("cannot restore struct from: {kind}"),
                Shape::Map(_) => format!("cannot restore map from {kind}"),
                shape => {
                    let given = match kind {
                        "slice" => "[]interface {}",
                        "map" => "map[string]interface {}",
                        scalar => scalar,
                    };
                    format!("cannot convert {given} to {}", self.types.go_name(shape, field))
                }
            };
        }
        format!(
            "json: cannot unmarshal {what} into Go struct field {}.{} of type {}",
            self.within,
            self.fields.join("."),
            self.types.go_name(shape, field)
        )
    }
}

fn push(path: &mut String, name: &str) {
    if !path.is_empty() {
        path.push('.');
    }
    path.push_str(name);
}

/// What a value of a shape is before anything is said of it.
pub(super) fn zero(shape: &Shape) -> Value {
    match shape {
        Shape::String | Shape::Bytes => "".into(),
        Shape::Bool => false.into(),
        Shape::Int32 | Shape::Int64 | Shape::IntOrString => 0.into(),
        Shape::Double => Value::Number(Number::from(0)),
        Shape::Quantity => "0".into(),
        Shape::Struct(_) => Value::Object(Map::new()),
        Shape::Time | Shape::MicroTime | Shape::Any | Shape::List(_) | Shape::Map(_) => Value::Null,
    }
}

/// Checks base64 and takes line breaks out of it.
fn bytes(text: &str) -> Result<String, String> {
    use base64::DecodeError as E;
    let text: String = text.chars().filter(|c| !matches!(c, '\r' | '\n')).collect();
    base64::engine::general_purpose::STANDARD.decode(&text).map(|_| ()).map_err(|error| {
        let at = match error {
            E::InvalidByte(at, _) | E::InvalidLastSymbol(at, _) => at,
            // Go names where the last incomplete group of four begins.
            _ => text.len() / 4 * 4,
        };
        format!("illegal base64 data at input byte {at}")
    })?;
    Ok(text)
}
