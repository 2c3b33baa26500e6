//! The section "Reports" of `COVERAGE.md` is true: it has a row for every report, and names exactly the tests that there
//! are.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The reports.
const KNOWN: [usize; 50] = [
    1, 5, 8, 9, 10, 11, 12, 13, 14, 16, 17, 20, 21, 23, 24, 27, 28, 29, 31, 32, 34, 35, 36, 38, 41, 42, 43,
    46, 47, 49, 50, 51, 53, 55, 59, 60, 61, 64, 65, 67, 69, 70, 71, 73, 74, 77, 78, 79, 80, 82,
];

/// Names of tests by the number of their report.
type Tests = BTreeMap<usize, BTreeSet<String>>;

fn rows(table: &str) -> Tests {
    let section = table.split("\n## ").find(|section| section.starts_with("Reports"));
    let rows = section.expect("the section").lines().filter_map(|line| line.strip_prefix("| BR-"));
    rows.map(|row| {
        let cells: Vec<_> = row.trim_end_matches(" |").split(" | ").collect();
        let [number, what, verdict, tests] = cells[..] else { unreachable!("four cells: {row}") };
        assert!(
            !what.is_empty() && (verdict.starts_with("holds") || verdict.starts_with("differs")),
            "{row}"
        );
        let tests = tests.split(", ").map(|name| name.trim_matches('`').to_owned());
        (number.parse().expect("a number"), tests.collect())
    })
    .collect()
}

fn find_tests(directory: &Path, tests: &mut Tests) {
    for entry in std::fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("readable").path();
        if path.is_dir() {
            find_tests(&path, tests);
            continue;
        }
        let source = std::fs::read_to_string(&path).unwrap_or_default();
        for line in source.lines() {
            let name = line.trim_start().split("fn ").nth(1).and_then(|rest| rest.split('(').next());
            let Some(rest) = name.and_then(|name| name.strip_prefix("br")) else { continue };
            if let Some(Ok(number)) = rest.split_once('_').map(|(number, _)| number.parse()) {
                tests.entry(number).or_default().insert(format!("br{rest}"));
            }
        }
    }
}

#[test]
fn the_table_of_reports_names_the_tests_that_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let Ok(table) = std::fs::read_to_string(root.join("COVERAGE.md")) else {
        println!("skipped: the sources are not here");
        return;
    };
    let mut there = Tests::new();
    for directory in [root.join("src"), root.join("../src")] {
        find_tests(&directory, &mut there);
    }
    assert_eq!(there.keys().copied().collect::<Vec<_>>(), KNOWN);
    assert_eq!(rows(&table), there);
}
