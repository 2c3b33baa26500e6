//! Documents as they were written: members in order, repeated ones included, so that both can be reported. What a
//! request means is a [`Value`]; this is only what it says.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Number, Value};

/// A document or a part of one.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Document {
    Null,
    Bool(bool),
    Number(Number),
    String(String),
    List(Vec<Document>),
    Object(Vec<(String, Document)>),
}

impl Document {
    /// Reads JSON; what is wrong is said as Go says it.
    pub(crate) fn from_json(text: &[u8]) -> Result<Self, String> {
        serde_json::from_slice(text).map_err(|error| go_message(text, &error))
    }

    /// Reads YAML, whose members Kubernetes sorts by name. Repeated members do not show; the last one counts.
    pub(crate) fn from_yaml(text: &[u8]) -> Result<Self, String> {
        parse_yaml(text).map(Self::from)
    }

    /// What Go calls a value of this kind.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "bool",
            Self::Number(_) => "number",
            Self::String(_) => "string",
            Self::List(_) => "array",
            Self::Object(_) => "object",
        }
    }

    /// The value of a member of an object, if it is text.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        let Self::Object(members) = self else { return None };
        members.iter().rev().find(|(member, _)| member == name).and_then(|(_, value)| match value {
            Self::String(text) => Some(text.as_str()),
            _ => None,
        })
    }

    /// The paths of repeated members, in order.
    pub(crate) fn repeated(&self) -> Vec<String> {
        let mut found = Vec::new();
        self.collect_repeated(&mut String::new(), &mut found);
        // The same member can be repeated more than twice.
        let mut told = std::collections::BTreeSet::new();
        found.retain(|path| told.insert(path.clone()));
        found
    }

    fn collect_repeated(&self, path: &mut String, found: &mut Vec<String>) {
        let length = path.len();
        match self {
            Self::List(items) => {
                for (position, item) in items.iter().enumerate() {
                    path.push_str(&format!("[{position}]"));
                    item.collect_repeated(path, found);
                    path.truncate(length);
                }
            }
            Self::Object(members) => {
                let mut seen = std::collections::BTreeSet::new();
                for (name, value) in members {
                    if length > 0 {
                        path.push('.');
                    }
                    path.push_str(name);
                    if !seen.insert(name) {
                        found.push(path.clone());
                    }
                    value.collect_repeated(path, found);
                    path.truncate(length);
                }
            }
            _ => {}
        }
    }
}

/// YAML as a value; of repeated members the last one counts.
pub(crate) fn parse_yaml(text: &[u8]) -> Result<Value, String> {
    if let Ok(value) = serde_json::from_slice(text) {
        return Ok(value);
    }
    let text = std::str::from_utf8(text).map_err(|why| why.to_string())?;
    let options = serde_saphyr::options! {
        duplicate_keys: serde_saphyr::options::DuplicateKeyPolicy::LastWins,
    };
    serde_saphyr::from_str_with_options(text, options).map_err(|why| why.to_string())
}

/// What a strict reader of YAML says of the first repeated member: `line 7: key "a" already set in map`.
pub(crate) fn repeated_in_yaml(text: &[u8]) -> Option<String> {
    // What is JSON, as most applies are, is told much faster.
    if Document::from_json(text).is_ok_and(|document| document.repeated().is_empty()) {
        return None;
    }
    let error = serde_saphyr::from_slice::<Value>(text).err()?;
    let serde_saphyr::Error::DuplicateMappingKey { key, location } = error.without_snippet() else {
        return None;
    };
    Some(format!(
        "line {}: key \"{}\" already set in map",
        location.line(),
        key.as_deref().unwrap_or_default()
    ))
}

impl From<Value> for Document {
    fn from(value: Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Bool(value),
            Value::Number(value) => Self::Number(value),
            Value::String(value) => Self::String(value),
            Value::Array(items) => Self::List(items.into_iter().map(Self::from).collect()),
            Value::Object(members) => {
                Self::Object(members.into_iter().map(|(name, value)| (name, value.into())).collect())
            }
        }
    }
}

/// The last of repeated members counts.
impl From<Document> for Value {
    fn from(document: Document) -> Self {
        match document {
            Document::Null => Self::Null,
            Document::Bool(value) => Self::Bool(value),
            Document::Number(value) => Self::Number(value),
            Document::String(value) => Self::String(value),
            Document::List(items) => Self::Array(items.into_iter().map(Self::from).collect()),
            Document::Object(members) => {
                Self::Object(members.into_iter().map(|(name, value)| (name, value.into())).collect())
            }
        }
    }
}

impl<'de> Deserialize<'de> for Document {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Document;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_unit<E>(self) -> Result<Document, E> {
        Ok(Document::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Document, E> {
        Ok(Document::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Document, E> {
        Ok(Document::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Document, E> {
        Ok(Document::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Document, E> {
        Ok(Number::from_f64(value).map_or(Document::Null, Document::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Document, E> {
        Ok(Document::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Document, E> {
        Ok(Document::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Document, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Document::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Document, A::Error> {
        let mut object = Vec::new();
        while let Some(member) = members.next_entry()? {
            object.push(member);
        }
        Ok(Document::Object(object))
    }
}

/// What Go's reader says of a text that is no JSON.
fn go_message(text: &[u8], error: &serde_json::Error) -> String {
    if error.is_eof() || text.is_empty() {
        return "unexpected end of JSON input".into();
    }
    let said = error.to_string();
    let line_start = text.split_inclusive(|byte| *byte == b'\n').take(error.line().saturating_sub(1));
    let start: usize = line_start.map(<[u8]>::len).sum();
    let rest = text.get(start + error.column().saturating_sub(1)..).unwrap_or_default();
    let character = String::from_utf8_lossy(rest).chars().next().unwrap_or('\u{fffd}');
    let place = if said.starts_with("key must be a string") {
        "looking for beginning of object key string"
    } else if said.starts_with("expected `:`") {
        "after object key"
    } else if said.starts_with("expected `,` or `}`") {
        "after object key:value pair"
    } else if said.starts_with("expected `,` or `]`") {
        "after array element"
    } else if said.starts_with("trailing characters") {
        "after top-level value"
    } else if said.starts_with("trailing comma") && character == '}' {
        "looking for beginning of object key string"
    } else {
        "looking for beginning of value"
    };
    format!("invalid character '{character}' {place}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_members_are_found_by_their_path() {
        let document =
            Document::from_json(br#"{"data":{"a":"1","a":"2"},"l":[{"b":1,"b":2}],"data":{}}"#).unwrap();
        assert_eq!(document.repeated(), ["data.a", "l[0].b", "data"]);
    }

    #[test]
    fn broken_json_is_described_as_go_describes_it() {
        for (text, message) in [
            ("", "unexpected end of JSON input"),
            ("{\"a\":", "unexpected end of JSON input"),
            ("hello", "invalid character 'h' looking for beginning of value"),
            ("{a:1}", "invalid character 'a' looking for beginning of object key string"),
            ("{\"a\" 1}", "invalid character '1' after object key"),
            ("{\"a\":1 \"b\"}", "invalid character '\"' after object key:value pair"),
            ("[1 2]", "invalid character '2' after array element"),
            ("{}x", "invalid character 'x' after top-level value"),
        ] {
            assert_eq!(Document::from_json(text.as_bytes()).unwrap_err(), message, "{text}");
        }
    }

    #[test]
    fn repeated_members_of_json_are_told_as_those_of_yaml() {
        assert_eq!(repeated_in_yaml(br#"{"a": 1, "b": {"c": 1}}"#), None);
        let told = repeated_in_yaml(br#"{"a": 1, "b": {"c": 1, "c": 2}}"#).unwrap();
        assert_eq!(told, "line 1: key \"c\" already set in map");
    }

    #[test]
    fn the_line_of_a_repeated_member_is_told() {
        let text = b"a: 1\nb:\n  c: 1\n  c: 2\n";
        assert_eq!(repeated_in_yaml(text).unwrap(), "line 4: key \"c\" already set in map");
        assert_eq!(parse_yaml(text).unwrap()["b"]["c"], 2);
    }
}
