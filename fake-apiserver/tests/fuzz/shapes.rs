//! Encodings: sets of fields, and protobuf.

use fake_apiserver::apply::FieldSet;
use fake_apiserver::serve::protobuf;
use serde_json::{Map, Value, json};

use crate::bench::{Bench, PATCHES};
use crate::corpus::Corpus;
use crate::engine::run;
use crate::mutate;
use crate::source::Source;

#[test]
fn field_sets() {
    run("field_sets", 120, |source| {
        let mut fields = field_set(source, 4);
        mutate::json(source, &mut fields, 2);
        source.note(&fields.to_string());
        let set = FieldSet::decode(&fields);
        let encoded = set.clone().encode();
        assert_eq!(FieldSet::decode(&encoded), set, "a set is not what was encoded");
        assert_eq!(FieldSet::decode(&encoded).encode(), encoded, "encoded twice");
        set.paths();
        let mut other = FieldSet::decode(&field_set(source, 4));
        let (both, mut rest) = (set.intersection(&other), set.clone());
        assert!(set.contains(&both) && other.contains(&both));
        rest.subtract(&other);
        rest.unite(both);
        assert_eq!(rest, set, "a set is not its two parts");
        other.unite(set.clone());
        assert!(other.contains(&set));
        if source.one_in(3) {
            in_an_object(source, &encoded);
            in_an_object(source, &fields);
        }
    });
}

fn field_set(source: &mut Source, depth: usize) -> Value {
    const ELEMENTS: &[&str] = &[
        ".",
        "f:a",
        "f:metadata",
        "f:data",
        "f:k",
        "f:spec",
        "k:{\"name\":\"a\"}",
        "k:{\"b\":1,\"a\":\"x\"}",
        "k:{}",
        "k:[]",
        "v:1",
        "v:\"a\"",
        "v:{\"a\":1}",
        "v:1.0",
        "i:0",
        "i:-1",
        "i:x",
        "f:",
        "k:",
        "x:y",
        "",
        "v:1e400",
    ];
    let members = (0..source.below(4)).map(|_| {
        let below = if depth == 0 { json!({}) } else { field_set(source, depth - 1) };
        (source.pick(ELEMENTS).to_owned(), below)
    });
    members.collect::<Map<_, _>>().into()
}

/// An object with such an owner, applied to by another one.
fn in_an_object(source: &mut Source, fields: &Value) {
    let bench = Bench::quiet();
    let mut entry = json!({
        "manager": "m", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1", "time": "2024-01-01T00:00:00Z", "fieldsV1": fields,
    });
    if source.one_in(3) {
        mutate::json(source, &mut entry, 1);
    }
    let target = "/api/v1/namespaces/default/configmaps";
    let object =
        json!({ "metadata": { "name": "a", "managedFields": [entry] }, "data": { "k": "v", "a": "b" } });
    let headers = [("content-type", "application/json")];
    bench.write(source, "POST", target, &headers, object.to_string().as_bytes());
    let applied =
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" }, "data": { "k": "w" } });
    for manager in ["m", "n"] {
        let target = format!("{target}/a?fieldManager={manager}&force=true");
        bench.write(
            source,
            "PATCH",
            &target,
            &[("content-type", PATCHES[3])],
            applied.to_string().as_bytes(),
        );
    }
}

#[test]
fn protobuf_bodies() {
    let corpus = Corpus::new();
    run("protobuf_bodies", 150, |source| {
        let seed = corpus.any(source);
        let text = |name: &str| seed.object[name].as_str().unwrap_or_default().as_bytes().to_vec();
        let named = [field(1, &text("apiVersion")), field(2, &text("kind"))].concat();
        let object = message(source, 5);
        let mut body = [b"k8s\0".to_vec(), field(1, &named), field(2, &object)].concat();
        if source.one_in(3) {
            mutate::bytes(source, &mut body, 3);
        }
        source.note(&format!("{body:?}"));
        let Some(json) = protobuf::to_json(&body) else { return };
        let read: Value = serde_json::from_slice(&json).expect("what is decoded is JSON");
        assert!(read.is_object());
        let bench = Bench::quiet();
        bench.write(source, "POST", &seed.at, &[("content-type", "application/json")], &json);
    });
}

/// A message whose fields are anything, as deep as `depth`.
fn message(source: &mut Source, depth: usize) -> Vec<u8> {
    let mut out = Vec::new();
    for _ in 0..source.below(5) {
        let number = 1 + source.below(12) as u64;
        match source.below(7) {
            0 => {
                out.extend(varint(number << 3));
                let value = if source.one_in(2) { source.bits() } else { source.below(3) as u64 };
                out.extend(varint(value));
            }
            1 if source.one_in(4) => {
                out.extend(varint(number << 3 | 1));
                out.extend(source.bits().to_le_bytes());
            }
            2 | 3 => out.extend(field(number, mutate::odd_text(source).as_bytes())),
            _ if depth > 0 => {
                let below = message(source, depth - 1);
                out.extend(field(number, &below));
            }
            _ => {}
        }
    }
    out
}

fn field(number: u64, content: &[u8]) -> Vec<u8> {
    [varint(number << 3 | 2), varint(content.len() as u64), content.to_vec()].concat()
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut out = Vec::new();
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
    out
}
