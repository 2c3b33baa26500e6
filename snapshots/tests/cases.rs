//! Every case becomes what was reviewed, and does what its comment says.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use snapshots::{Case, Outcome, Workbench, difference, whole};

const CASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/cases");

/// Names without extension of the files with this extension.
fn names(extension: &str) -> BTreeSet<String> {
    let paths =
        fs::read_dir(CASES).expect("the directory exists").map(|entry| entry.expect("readable").path());
    let wanted = paths.filter(|path| path.extension().is_some_and(|found| found == extension));
    wanted.map(|path| path.file_stem().expect("a name").to_string_lossy().into_owned()).collect()
}

/// All cases with what becomes of them, by file name.
fn outcomes() -> BTreeMap<String, (Case, Outcome)> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let workbench = Workbench::default();
    let outcome = |name: String| {
        let file = format!("{name}.yaml");
        let text = fs::read_to_string(Path::new(CASES).join(&file)).expect("readable");
        let case = Case::parse(&text).map_err(|error| format!("{file}: {error}")).expect("well-formed");
        let outcome = runtime.block_on(workbench.outcome(&case));
        (file, (case, outcome))
    };
    names("yaml").into_iter().map(outcome).collect()
}

fn compared<'a>(case: &Case, outcomes: &'a BTreeMap<String, (Case, Outcome)>) -> Option<&'a Outcome> {
    case.compare.as_ref().map(|file| &outcomes.get(file).expect("`compare:` names a case").1)
}

#[test]
fn every_case_becomes_what_was_reviewed() {
    let outcomes = outcomes();
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../cases");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    let _bound = settings.bind_to_scope();
    let different: Vec<&String> = outcomes
        .iter()
        .filter(|(file, (case, outcome))| {
            let text = match (&case.compare, compared(case, &outcomes)) {
                (Some(file), Some(compared)) => difference(file, compared, outcome),
                _ => whole(outcome),
            };
            let name = file.trim_end_matches(".yaml");
            std::panic::catch_unwind(|| insta::assert_snapshot!(name, text)).is_err()
        })
        .map(|(file, _)| file)
        .collect();
    assert!(different.is_empty(), "these are not as reviewed, see CONTRIBUTING.md: {different:?}");
}

#[test]
fn every_case_does_what_its_comment_says() {
    let outcomes = outcomes();
    let disappointments: Vec<String> = outcomes
        .iter()
        .flat_map(|(file, (case, outcome))| {
            let compared = compared(case, &outcomes);
            let failed =
                case.expectations.iter().filter_map(move |wanted| wanted.disappointment(outcome, compared));
            failed.map(move |text| format!("{file}: {text}"))
        })
        .collect();
    assert!(disappointments.is_empty(), "{}", disappointments.join("\n"));
}

#[test]
fn every_snapshot_belongs_to_a_case_and_every_case_has_one() {
    assert_eq!(names("snap"), names("yaml"));
}
