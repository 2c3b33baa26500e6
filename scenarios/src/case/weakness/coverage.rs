//! `COVERAGE.md` is true: it has a row for every weakness, and names exactly the tests that there are.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The weaknesses.
const KNOWN: std::ops::RangeInclusive<usize> = 1..=54;

/// Names of tests by the number of their weakness.
type Tests = BTreeMap<usize, BTreeSet<String>>;

/// The rows of the table: number, verdict and tests.
fn rows(table: &str) -> Vec<(usize, String, BTreeSet<String>)> {
    let section = table.split("\n## ").find(|section| section.starts_with("Weaknesses"));
    let rows = section.expect("the section").lines().filter(|line| line.starts_with("| W"));
    rows.map(|row| {
        let cells: Vec<_> = row.trim_matches('|').split('|').map(str::trim).collect();
        let [number, _, verdict, tests] = cells[..] else { panic!("four cells: {row}") };
        let number = number.trim_start_matches('W').parse().expect("a number");
        let tests = tests.split(", ").map(|name| name.trim_matches('`').to_owned());
        (number, verdict.to_owned(), tests.filter(|name| !name.is_empty()).collect())
    })
    .collect()
}

/// Every function below a directory whose name is that of such a test.
fn find_tests(directory: &Path, tests: &mut Tests) {
    for entry in std::fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("readable").path();
        if path.is_dir() {
            find_tests(&path, tests);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let source = std::fs::read_to_string(&path).expect("a source file");
            for line in source.lines() {
                let name = line.trim_start().strip_prefix("fn w").and_then(|rest| rest.split('(').next());
                let Some((number, _)) = name.and_then(|name| name.split_once('_')) else { continue };
                if let (2, Ok(number)) = (number.len(), number.parse()) {
                    tests.entry(number).or_default().insert(format!("w{}", name.unwrap_or_default()));
                }
            }
        }
    }
}

#[test]
fn coverage_names_tests_that_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let Ok(table) = std::fs::read_to_string(root.join("COVERAGE.md")) else {
        println!("skipped: the sources are not here");
        return;
    };
    let mut there = Tests::new();
    find_tests(&root.join("src"), &mut there);
    let rows = rows(&table);
    assert_eq!(rows.iter().map(|(number, ..)| *number).collect::<Vec<_>>(), KNOWN.collect::<Vec<_>>());
    for (number, verdict, named) in rows {
        let there = there.remove(&number).unwrap_or_default();
        assert_eq!(named, there, "W{number}: named in COVERAGE.md (left), in the sources (right)");
        assert_eq!(verdict == "open", there.is_empty(), "W{number}: {verdict}");
    }
    assert_eq!(there, Tests::new(), "of no known weakness");
}
