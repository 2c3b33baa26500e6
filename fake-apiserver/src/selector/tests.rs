//! Label and field selectors.

use serde_json::json;

use super::*;

#[track_caller]
fn selects(selector: &str, labels: &Value, expected: bool) {
    assert_eq!(LabelSelector::parse(selector).unwrap().matches(labels), expected, "{selector} on {labels}");
}

#[track_caller]
fn refused(selector: &str, message: &str) {
    assert_eq!(
        LabelSelector::parse(selector).unwrap_err().message,
        format!("unable to parse requirement: {message}")
    );
}

#[test]
fn equality_and_sets_match_values() {
    selects("a=b", &json!({"a": "b"}), true);
    selects("a==b,c", &json!({"a": "b", "c": ""}), true);
    selects("a in (x, b)", &json!({"a": "b"}), true);
    selects("a in (x,y)", &json!({"a": "b"}), false);
    selects("a>5", &json!({"a": "6"}), true);
    selects("a<5", &json!({"a": "six"}), false);
    selects("a=", &json!({"a": ""}), true);
}

#[test]
fn negative_requirements_match_objects_without_the_label() {
    selects("a!=b", &Value::Null, true);
    selects("a notin (b)", &json!({"c": "d"}), true);
    selects("!a", &json!({"a": "b"}), false);
    selects("a,a!=b", &json!({"c": "d"}), false);
}

#[test]
fn broken_label_selectors_are_refused_with_the_servers_words() {
    refused("a in", "found '' expected: '('");
    refused("a,", "found '', expected: identifier after ','");
}

#[test]
fn field_selectors_compare_dotted_paths() {
    let object = json!({"metadata": {"name": "x"}, "spec": {"a": 1}});
    assert!(FieldSelector::parse("metadata.name=x,spec.a!=2").unwrap().matches(&object));
    assert!(!FieldSelector::parse("metadata.name!=x").unwrap().matches(&object));
    assert!(FieldSelector::parse("metadata.namespace=").unwrap().matches(&object));
}

#[test]
fn an_unescaped_sign_in_a_field_value_is_refused() {
    let refusal = FieldSelector::parse("metadata.name=a=b").unwrap_err();
    assert_eq!(refusal.message, "invalid field selector: unescaped character in value: 61");
}
