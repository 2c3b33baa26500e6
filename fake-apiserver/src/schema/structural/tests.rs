//! Sentences about schemas, and the recorded cases of a real server.

mod laws;
mod recorded;

use serde_json::{Value, json};

use super::StructuralSchema;
use crate::schema::{FieldErrorReason, MergeType};

fn schema(properties: Value) -> StructuralSchema {
    let mut schema = json!({"type": "object"});
    schema["properties"] = properties;
    StructuralSchema::from_openapi(&schema, "").unwrap()
}

#[track_caller]
fn refused(properties: Value, object: &Value, path: &str, message: &str) {
    let errors = schema(properties).validate(object);
    let found: Vec<_> = errors.iter().map(|error| (error.path.as_str(), error.message.as_str())).collect();
    assert_eq!(found, [(path, message)]);
}

#[test]
fn a_root_keeps_its_type_and_metadata_and_loses_what_it_does_not_know() {
    let mut object =
        json!({"apiVersion": "a/v1", "kind": "K", "metadata": {"odd": 1}, "spec": {"a": 1, "b": 2}, "x": 1});
    let pruned = schema(json!({"spec": {"type": "object", "properties": {"a": {"type": "integer"}}}}))
        .prune(&mut object);
    assert_eq!(pruned, ["spec.b", "x"]);
    assert_eq!(object, json!({"apiVersion": "a/v1", "kind": "K", "metadata": {"odd": 1}, "spec": {"a": 1}}));
}

#[test]
fn a_default_needs_a_parent_and_replaces_a_null_that_is_not_allowed() {
    let spec = json!({"spec": {"type": "object", "properties": {
        "a": {"type": "string", "default": "x"},
        "b": {"type": "string", "default": "x", "nullable": true},
        "c": {"type": "string"},
    }}});
    let mut object = json!({"spec": {"a": null, "b": null, "c": null}});
    schema(spec.clone()).default(&mut object);
    assert_eq!(object, json!({"spec": {"a": "x", "b": null}}));
    let mut without = json!({});
    schema(spec).default(&mut without);
    assert_eq!(without, json!({}));
}

#[test]
fn alternatives_and_negations_are_worded_as_the_server_words_them() {
    let any = json!({"a": {"type": "integer", "anyOf": [{"minimum": 5}, {"maximum": 2}]}});
    let errors = schema(any).validate(&json!({"a": 3}));
    assert_eq!(errors[0].message, "Invalid value: \"\": \"a\" must validate at least one schema (anyOf)");
    assert_eq!(errors[1].message, "Invalid value: 3: a in body should be greater than or equal to 5");
    refused(
        json!({"a": {"type": "string", "not": {"enum": ["x"]}}}),
        &json!({"a": "x"}),
        "<nil>",
        "Invalid value: \"\": \"a\" must not validate the schema (not)",
    );
}

#[test]
fn what_was_wrong_before_and_did_not_change_may_stay() {
    let schema = schema(json!({"a": {"type": "string", "maxLength": 2}, "l": {
        "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
        "items": {"type": "object", "required": ["k"], "properties": {"k": {"type": "string"}, "v": {"type": "string", "maxLength": 1}}},
    }}));
    let old = json!({"a": "long", "l": [{"k": "x", "v": "long"}]});
    assert_eq!(
        schema.validate_update(&json!({"a": "long", "l": [{"k": "y"}, {"k": "x", "v": "long"}]}), &old),
        []
    );
    let errors = schema.validate_update(&json!({"a": "longer", "l": []}), &old);
    assert_eq!(errors[0].reason, FieldErrorReason::FieldValueTooLong);
}

#[test]
fn a_field_without_a_schema_is_undeclared_and_a_free_one_deduced() {
    let types =
        schema(json!({"closed": {"type": "object"}, "any": {"x-kubernetes-preserve-unknown-fields": true}}))
            .merge_type();
    assert_eq!(types.field("closed").field("x"), &MergeType::Undeclared);
    assert_eq!(types.field("any"), &MergeType::Deduced);
    assert_eq!(types.field("metadata").field("finalizers"), &MergeType::Set);
}

#[test]
fn formats_accept_what_they_name() {
    for (format, good, bad) in [
        ("date-time", "2001-01-01T00:00:00Z", "yesterday"),
        ("date", "2001-02-03", "2001-02"),
        ("duration", "1h30m", "soon"),
        ("ipv6", "::1", "1.2.3.4"),
        ("cidr", "10.0.0.0/8", "10.0.0.0/80"),
        ("uuid", "11111111-2222-3333-4444-555555555555", "1"),
        ("hostname", "a.example", "-a"),
        ("email", "a@b.example", "a"),
        ("byte", "aGk=", "?"),
        ("mac", "00:11:22:33:44:55", "00:11"),
        ("uri", "https://a.example/x", "x y"),
    ] {
        let schema = schema(json!({"a": {"type": "string", "format": format}}));
        assert_eq!(schema.validate(&json!({"a": good})), [], "{format}");
        assert_eq!(schema.validate(&json!({"a": bad})).len(), 1, "{format}");
    }
}

#[test]
fn a_rule_too_deep_for_the_stack_does_not_compile() {
    for rule in [
        format!("1{} == 1", "+1".repeat(100_000)),
        format!("self{}", ".a".repeat(100_000)),
        format!("{}1{} == 1", "[".repeat(100_000), "]".repeat(100_000)),
        format!("'{}' == 1 +", "x".repeat(100_000)),
    ] {
        let schema = json!({"type": "object", "x-kubernetes-validations": [{"rule": rule}]});
        let errors = StructuralSchema::from_openapi(&schema, "base").unwrap_err();
        assert_eq!(errors[0].path, "base.x-kubernetes-validations[0].rule");
    }
}

#[test]
fn a_rule_with_an_unknown_function_is_let_pass_and_an_error_is_reported() {
    let rule = |rule: &str| {
        let schema = json!({
            "type": "object", "properties": {"a": {"type": "integer"}}, "x-kubernetes-validations": [{"rule": rule}],
        });
        StructuralSchema::from_openapi(&schema, "").unwrap().validate(&json!({"a": 0}))
    };
    assert_eq!(rule("self.a.frobnicate()"), []);
    assert_eq!(rule("Message{field: 1}.field == 2"), []);
    let errors = rule("1 / self.a == 1");
    assert_eq!(errors[0].path, "<nil>");
    assert!(errors[0].message.ends_with("evaluating rule: 1 / self.a == 1"), "{}", errors[0].message);
}

#[test]
fn a_schema_is_shared_between_threads() {
    fn shared<T: Send + Sync>(_: &T) {}
    shared(&schema(json!({})));
}
