//! One snapshot for each input.

use std::fs;

#[test]
fn every_resource_becomes_what_was_reviewed() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    insta::glob!("../inputs", "*.yaml", |path| {
        let resource = fs::read_to_string(path).expect("the glob found it");
        let rendered = runtime.block_on(snapshots::render(&resource)).expect("it can be planned");
        insta::with_settings!({omit_expression => true, prepend_module_to_snapshot => false}, {
            insta::assert_snapshot!(rendered);
        });
    });
}

#[test]
fn every_input_says_what_a_reviewer_should_see() {
    for entry in fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/inputs")).expect("it exists") {
        let path = entry.expect("readable").path();
        let text = fs::read_to_string(&path).expect("readable");
        assert!(text.starts_with("# Expect: "), "{}", path.display());
    }
}
