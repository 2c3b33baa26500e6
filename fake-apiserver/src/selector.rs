//! Label and field selectors: parsing with the server's error messages, and matching.
//!
//! Grammar: `k8s.io/apimachinery/pkg/labels/selector.go` and `pkg/fields/selector.go`.

use serde_json::Value;

use crate::status::{Answer, Status};

/// A parsed label selector.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct LabelSelector(Vec<Requirement>);

#[derive(Clone, Debug, PartialEq)]
struct Requirement {
    key: String,
    operator: Operator,
    values: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Operator {
    In,
    NotIn,
    Exists,
    DoesNotExist,
    GreaterThan,
    LessThan,
}

impl LabelSelector {
    /// Parses the `labelSelector` query parameter.
    ///
    /// # Errors
    /// 400 with the server's message.
    pub(crate) fn parse(text: &str) -> Answer<Self> {
        let mut parser = Parser { tokens: lex(text), at: 0 };
        parser
            .selector()
            .map(Self)
            .map_err(|why| Status::bad_request(format!("unable to parse requirement: {why}")))
    }

    /// Reads a `metav1.LabelSelector` object; an absent one selects everything.
    pub(crate) fn from_object(selector: &Value) -> Self {
        let mut requirements = Vec::new();
        if let Some(labels) = selector.get("matchLabels").and_then(Value::as_object) {
            for (key, value) in labels {
                let values = vec![value.as_str().unwrap_or_default().to_owned()];
                requirements.push(Requirement { key: key.clone(), operator: Operator::In, values });
            }
        }
        for expression in selector.get("matchExpressions").and_then(Value::as_array).into_iter().flatten() {
            let operator = match expression["operator"].as_str().unwrap_or_default() {
                "In" => Operator::In,
                "NotIn" => Operator::NotIn,
                "Exists" => Operator::Exists,
                _ => Operator::DoesNotExist,
            };
            let values = expression["values"].as_array().into_iter().flatten();
            requirements.push(Requirement {
                key: expression["key"].as_str().unwrap_or_default().to_owned(),
                operator,
                values: values.filter_map(|value| value.as_str().map(str::to_owned)).collect(),
            });
        }
        Self(requirements)
    }

    /// Whether it selects everything.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether `labels` (an object, or null) satisfies every requirement.
    pub(crate) fn matches(&self, labels: &Value) -> bool {
        self.0
            .iter()
            .all(|requirement| requirement.matches(labels.get(&requirement.key).and_then(Value::as_str)))
    }
}

impl Requirement {
    fn matches(&self, value: Option<&str>) -> bool {
        let among = |value: &str| self.values.iter().any(|candidate| candidate == value);
        let compare = |value: &str| -> Option<std::cmp::Ordering> {
            let bound: i64 = self.values.first()?.parse().ok()?;
            Some(value.parse::<i64>().ok()?.cmp(&bound))
        };
        match self.operator {
            Operator::In => value.is_some_and(among),
            // A missing label differs from every value.
            Operator::NotIn => !value.is_some_and(among),
            Operator::Exists => value.is_some(),
            Operator::DoesNotExist => value.is_none(),
            Operator::GreaterThan => value.and_then(compare).is_some_and(std::cmp::Ordering::is_gt),
            Operator::LessThan => value.and_then(compare).is_some_and(std::cmp::Ordering::is_lt),
        }
    }
}

/// A word or a piece of punctuation; the empty string is the end.
fn lex(text: &str) -> Vec<String> {
    let mut tokens: Vec<String> = Vec::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            _ if c.is_whitespace() => {}
            '=' | '!' | '(' | ')' | ',' | '>' | '<' => {
                let mut token = String::from(c);
                if matches!(c, '=' | '!') && chars.peek() == Some(&'=') {
                    token.extend(chars.next());
                }
                tokens.push(token);
            }
            _ => {
                let mut word = String::from(c);
                while let Some(next) = chars.next_if(|n| !n.is_whitespace() && !"=!(),><".contains(*n)) {
                    word.push(next);
                }
                tokens.push(word);
            }
        }
    }
    tokens
}

struct Parser {
    tokens: Vec<String>,
    at: usize,
}

impl Parser {
    fn peek(&self) -> &str {
        self.tokens.get(self.at).map_or("", String::as_str)
    }

    fn next(&mut self) -> String {
        let token = self.peek().to_owned();
        self.at += 1;
        token
    }

    fn is_word(token: &str) -> bool {
        !token.is_empty() && !matches!(token, "=" | "==" | "!=" | "!" | "(" | ")" | "," | ">" | "<")
    }

    fn selector(&mut self) -> Result<Vec<Requirement>, String> {
        let mut requirements = Vec::new();
        if self.peek().is_empty() {
            return Ok(requirements);
        }
        loop {
            if !Self::is_word(self.peek()) && self.peek() != "!" {
                return Err(format!("found '{}', expected: !, identifier, or 'end of string'", self.peek()));
            }
            requirements.push(self.requirement()?);
            match self.next().as_str() {
                "" => return Ok(requirements),
                "," if Self::is_word(self.peek()) || self.peek() == "!" => {}
                "," => return Err(format!("found '{}', expected: identifier after ','", self.peek())),
                other => return Err(format!("found '{other}', expected: ',' or 'end of string'")),
            }
        }
    }

    fn requirement(&mut self) -> Result<Requirement, String> {
        let negated = self.peek() == "!";
        if negated {
            self.next();
        }
        let key = self.next();
        if !Self::is_word(&key) {
            return Err(format!("found '{key}', expected: identifier"));
        }
        if let Some(why) = bad_label_key(&key) {
            return Err(format!("key: Invalid value: \"{key}\": {why}"));
        }
        if negated || matches!(self.peek(), "" | ",") {
            let operator = if negated { Operator::DoesNotExist } else { Operator::Exists };
            return Ok(Requirement { key, operator, values: Vec::new() });
        }
        let operator = match self.next().as_str() {
            "=" | "==" => (Operator::In, false),
            "!=" => (Operator::NotIn, false),
            ">" => (Operator::GreaterThan, false),
            "<" => (Operator::LessThan, false),
            "in" => (Operator::In, true),
            "notin" => (Operator::NotIn, true),
            other => {
                return Err(format!("found '{other}', expected: in, notin, =, ==, !=, gt, lt"));
            }
        };
        let values = if operator.1 { self.set()? } else { vec![self.single()?] };
        if matches!(operator.0, Operator::GreaterThan | Operator::LessThan)
            && values[0].parse::<i64>().is_err()
        {
            let value = &values[0];
            return Err(format!(
                "values[0]: Invalid value: \"{value}\": for 'Gt', 'Lt' operators, the value must be an integer"
            ));
        }
        for (index, value) in values.iter().enumerate() {
            if let Some(why) = bad_label_value(value) {
                return Err(format!("values[{index}][{key}]: Invalid value: \"{value}\": {why}"));
            }
        }
        Ok(Requirement { key, operator: operator.0, values })
    }

    /// The value after `=`; nothing at all is the empty value.
    fn single(&mut self) -> Result<String, String> {
        match self.peek() {
            "" | "," => Ok(String::new()),
            word if Self::is_word(word) => Ok(self.next()),
            other => Err(format!("found '{other}', expected: identifier")),
        }
    }

    fn set(&mut self) -> Result<Vec<String>, String> {
        if self.peek() != "(" {
            return Err(format!("found '{}' expected: '('", self.peek()));
        }
        self.next();
        let mut values = Vec::new();
        loop {
            match self.next().as_str() {
                ")" => {
                    values.push(String::new());
                    return Ok(values);
                }
                "," => values.push(String::new()),
                word if Self::is_word(word) => {
                    values.push(word.to_owned());
                    match self.next().as_str() {
                        "," if self.peek() == ")" => {}
                        "," => {}
                        ")" => return Ok(values),
                        other => return Err(format!("found '{other}', expected: ',' or ')'")),
                    }
                }
                other => return Err(format!("found '{other}', expected: ',', ')' or identifier")),
            }
        }
    }
}

/// A parsed field selector.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct FieldSelector(Vec<Term>);

#[derive(Clone, Debug, PartialEq)]
struct Term {
    field: String,
    value: String,
    equal: bool,
}

impl FieldSelector {
    /// Parses the `fieldSelector` query parameter.
    ///
    /// # Errors
    /// 400 with the server's message.
    pub(crate) fn parse(text: &str) -> Answer<Self> {
        let mut terms = Vec::new();
        for part in split_unescaped(text) {
            if part.is_empty() {
                continue;
            }
            let split = ["!=", "==", "="].iter().find_map(|operator| {
                part.split_once(operator).map(|(field, value)| (field, value, *operator != "!="))
            });
            let Some((field, value, equal)) = split else {
                return Err(Status::bad_request(format!(
                    "invalid selector: '{text}'; can't understand '{part}'"
                )));
            };
            terms.push(Term { field: field.to_owned(), value: unescape(value)?, equal });
        }
        Ok(Self(terms))
    }

    /// Whether it selects everything.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The fields it names, in order.
    pub(crate) fn fields(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|term| term.field.as_str())
    }

    /// The same selector with other names for its fields.
    pub(crate) fn renamed(mut self, name: impl Fn(&str) -> String) -> Self {
        self.0.iter_mut().for_each(|term| term.field = name(&term.field));
        self
    }

    /// The value that the object's name must have, if the selector pins it.
    pub(crate) fn exact_name(&self) -> Option<&str> {
        self.0.iter().find(|term| term.equal && term.field == "metadata.name").map(|term| term.value.as_str())
    }

    /// Whether `object` satisfies every term; an absent field counts as empty.
    pub(crate) fn matches(&self, object: &Value) -> bool {
        self.0.iter().all(|term| (field_text(object, &term.field) == term.value) == term.equal)
    }
}

/// The value at a dotted path, as text: absent is empty (false for the fields that are booleans).
fn field_text(object: &Value, path: &str) -> String {
    let found = path.split('.').try_fold(object, |value, part| value.get(part));
    match found {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Null) | None if matches!(path, "spec.unschedulable" | "spec.hostNetwork") => {
            "false".into()
        }
        Some(Value::Null) | None => String::new(),
        Some(other) => other.to_string(),
    }
}

fn split_unescaped(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut escaped = false;
    for c in text.chars() {
        if c == ',' && !escaped {
            parts.push(String::new());
            continue;
        }
        escaped = c == '\\' && !escaped;
        if let Some(part) = parts.last_mut() {
            part.push(c);
        }
    }
    parts
}

fn unescape(value: &str) -> Answer<String> {
    let mut plain = String::new();
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(next) if "\\,=".contains(next) => plain.push(next),
                Some(next) => {
                    let why = format!("invalid field selector: invalid escape sequence: \\{next}");
                    return Err(Status::bad_request(why));
                }
                None => {
                    return Err(Status::bad_request("invalid field selector: invalid escape sequence: \\"));
                }
            },
            ',' | '=' => {
                let why = format!("invalid field selector: unescaped character in value: {}", u32::from(c));
                return Err(Status::bad_request(why));
            }
            _ => plain.push(c),
        }
    }
    Ok(plain)
}

pub(crate) use crate::validation::{bad_label_key, bad_label_value};

#[cfg(test)]
#[path = "selector/tests.rs"]
mod tests;
