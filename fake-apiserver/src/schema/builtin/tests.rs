//! The table of built-in merge facts.

use std::sync::Arc;

use super::builtin_merge_type;
use crate::schema::MergeType;

fn at<'t>(root: &'t Arc<MergeType>, path: &[&str]) -> &'t MergeType {
    path.iter().fold(root, |types, name| match types {
        MergeType::ListMap { item, .. } => item.field(name),
        types => types.field(name),
    })
}

#[test]
fn a_container_port_is_told_apart_by_number_and_protocol() {
    let deployment = builtin_merge_type("apps", "Deployment");
    let MergeType::ListMap { keys, .. } =
        at(&deployment, &["spec", "template", "spec", "containers", "ports"])
    else {
        panic!("ports merge by key");
    };
    assert_eq!(keys[0].name, "containerPort");
    assert_eq!((keys[1].name.as_str(), keys[1].default.as_ref().unwrap()), ("protocol", &"TCP".into()));
}

#[test]
fn a_custom_kind_named_like_a_built_in_one_has_no_facts_of_it() {
    let knative = builtin_merge_type("serving.knative.dev", "Service");
    assert_eq!(at(&knative, &["spec"]), &MergeType::Plain);
    assert_eq!(at(&knative, &["metadata", "finalizers"]), &MergeType::Set);
}

#[test]
fn selectors_are_replaced_as_a_whole() {
    for (group, kind) in
        [("apps", "Deployment"), ("batch", "Job"), ("", "Service"), ("policy", "PodDisruptionBudget")]
    {
        assert_eq!(at(&builtin_merge_type(group, kind), &["spec", "selector"]), &MergeType::Atomic, "{kind}");
    }
}
