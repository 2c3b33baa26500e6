//! Compares answers with recorded ones, in which placeholders stand for what differs between runs.

use std::collections::{BTreeMap, BTreeSet};

use regex::Regex;
use serde_json::Value;

use crate::vars::escape;
use crate::view;

/// What each class of placeholder matches.
const CLASSES: &[(&str, &str)] = &[
    ("uid", "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"),
    ("rv", "[1-9][0-9]*"),
    ("listrv", "[1-9][0-9]*"),
    ("gen", "[a-z0-9]{5}"),
    ("ip", "[0-9a-fA-F.:]+"),
    ("nodeport", "[0-9]+"),
    ("ctime", SECOND),
    ("dtime", SECOND),
    ("time", SECOND),
    ("microtime", r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z"),
    ("age", r"(?:\d+[smhdy])+"),
    ("jwt", r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+"),
    ("b64", "[A-Za-z0-9+/]+=*"),
    ("continue", r"\S+"),
    ("hash", "[A-Za-z0-9]+"),
];

const SECOND: &str = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ";

/// Classes in which two numbers never stand for one value.
const DISTINCT: &[&str] = &["uid", "rv", "gen", "ip", "nodeport"];

/// Where an answer first differs from the recording.
#[derive(Debug)]
pub(crate) struct Difference {
    pub(crate) path: String,
    pub(crate) expected: String,
    pub(crate) actual: String,
}

impl Difference {
    pub(crate) fn new(path: &str, expected: &Value, actual: &Value) -> Self {
        let short = |value: &Value| value.to_string().chars().take(600).collect();
        Self { path: path.to_owned(), expected: short(expected), actual: short(actual) }
    }
}

/// Remembers over a whole case what the numbered placeholders stand for.
pub(crate) struct Matcher {
    placeholder: Regex,
    bound: BTreeMap<(String, String), String>,
    taken: BTreeSet<(String, String)>,
}

impl Matcher {
    pub(crate) fn new() -> Self {
        let names: Vec<_> = CLASSES.iter().map(|(name, _)| *name).collect();
        let placeholder = Regex::new(&format!(r"<({})(?::(\d+))?>", names.join("|"))).unwrap();
        Self { placeholder, bound: BTreeMap::new(), taken: BTreeSet::new() }
    }

    /// Compares two documents; `lenient` are pointers at which only the type counts.
    pub(crate) fn compare(
        &mut self,
        expected: &Value,
        actual: &Value,
        path: &str,
        lenient: &[String],
    ) -> Result<(), Difference> {
        let differ = || Err(Difference::new(path, expected, actual));
        if lenient.iter().any(|pattern| view::leads(pattern, path)) {
            let same = std::mem::discriminant(expected) == std::mem::discriminant(actual);
            return if same { Ok(()) } else { differ() };
        }
        match (expected, actual) {
            (Value::String(text), _) if self.value(text, actual) => Ok(()),
            (Value::Number(a), Value::Number(b)) if a == b || a.as_f64() == b.as_f64() => Ok(()),
            (Value::Object(want), Value::Object(have)) => {
                let mut seen = BTreeSet::new();
                for (name, value) in want {
                    let below = format!("{path}/{}", escape(name));
                    let free = |known: &&String| !want.contains_key(*known) && !seen.contains(*known);
                    let found = if self.placeholder.is_match(name) {
                        let names: Vec<_> = have.keys().filter(free).collect();
                        names.into_iter().find(|known| self.text(name, known)).cloned()
                    } else {
                        have.contains_key(name).then(|| name.clone())
                    };
                    let found = found.ok_or_else(|| Difference::new(&below, value, &"<absent>".into()))?;
                    self.compare(value, &have[&found], &below, lenient)?;
                    seen.insert(found);
                }
                match have.iter().find(|(name, _)| !seen.contains(*name)) {
                    Some((name, value)) => {
                        Err(Difference::new(&format!("{path}/{}", escape(name)), &"<absent>".into(), value))
                    }
                    None => Ok(()),
                }
            }
            (Value::Array(want), Value::Array(have)) => {
                let absent = Value::from("<absent>");
                for index in 0..want.len().max(have.len()) {
                    let below = format!("{path}/{index}");
                    match (want.get(index), have.get(index)) {
                        (Some(want), Some(have)) => self.compare(want, have, &below, lenient)?,
                        (want, have) => {
                            let (want, have) = (want.unwrap_or(&absent), have.unwrap_or(&absent));
                            return Err(Difference::new(&below, want, have));
                        }
                    }
                }
                Ok(())
            }
            (Value::Bool(a), Value::Bool(b)) if a == b => Ok(()),
            (Value::Null, Value::Null) => Ok(()),
            _ => differ(),
        }
    }

    /// Whether the value is what the expected text stands for. Only a node port is a number.
    fn value(&mut self, expected: &str, actual: &Value) -> bool {
        let port = expected.starts_with("<nodeport") && expected.ends_with('>');
        match actual {
            Value::String(text) => !port && self.text(expected, text),
            Value::Number(number) => port && self.text(expected, &number.to_string()),
            _ => false,
        }
    }

    /// Whether the text is the expected one; what placeholders stand for is remembered.
    pub(crate) fn text(&mut self, expected: &str, actual: &str) -> bool {
        let mut pattern = String::from(r"(?s)\A");
        let mut placeholders = Vec::new();
        let mut end = 0;
        for found in self.placeholder.captures_iter(expected) {
            let whole = found.get(0).unwrap();
            let class = found[1].to_owned();
            let (_, matches) = CLASSES.iter().find(|(name, _)| *name == class).unwrap();
            pattern += &format!("{}({matches})", regex::escape(&expected[end..whole.start()]));
            placeholders.push((class, found.get(2).map(|number| number.as_str().to_owned())));
            end = whole.end();
        }
        if placeholders.is_empty() {
            return expected == actual;
        }
        pattern += &regex::escape(&expected[end..]);
        pattern += r"\z";
        let Some(found) = Regex::new(&pattern).unwrap().captures(actual) else { return false };
        placeholders.into_iter().enumerate().all(|(index, (class, number))| match number {
            Some(number) => self.bind(class, number, found[index + 1].to_owned()),
            None => true,
        })
    }

    fn bind(&mut self, class: String, number: String, value: String) -> bool {
        if let Some(known) = self.bound.get(&(class.clone(), number.clone())) {
            return *known == value;
        }
        let fresh = self.taken.insert((class.clone(), value.clone()));
        let allowed = fresh || !DISTINCT.contains(&class.as_str());
        self.bound.insert((class, number), value);
        allowed
    }

    /// Checks that resource versions grew in the order of `names`, each of the form `rv:3`.
    pub(crate) fn grew(&self, names: &[String]) -> Result<(), Difference> {
        let mut last: Option<(&str, u64)> = None;
        for name in names {
            let Some((class, number)) = name.split_once(':') else { continue };
            let Some(value) = self.bound.get(&(class.to_owned(), number.to_owned())) else { continue };
            let value: u64 = value.parse().unwrap();
            if let Some((before, smaller)) = last.filter(|(_, smaller)| value <= *smaller) {
                let path = format!("{before} < {name}");
                return Err(Difference::new(&path, &smaller.into(), &value.into()));
            }
            last = Some((name, value));
        }
        Ok(())
    }
}
