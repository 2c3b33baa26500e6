//! One wrong operator of several families in every test run; all of them are `scenarios mutants`.

use std::collections::BTreeSet;

use super::*;

#[test]
fn wrong_operators_are_caught_by_the_oracle_that_is_there_for_them() {
    let references = References::default();
    let expected = [
        ("no-owner", "ownership"),
        ("no-inventory", "record"),
        ("writes-to-hub", "isolation"),
        ("always-ready", "claims"),
        ("impatient", "hot-loop"),
    ];
    for (name, oracle) in expected {
        let mutant = all().into_iter().find(|mutant| mutant.name == name).unwrap();
        let verdict = hunt(&mutant, 0..5, 10, &references);
        assert_eq!(verdict.oracle, Some(oracle), "{name}: {}", verdict.text);
    }
}

#[test]
fn there_are_wrong_operators_of_many_families_and_each_has_a_name_of_its_own() {
    let names: BTreeSet<_> = all().iter().map(|mutant| mutant.name).collect();
    let families: BTreeSet<_> = all().iter().map(|mutant| mutant.family).collect();
    assert!(names.len() == all().len() && names.len() >= 40);
    assert!(families.len() >= 12);
}
