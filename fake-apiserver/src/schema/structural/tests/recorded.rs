//! Replays recorded cases about custom resources through the pure functions.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::apply::{Writer, apply};
use crate::patch;
use crate::schema::{Review, StructuralSchema, cases};

/// A server with one kind of custom resource.
#[derive(Default)]
struct Replay {
    schema: Option<StructuralSchema>,
    objects: BTreeMap<String, Value>,
    compared: usize,
}

fn replay(case: &str) {
    let mut server = Replay::default();
    for step in cases::steps(case).unwrap_or_default() {
        server.step(&format!("{case} {}", step["id"]), &step);
    }
    println!("{case}: {} steps compared", server.compared);
}

impl Replay {
    fn step(&mut self, at: &str, step: &Value) {
        let request = &step["request"];
        let body = &request["body"];
        let path = request["path"].as_str().unwrap();
        let method = request["method"].as_str().unwrap();
        if path.contains("customresourcedefinitions") {
            let version = &body["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
            if version.is_object() {
                self.schema = Some(StructuralSchema::from_openapi(version, "").unwrap());
            }
            return;
        }
        let Some(schema) = self.schema.clone() else { return };
        if !path.contains("/namespaces/") || !matches!(method, "POST" | "PATCH") || body.is_null() {
            return;
        }
        let key = match method {
            "POST" => format!("{path}/{}", body["metadata"]["name"].as_str().unwrap_or_default()),
            _ => path.to_owned(),
        };
        let live = self.objects.get(&key);
        let content_type = request["headers"]["Content-Type"].as_str().unwrap_or_default();
        let mut new = match content_type {
            "application/merge-patch+json" => patch::merge(live.unwrap(), body),
            "application/json-patch+json" => patch::json(live.unwrap(), body).unwrap(),
            "application/apply-patch+yaml" => {
                let writer = Writer {
                    manager: request["query"]["fieldManager"].as_str().unwrap().into(),
                    api_version: "v1".into(),
                    subresource: None,
                    time: "now".into(),
                };
                let force = request["query"]["force"] == "true";
                match apply(live, body, &schema.merge_type(), &writer, force) {
                    Ok(object) => object,
                    Err(_) => return,
                }
            }
            _ => body.clone(),
        };
        let warnings = schema.prune(&mut new);
        if content_type == "application/apply-patch+yaml" {
            schema.default_keeping_nulls(&mut new);
        } else {
            schema.default(&mut new);
        }
        let review = match live {
            Some(live) => schema.review_update(&new, live),
            None => Review { errors: schema.validate(&new), warnings: Vec::new() },
        };
        self.compare(at, step, &new, &warnings, &review);
        if step["expect"]["status"].as_u64().unwrap() < 300 && request["query"].get("dryRun").is_none() {
            self.objects.insert(key, new);
        }
    }

    fn compare(&mut self, at: &str, step: &Value, new: &Value, pruned: &[String], review: &Review) {
        let errors = &review.errors;
        let expect = &step["expect"];
        let answer = &expect["body"];
        if let Some(expected) = expect["headers"]["Warning"].as_array() {
            let pruned = pruned.iter().map(|path| format!("unknown field \"{path}\""));
            let texts = pruned.chain(review.warnings.iter().cloned());
            let ours: Vec<Value> = texts.map(|text| json!(format!("299 - {}", json!(text)))).collect();
            let theirs: Vec<Value> = expected
                .iter()
                .filter(|warning| !warning.to_string().contains("\\\"metadata."))
                .cloned()
                .collect();
            assert_eq!(ours, theirs, "{at}");
            self.compared += 1;
        }
        match expect["status"].as_u64().unwrap() {
            0..300 => {
                assert_eq!(*errors, [], "{at}");
                if answer.get("spec").is_some() {
                    assert_eq!(numbers(&new["spec"]), numbers(&answer["spec"]), "{at}");
                    self.compared += 1;
                }
            }
            422 if answer["details"]["causes"][0]["field"] != "patch" => {
                let lenient = step["lenient"].is_array();
                let text = |message: &Value| if lenient { String::new() } else { message.to_string() };
                let causes = answer["details"]["causes"].as_array().unwrap();
                let mut theirs: Vec<_> = causes
                    .iter()
                    .filter(|cause| !cause["field"].as_str().unwrap().starts_with("metadata"))
                    .map(|cause| {
                        (cause["field"].to_string(), cause["reason"].to_string(), text(&cause["message"]))
                    })
                    .collect();
                let mut ours: Vec<_> = errors
                    .iter()
                    .map(|error| {
                        let reason = format!("\"{:?}\"", error.reason);
                        (json!(error.path).to_string(), reason, text(&json!(error.message)))
                    })
                    .collect();
                theirs.sort_unstable();
                ours.sort_unstable();
                assert_eq!(ours, theirs, "{at}");
                self.compared += 1;
            }
            _ => {}
        }
    }
}

/// A whole number is stored without its fraction.
fn numbers(value: &Value) -> Value {
    match value {
        Value::Number(number) => match number.as_f64() {
            Some(float) if float.fract() == 0.0 => json!(float),
            _ => value.clone(),
        },
        Value::Array(items) => items.iter().map(numbers).collect(),
        Value::Object(fields) => fields.iter().map(|(name, value)| (name.clone(), numbers(value))).collect(),
        other => other.clone(),
    }
}

#[test]
fn recorded_objects_are_validated_in_the_servers_words() {
    for case in ["crd-validation-messages", "crd-list-types"] {
        replay(case);
    }
}

#[test]
fn recorded_objects_are_pruned_and_defaulted() {
    for case in [
        "crd-pruning",
        "crd-defaulting",
        "fieldvalidation-crd-strict",
        "fieldvalidation-crd-unset",
        "ssa-custom-resource",
    ] {
        replay(case);
    }
}

#[test]
fn recorded_rules_in_cel_see_old_and_new_objects() {
    for case in ["crd-cel-rules", "crd-cel-transition", "crd-ratcheting"] {
        replay(case);
    }
}

#[test]
fn recorded_schemas_that_are_not_structural_are_refused() {
    for step in cases::steps("crd-invalid").unwrap_or_default() {
        let schema = &step["request"]["body"]["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
        let causes = step["expect"]["body"]["details"]["causes"].as_array().cloned().unwrap_or_default();
        let of_schema =
            |cause: &Value| cause["field"].as_str().unwrap().starts_with("spec.validation.openAPIV3Schema");
        let theirs = causes.iter().filter(|cause| of_schema(cause));
        let mut theirs: Vec<_> =
            theirs.map(|cause| (cause["field"].clone(), cause["message"].clone())).collect();
        if !schema.is_object() {
            continue;
        }
        let errors = StructuralSchema::from_openapi(schema, "spec.validation.openAPIV3Schema").err();
        let mut ours: Vec<_> = errors
            .unwrap_or_default()
            .into_iter()
            .map(|error| (json!(error.path), json!(error.message)))
            .collect();
        theirs.sort_by_key(|cause| format!("{cause:?}"));
        ours.sort_by_key(|cause| format!("{cause:?}"));
        assert_eq!(ours, theirs, "{}", step["id"]);
    }
}

#[test]
fn the_schemas_of_real_custom_resources_are_structural_and_accept_real_objects() {
    let objects = cases::objects();
    let mut schemas = BTreeMap::new();
    for definition in objects.iter().filter(|object| object["kind"] == "CustomResourceDefinition") {
        for version in definition["spec"]["versions"].as_array().unwrap() {
            let schema = StructuralSchema::from_openapi(&version["schema"]["openAPIV3Schema"], "");
            let group = definition["spec"]["group"].as_str().unwrap();
            let api_version = format!("{group}/{}", version["name"].as_str().unwrap());
            let kind = definition["spec"]["names"]["kind"].to_string();
            let schema = schema.unwrap_or_else(|errors| panic!("{kind}: {errors:?}"));
            schemas.insert((api_version, kind), schema);
        }
    }
    for object in &objects {
        let key = (object["apiVersion"].as_str().unwrap_or_default().to_owned(), object["kind"].to_string());
        if let Some(schema) = schemas.get(&key) {
            let mut pruned = object.clone();
            assert_eq!(schema.prune(&mut pruned), [""; 0], "{key:?}");
            schema.default(&mut pruned);
            assert_eq!(&pruned, object, "{key:?}");
            assert_eq!(schema.validate(&pruned), [], "{key:?}");
        }
    }
}
