//! A case: what is sent, and what a real server answered.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::vars::Vars;

/// One recorded sequence of exchanges.
pub(crate) struct Case {
    pub(crate) name: String,
    /// What it is about; failures are counted by it.
    pub(crate) area: String,
    /// Requests and expectations in order.
    pub(crate) steps: Vec<Value>,
    /// The body of each step's request as it stands in the file: the order of members shows in some answers.
    pub(crate) bodies: Vec<Option<String>>,
    /// Requests that are sent at the end, whatever came before.
    pub(crate) cleanup: Vec<Value>,
    /// Placeholders of resource versions in the order of their values.
    pub(crate) order: Vec<String>,
    templates: BTreeMap<String, Value>,
}

#[derive(Deserialize)]
struct RawCase {
    steps: Vec<RawStep>,
}

#[derive(Deserialize)]
struct RawStep {
    #[serde(default)]
    request: RawRequest,
}

#[derive(Deserialize, Default)]
struct RawRequest {
    body: Option<Box<RawValue>>,
}

impl Case {
    fn read(text: &[u8]) -> Self {
        let document: Value = serde_json::from_slice(text).expect("a case is JSON");
        let raw: RawCase = serde_json::from_slice(text).expect("a case has steps");
        let bodies = raw.steps.into_iter().map(|step| Some(step.request.body?.get().to_owned())).collect();
        let text = |name: &str| document[name].as_str().expect("a case has a name and an area").to_owned();
        let list = |name: &str| document[name].as_array().cloned().unwrap_or_default();
        let order = list("rvOrder");
        Self {
            name: text("name"),
            area: text("area"),
            steps: list("steps"),
            bodies,
            cleanup: list("cleanup"),
            order: order.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            templates: document["vars"].as_object().cloned().unwrap_or_default().into_iter().collect(),
        }
    }

    /// The variables at the start of a run that is named `run`.
    pub(crate) fn vars(&self, run: &str) -> Vars {
        let mut vars = Vars::new(run);
        for (name, template) in &self.templates {
            let value = match (template["repeat"].as_str(), template["count"].as_u64()) {
                (Some(text), Some(count)) => Value::from(text.repeat(count.try_into().unwrap())),
                _ => vars.fill(template),
            };
            vars.set(name, value);
        }
        vars
    }
}

/// The cases in `$CONFORMANCE_CASES` by file name; `None` when it is not set.
pub(crate) fn load_all() -> Option<Vec<Case>> {
    let directory = std::env::var_os("CONFORMANCE_CASES")?;
    let entries = std::fs::read_dir(&directory).expect("$CONFORMANCE_CASES is a directory");
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    paths.sort();
    Some(paths.iter().map(|path| Case::read(&std::fs::read(path).unwrap())).collect())
}
