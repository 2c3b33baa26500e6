//! A case as it is written: a custom resource with a comment that people and this module read.
//!
//! ```yaml
//! # High availability of three: what no autoscaler owns gets three replicas.
//! #
//! # compare: serving.yaml
//! # expect:
//! #   Deployment/controller  $.spec.replicas = 3
//! apiVersion: operator.knative.dev/v1beta1
//! kind: KnativeServing
//! ```
//!
//! The comment starts with prose. `compare: FILE` names the case whose plan is subtracted; without it the whole plan is
//! shown. `environment: NAME=VALUE` sets a variable of the operator. `expect:` starts the list of
//! [expectations](Expectation). Further documents of the file are objects that live on the target already.

use std::collections::BTreeMap;

use knative_operator::manifest::{Object, ObjectError, ParseError, parse};
use serde_json::Value;

use crate::expectation::{Expectation, Malformed};

/// A case.
#[derive(Clone, Debug)]
pub struct Case {
    /// What a reviewer should see.
    pub prose: String,
    /// File of the case that it is compared with.
    pub compare: Option<String>,
    /// Variables of the operator's environment.
    pub environment: BTreeMap<String, String>,
    /// What must hold.
    pub expectations: Vec<Expectation>,
    /// The custom resource.
    pub resource: Value,
    /// What lives on the target already.
    pub live: Vec<Object>,
}

/// Why a text is no case.
#[derive(Debug, thiserror::Error)]
pub enum CaseError {
    /// It does not start with a comment that says something.
    #[error("the file must start with a comment that says what a reviewer should see")]
    NoProse,
    /// There is nothing that must hold.
    #[error("the comment has no expectation: write `# expect:` and one line for each below it")]
    NoExpectation,
    /// An expectation cannot be read.
    #[error(transparent)]
    Expectation(#[from] Malformed),
    /// The environment cannot be read.
    #[error("`{0}` has not the form NAME=VALUE")]
    Environment(String),
    /// There is no resource.
    #[error("there is no document")]
    NoResource,
    /// It is no YAML.
    #[error("cannot parse the documents")]
    Yaml(#[from] ParseError),
    /// A live object is none.
    #[error("a document after the first is no object")]
    Live(#[from] ObjectError),
}

impl Case {
    /// Reads a case.
    ///
    /// # Errors
    /// [`CaseError`].
    pub fn parse(text: &str) -> Result<Self, CaseError> {
        let mut documents = parse::parse_documents(text.as_bytes())?.into_iter();
        let mut case = Self {
            prose: String::new(),
            compare: None,
            environment: BTreeMap::new(),
            expectations: Vec::new(),
            resource: documents.next().ok_or(CaseError::NoResource)?,
            live: documents.map(Object::try_from).collect::<Result<_, _>>()?,
        };
        let mut comment = text.lines().map_while(|line| line.strip_prefix('#')).map(str::trim);
        for line in comment.by_ref().take_while(|line| *line != "expect:") {
            if let Some(file) = line.strip_prefix("compare: ") {
                case.compare = Some(file.into());
            } else if let Some(variable) = line.strip_prefix("environment: ") {
                let (name, value) =
                    variable.split_once('=').ok_or_else(|| CaseError::Environment(variable.into()))?;
                case.environment.insert(name.into(), value.into());
            } else if !line.is_empty() {
                case.prose = format!("{} {line}", case.prose).trim_start().into();
            }
        }
        case.expectations =
            comment.filter(|line| !line.is_empty()).map(Expectation::parse).collect::<Result<_, _>>()?;
        match (case.prose.is_empty(), case.expectations.is_empty()) {
            (true, _) => Err(CaseError::NoProse),
            (_, true) => Err(CaseError::NoExpectation),
            _ => Ok(case),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_comment_holds_prose_settings_and_expectations() {
        let text = "# One line\n# and another.\n#\n# compare: a.yaml\n# environment: A=b\n# expect:\n#   plan $.error absent\nkind: X\n";
        let case = Case::parse(text).expect("it is well-formed");
        assert_eq!(case.prose, "One line and another.");
        assert_eq!(case.compare.as_deref(), Some("a.yaml"));
        assert_eq!(case.environment["A"], "b");
        assert_eq!((case.expectations.len(), case.live.len()), (1, 0));
        assert_eq!(case.resource["kind"], "X");
    }

    #[test]
    fn a_case_that_says_or_expects_nothing_is_refused() {
        for (text, reason) in [
            ("kind: X\n", "must start with a comment"),
            ("# expect:\n#  plan $.a absent\nkind: X\n", "must start with a comment"),
            ("# Something.\nkind: X\n", "has no expectation"),
            ("# Something.\n# expect:\nkind: X\n", "has no expectation"),
            ("# Something.\n# expect:\n#  nonsense\nkind: X\n", "nonsense"),
            ("# Something.\n# environment: A\nkind: X\n", "NAME=VALUE"),
        ] {
            let error = Case::parse(text).expect_err(text).to_string();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }
}
