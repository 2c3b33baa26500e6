//! What must hold of a plan: one line, one assertion.
//!
//! | line | holds if |
//! |---|---|
//! | `Deployment/activator $.spec.replicas = 3` | there are values at the path, and each is 3 |
//! | `ConfigMap/kourier-* $.data.x ~ "text"` | there are values at the path, and each is a text with that in it |
//! | `Deployment/domain-mapping $ absent` | there is no value at the path |
//!
//! The path is a JSONPath (RFC 9535). The subject is `KIND/NAME`, in which `*` stands for any text, or `plan`: a
//! summary of everything, see [`Outcome::summary`](crate::Outcome::summary).

use std::fmt;

use jsonpath_rust::JsonPath;
use serde_json::Value;

use crate::Outcome;

/// The subject that means the summary.
const SUMMARY: &str = "plan";

/// One assertion.
#[derive(Clone, Debug, PartialEq)]
pub struct Expectation {
    subject: String,
    path: String,
    check: Check,
}

#[derive(Clone, Debug, PartialEq)]
enum Check {
    Equals(Value),
    Contains(String),
    Absent,
}

/// A line that is no expectation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no expectation: SUBJECT PATH = JSON, SUBJECT PATH ~ \"TEXT\" or SUBJECT PATH absent")]
pub struct Malformed(String);

impl Expectation {
    /// Reads a line.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(line: &str) -> Result<Self, Malformed> {
        let malformed = || Malformed(line.into());
        let (subject, rest) = line.trim().split_once(' ').ok_or_else(malformed)?;
        let (path, check) = if let Some(path) = rest.strip_suffix(" absent") {
            (path, Check::Absent)
        } else {
            let position =
                rest.find(" = ").into_iter().chain(rest.find(" ~ ")).min().ok_or_else(malformed)?;
            let (path, check) = rest.split_at(position);
            let value: Value = serde_json::from_str(&check[3..]).map_err(|_| malformed())?;
            match value {
                Value::String(text) if check.starts_with(" ~") => (path, Check::Contains(text)),
                _ if check.starts_with(" ~") => return Err(malformed()),
                value => (path, Check::Equals(value)),
            }
        };
        let path = path.trim();
        jsonpath_rust::parser::parse_json_path(path).map_err(|_| malformed())?;
        if subject != SUMMARY && !subject.contains('/') {
            return Err(malformed());
        }
        Ok(Self { subject: subject.into(), path: path.into(), check })
    }

    /// Why it does not hold; nothing if it does.
    pub fn disappointment(&self, outcome: &Outcome, compared: Option<&Outcome>) -> Option<String> {
        let summary;
        let subjects: Vec<&Value> = if self.subject == SUMMARY {
            summary = outcome.summary(compared);
            vec![&summary]
        } else {
            let wanted =
                outcome.objects().filter(|object| matches(&self.subject, &crate::outcome::label(object)));
            wanted.map(|object| object.value()).collect()
        };
        let found: Vec<&Value> =
            subjects.iter().flat_map(|subject| subject.query(&self.path).unwrap_or_default()).collect();
        let holds = match &self.check {
            Check::Absent => found.is_empty(),
            Check::Equals(wanted) => !found.is_empty() && found.iter().all(|value| *value == wanted),
            Check::Contains(text) => {
                let has = |value: &&Value| value.as_str().is_some_and(|found| found.contains(text));
                !found.is_empty() && found.iter().all(has)
            }
        };
        let described = || {
            let values: Vec<_> = found.iter().map(ToString::to_string).collect();
            match (subjects.is_empty(), values.is_empty()) {
                (true, _) => format!("{self}: there is no such object"),
                (_, true) => format!("{self}: there is no value"),
                _ => format!("{self}: found {}", values.join(", ")),
            }
        };
        (!holds).then(described)
    }
}

impl fmt::Display for Expectation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { subject, path, check } = self;
        match check {
            Check::Equals(value) => write!(f, "{subject} {path} = {value}"),
            Check::Contains(text) => write!(f, "{subject} {path} ~ {text:?}"),
            Check::Absent => write!(f, "{subject} {path} absent"),
        }
    }
}

/// Whether the text has the form of the pattern, in which `*` stands for any text.
pub fn matches(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((start, rest)) => text.strip_prefix(start).is_some_and(|text| {
            (0..=text.len()).any(|at| text.is_char_boundary(at) && matches(rest, &text[at..]))
        }),
    }
}

#[cfg(test)]
mod tests {
    use knative_operator::manifest::Object;
    use knative_operator::plan::{Phase, PhaseName, Plan};
    use serde_json::json;

    use super::*;

    fn outcome() -> Outcome {
        let object = |name: &str, replicas: i32| {
            let metadata = json!({"name": name});
            Object::try_from(json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata,
                "spec": {"replicas": replicas, "text": "a = b"}}))
            .expect("an object")
        };
        let objects = vec![object("web-a", 3), object("web-b", 3), object("db", 1)];
        let phases = vec![Phase { name: PhaseName::Resources, objects }];
        Outcome::Planned(Plan { target_version: "1.0.0".into(), phases, unknown_names: Vec::new() })
    }

    #[test]
    fn what_holds_does_not_disappoint() {
        for line in [
            "Deployment/web-* $.spec.replicas = 3",
            "Deployment/db    $.spec.replicas = 1",
            "Deployment/*     $.spec.text ~ \"a = \"",
            "Deployment/*     $.spec.text = \"a = b\"",
            "Deployment/*     $.spec.paused absent",
            "Deployment/x     $ absent",
            "plan $.version = \"1.0.0\"",
            "plan $.error absent",
        ] {
            let expectation = Expectation::parse(line).expect(line);
            assert_eq!(expectation.disappointment(&outcome(), None), None, "{line}");
        }
    }

    #[test]
    fn what_does_not_hold_says_what_is_there() {
        for (line, found) in [
            ("Deployment/* $.spec.replicas = 3", "found 3, 3, 1"),
            ("Deployment/db $.spec.replicas absent", "found 1"),
            ("Deployment/db $.spec.replicas ~ \"1\"", "found 1"),
            ("Deployment/db $.spec.paused = true", "there is no value"),
            ("Service/db $.spec = 1", "there is no such object"),
        ] {
            let disappointment = Expectation::parse(line).expect(line).disappointment(&outcome(), None);
            assert_eq!(disappointment, Some(format!("{line}: {found}")));
        }
    }

    #[test]
    fn a_line_that_could_not_fail_or_not_hold_is_refused() {
        for line in
            ["", "x", "x $.y = 1", "X/y $.z", "X/y z = 1", "X/y $.z = what", "X/y $.z ~ 1", "X/y $[ absent"]
        {
            assert!(Expectation::parse(line).is_err(), "{line}");
        }
    }
}
