//! Variables of a case, and JSON pointers.

use std::collections::BTreeMap;

use serde_json::Value;

/// Values for `${name}`.
pub(crate) struct Vars(BTreeMap<String, Value>);

impl Vars {
    pub(crate) fn new(run: &str) -> Self {
        Self(BTreeMap::from([("run".to_owned(), Value::from(run))]))
    }

    pub(crate) fn set(&mut self, name: &str, value: Value) {
        self.0.insert(name.to_owned(), value);
    }

    /// Replaces `${name}` once in all texts, those of members' names included.
    pub(crate) fn fill(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::from(self.fill_text(text, str::to_owned)),
            Value::Array(items) => items.iter().map(|item| self.fill(item)).collect(),
            Value::Object(members) => members
                .iter()
                .map(|(name, value)| (self.fill_text(name, str::to_owned), self.fill(value)))
                .collect(),
            scalar => scalar.clone(),
        }
    }

    /// Replaces `${name}` in JSON text.
    pub(crate) fn fill_json(&self, text: &str) -> String {
        self.fill_text(text, |value| {
            let quoted = Value::from(value).to_string();
            quoted[1..quoted.len() - 1].to_owned()
        })
    }

    fn fill_text(&self, text: &str, written: impl Fn(&str) -> String) -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            out.push_str(before);
            let (name, after) = after.split_once('}').expect("a variable ends with a brace");
            match self.0.get(name).unwrap_or_else(|| panic!("no variable is named {name}")) {
                Value::String(value) => out.push_str(&written(value)),
                other => out.push_str(&other.to_string()),
            }
            rest = after;
        }
        out.push_str(rest);
        out
    }
}

/// The name of a run: `x` and seven letters that make no word.
pub(crate) fn run_name(number: usize) -> String {
    const LETTERS: &[u8] = b"bcdfghjkmnpqrstvwz";
    let digit = |place: u32| LETTERS[number / LETTERS.len().pow(place) % LETTERS.len()] as char;
    format!("x{}", (0..7).map(digit).collect::<String>())
}

/// The names in a JSON pointer (RFC 6901).
pub(crate) fn tokens(pointer: &str) -> Vec<String> {
    pointer.split('/').skip(1).map(|token| token.replace("~1", "/").replace("~0", "~")).collect()
}

/// A name as a part of a JSON pointer.
pub(crate) fn escape(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}
