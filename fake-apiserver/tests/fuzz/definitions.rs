//! Definitions of custom resources with schemas of all sorts, and objects of them.

use fake_apiserver::schema::StructuralSchema;
use serde_json::{Value, json};

use crate::bench::{Bench, PATCHES};
use crate::corpus::Corpus;
use crate::engine::run;
use crate::mutate;
use crate::source::Source;

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const WIDGETS: &str = "/apis/g.example/v1/namespaces/default/widgets";

/// An object that the definition of the corpus accepts.
fn widget() -> Value {
    json!({
        "apiVersion": "g.example/v1", "kind": "Widget", "metadata": { "name": "a" },
        "spec": {
            "n": 3, "tag": "abc", "when": "2024-01-01T00:00:00Z", "port": "http", "set": ["a", "b"], "any": { "x": [1] },
            "list": [{ "name": "a", "value": 1.5 }, { "name": "b" }], "map": { "k": "v" },
            "pod": { "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "p" } },
        },
    })
}

/// A definition whose schema is somewhat changed.
fn definition(source: &mut Source, corpus: &Corpus) -> Value {
    let mut object = corpus.of(source, &["CustomResourceDefinition"]).object;
    let schema = &mut object["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    match source.below(4) {
        0 => {}
        1 => mutate::json(source, &mut schema["properties"]["spec"]["x-kubernetes-validations"], 3),
        _ => mutate::json(source, schema, 3),
    }
    if source.one_in(4) {
        mutate::json(source, &mut object, 2);
    }
    object
}

#[test]
fn definitions() {
    let corpus = Corpus::new();
    run("definitions", 50, |source| {
        let bench = Bench::quiet();
        let (one, other) = (definition(source, &corpus), definition(source, &corpus));
        let target = format!("{DEFINITIONS}/widgets.g.example");
        bench.send(source, "POST", DEFINITIONS, &one.to_string());
        let mut object = widget();
        mutate::json(source, &mut object, 2);
        let headers = [("content-type", "application/json")];
        bench.write(source, "POST", WIDGETS, &headers, object.to_string().as_bytes());
        bench.send(source, "PUT", &target, &other.to_string());
        bench.patch(source, PATCHES[0], &target, &json!({ "spec": other.get("spec") }).to_string());
        for _ in 0..3 {
            let mut object = widget();
            mutate::json(source, &mut object, 3);
            let media = source.pick(&PATCHES);
            let part = source.pick(&["", "", "/status", "/scale"]);
            let target = format!("{WIDGETS}/a{part}?fieldManager={}", source.pick(&["m", "n"]));
            let text = mutate::render(source, &object);
            bench.patch(source, media, &target, &text);
        }
        bench.send(source, "GET", &format!("{WIDGETS}/a"), "");
        bench.still_answers(source, DEFINITIONS);
    });
}

#[test]
fn structural_schemas() {
    let corpus = Corpus::new();
    run("structural_schemas", 200, |source| {
        let mut definition = definition(source, &corpus);
        let schema = definition.pointer_mut("/spec/versions/0/schema/openAPIV3Schema");
        let schema = schema.map(Value::take).unwrap_or_default();
        source.note(&schema.to_string());
        let Ok(schema) = StructuralSchema::from_openapi(&schema, "") else { return };
        let (mut object, mut old) = (widget(), widget());
        mutate::json(source, &mut object, 4);
        mutate::json(source, &mut old, 4);
        source.note(&object.to_string());
        source.note(&old.to_string());
        schema.prune(&mut object);
        schema.default(&mut object);
        let mut twice = object.clone();
        assert_eq!(schema.prune(&mut twice), [""; 0], "pruned twice");
        schema.default(&mut twice);
        assert_eq!(twice, object, "defaulted twice");
        schema.validate(&object);
        schema.validate_update(&object, &old);
        schema.merge_type();
    });
}
