//! What inputs are made from: small manifests of our own, and recorded requests where there are some.

use std::path::Path;

use serde_json::Value;

use crate::source::Source;

/// An object and the collection it belongs to.
#[derive(Clone)]
pub(crate) struct Seed {
    pub(crate) at: String,
    pub(crate) object: Value,
}

/// All seeds, in an order that is always the same.
pub(crate) struct Corpus(Vec<Seed>);

impl Corpus {
    pub(crate) fn new() -> Self {
        let lines = include_str!("corpus.jsonl").lines().map(|line| {
            let mut line: Value = serde_json::from_str(line).unwrap();
            Seed { at: line["at"].as_str().unwrap().to_owned(), object: line["object"].take() }
        });
        let mut seeds: Vec<Seed> = lines.collect();
        if let Some(directory) = std::env::var_os("CONFORMANCE_CASES") {
            seeds.extend(recorded(Path::new(&directory)));
        }
        Self(seeds)
    }

    /// Any seed.
    pub(crate) fn any(&self, source: &mut Source) -> Seed {
        self.0[source.below(self.0.len())].clone()
    }

    /// A seed of one of these kinds.
    pub(crate) fn of(&self, source: &mut Source, kinds: &[&str]) -> Seed {
        let kind = source.pick(kinds);
        self.0.iter().find(|seed| seed.object["kind"] == kind).unwrap().clone()
    }

    /// A seed that is stored, as most kinds are.
    pub(crate) fn stored(&self, source: &mut Source) -> Seed {
        loop {
            let seed = self.any(source);
            if seed.object["metadata"]["name"].is_string() {
                return seed;
            }
        }
    }
}

/// The creates of recorded cases, with something for their variables.
fn recorded(directory: &Path) -> Vec<Seed> {
    let mut files: Vec<_> = std::fs::read_dir(directory).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    let mut seeds = Vec::new();
    for file in files.iter().filter(|file| file.extension().is_some_and(|extension| extension == "json")) {
        let text = std::fs::read_to_string(file).unwrap().replace("${run}", "xrun");
        let case: Value = serde_json::from_str(&text).unwrap();
        for step in case["steps"].as_array().into_iter().flatten() {
            let request = &step["request"];
            let path = request["path"].as_str().unwrap_or_default();
            // Nobody has defined the kinds that a case defines for itself.
            let custom = path.split('/').nth(2).is_some_and(|group| group.contains("xrun"));
            if request["method"] == "POST" && request["body"].is_object() && !path.contains('$') && !custom {
                seeds.push(Seed { at: in_default(path), object: request["body"].clone() });
            }
        }
    }
    seeds
}

/// The path with the one namespace that is there.
fn in_default(path: &str) -> String {
    let mut parts: Vec<&str> = path.split('/').collect();
    if let Some(at) = parts.iter().position(|part| *part == "namespaces").filter(|at| at + 2 < parts.len()) {
        parts[at + 1] = "default";
    }
    parts.join("/")
}
