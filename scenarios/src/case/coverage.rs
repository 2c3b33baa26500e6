//! `COVERAGE.md` is true: its tables have a row for every weakness and every report, and name exactly the stories that there
//! are.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Names of tests by the number of what they are about.
type Tests = BTreeMap<usize, BTreeSet<String>>;

const REPORTS: [usize; 50] = [
    1, 5, 8, 9, 10, 11, 12, 13, 14, 16, 17, 20, 21, 23, 24, 27, 28, 29, 31, 32, 34, 35, 36, 38, 41, 42, 43,
    46, 47, 49, 50, 51, 53, 55, 59, 60, 61, 64, 65, 67, 69, 70, 71, 73, 74, 77, 78, 79, 80, 82,
];

/// The rows of a section, which begin with `| ` and this prefix of a number: what the verdict is, and the tests.
fn rows(table: &str, section: &str, prefix: &str) -> (BTreeMap<usize, String>, Tests) {
    let text = table.split("\n## ").find(|text| text.starts_with(section)).expect("the section");
    let (mut verdicts, mut tests) = (BTreeMap::new(), Tests::new());
    for row in text.lines().filter_map(|line| line.strip_prefix("| ")?.strip_prefix(prefix)) {
        let cells: Vec<_> = row.trim_end_matches(" |").split(" | ").collect();
        let [number, what, verdict, named] = cells[..] else { panic!("four cells: {row}") };
        let number = number.parse().expect("a number");
        assert!(!what.is_empty(), "{row}");
        assert_eq!(verdicts.insert(number, verdict.to_owned()), None, "twice: {row}");
        tests.insert(number, named.split(", ").map(|name| name.trim_matches('`').to_owned()).collect());
    }
    (verdicts, tests)
}

/// Every function below a directory whose name is this prefix, two digits or more, and what it is about.
fn find(directory: &Path, prefix: &str, tests: &mut Tests) {
    for entry in std::fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("readable").path();
        if path.is_dir() {
            find(&path, prefix, tests);
            continue;
        }
        let source = std::fs::read_to_string(&path).expect("a source file");
        for line in source.lines() {
            let name = line.trim_start().strip_prefix("fn ").and_then(|rest| rest.split('(').next());
            let number = name.and_then(|name| name.strip_prefix(prefix)?.split('_').next());
            let number = number.filter(|number| number.len() >= 2).and_then(|number| number.parse().ok());
            if let (Some(name), Some(number)) = (name, number) {
                tests.entry(number).or_default().insert(name.to_owned());
            }
        }
    }
}

/// Compares a section with the sources.
fn check(section: &str, row: &str, test: &str, known: impl IntoIterator<Item = usize>, verdicts: &[&str]) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let table = std::fs::read_to_string(root.join("COVERAGE.md")).expect("it is beside the sources");
    let (said, named) = rows(&table, section, row);
    let mut there = Tests::new();
    find(&root.join("src"), test, &mut there);
    assert_eq!(named, there, "in COVERAGE.md (left), in the sources (right)");
    assert_eq!(said.keys().copied().collect::<Vec<_>>(), known.into_iter().collect::<Vec<_>>());
    for (number, verdict) in said {
        assert!(verdicts.iter().any(|word| verdict.starts_with(word)), "{row}{number}: {verdict}");
    }
}

#[test]
fn coverage_names_the_tests_of_weaknesses_that_exist() {
    check("Weaknesses", "W", "w", 1..=54, &["fixed", "differs", "as in"]);
}

#[test]
fn coverage_names_the_tests_of_reports_that_exist() {
    check("Reports", "BR-", "br", REPORTS, &["holds", "differs"]);
}
