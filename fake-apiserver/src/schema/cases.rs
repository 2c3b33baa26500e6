//! Test support: the recorded answers of a real server, read from the directory `$CONFORMANCE_CASES`, and objects as
//! one left them, read from `$TAKEOVER_OBJECTS`.

use serde_json::Value;

/// The steps of a recorded case with its variables filled in; `None`, and a line saying so, if there are no cases.
pub(crate) fn steps(case: &str) -> Option<Vec<Value>> {
    let Some(directory) = std::env::var_os("CONFORMANCE_CASES") else {
        println!("SKIPPED {case}: CONFORMANCE_CASES is not set");
        return None;
    };
    let path = std::path::Path::new(&directory).join(format!("{case}.json"));
    let mut text = std::fs::read_to_string(&path).expect("the case can be read");
    let document: Value = serde_json::from_str(&text).expect("the case is JSON");
    if let Some(variables) = document["vars"].as_object() {
        for (name, value) in variables {
            if let Value::String(value) = value {
                text = text.replace(&format!("${{{name}}}"), value);
            }
        }
    }
    let text = text.replace("${run}", "xrun");
    let document: Value = serde_json::from_str(&text).expect("the case is still JSON");
    document["steps"].as_array().cloned()
}

/// The objects in the files of the directory, one a line.
pub(crate) fn objects() -> Vec<Value> {
    let Some(directory) = std::env::var_os("TAKEOVER_OBJECTS") else {
        println!("SKIPPED recorded objects: TAKEOVER_OBJECTS is not set");
        return Vec::new();
    };
    let files = std::fs::read_dir(directory).expect("the directory can be read");
    let mut objects = Vec::new();
    for path in files.flatten().map(|file| file.path()) {
        if path.extension().is_some_and(|extension| extension == "jsonl") {
            let text = std::fs::read_to_string(path).expect("the file can be read");
            objects.extend(
                text.lines().map(|line| serde_json::from_str::<Value>(line).expect("a line is JSON")),
            );
        }
    }
    objects
}
