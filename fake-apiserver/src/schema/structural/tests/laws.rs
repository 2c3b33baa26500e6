//! Laws that hold for any schema and object.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::schema::StructuralSchema;

fn object() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-2..3_i64).prop_map(Value::from),
        Just(json!(1.5)),
        "[a-c]{0,3}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 20, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map("[a-c]", inner, 0..3)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

/// A schema with all sorts of nodes.
fn schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!({"type": "string", "maxLength": 2, "default": "a"})),
        Just(json!({"type": "integer", "minimum": 0, "nullable": true})),
        Just(json!({"type": "boolean"})),
        Just(json!({"x-kubernetes-int-or-string": true})),
        Just(json!({"x-kubernetes-preserve-unknown-fields": true})),
        Just(json!({"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}})),
    ];
    let node = leaf.prop_recursive(3, 16, 3, |inner| {
        prop_oneof![
            inner.clone().prop_map(|items| json!({"type": "array", "items": items, "maxItems": 2})),
            inner.clone().prop_map(|each| json!({"type": "object", "additionalProperties": each})),
            prop::collection::btree_map("[a-c]", inner, 0..3).prop_map(|properties| json!({
                "type": "object", "properties": properties, "required": ["a"],
                "oneOf": [{"required": ["a"]}, {"required": ["b"]}],
                "x-kubernetes-validations": [{"rule": "has(self.a)"}],
            })),
        ]
    });
    prop::collection::btree_map("[a-c]", node, 0..3)
        .prop_map(|properties| json!({"type": "object", "properties": properties}))
}

proptest! {
    #[test]
    fn pruning_and_defaulting_come_to_rest_and_nothing_panics(schema in schema(), object in object(), old in object()) {
        let schema = StructuralSchema::from_openapi(&schema, "").unwrap();
        let mut once = object;
        schema.prune(&mut once);
        schema.default(&mut once);
        let mut twice = once.clone();
        prop_assert_eq!(schema.prune(&mut twice), Vec::<String>::new());
        schema.default(&mut twice);
        prop_assert_eq!(&twice, &once);
        let _ = (schema.validate(&once), schema.validate_update(&once, &old), schema.merge_type());
    }

    #[test]
    fn an_object_replaces_itself_whatever_is_wrong_with_it(schema in schema(), object in object()) {
        let schema = StructuralSchema::from_openapi(&schema, "").unwrap();
        prop_assert_eq!(schema.validate_update(&object, &object), []);
    }

    #[test]
    fn no_json_makes_reading_a_schema_panic(schema in object(), text in "[-a.()\\[\\]{}!?:&|<>=+*/%0-9'\"\\\\ x]{0,40}") {
        let _ = StructuralSchema::from_openapi(&schema, "");
        let rules = json!({"type": "object", "x-kubernetes-validations": [{"rule": text}]});
        if let Ok(schema) = StructuralSchema::from_openapi(&rules, "") {
            let _ = schema.validate(&json!({"a": 1}));
        }
    }
}
