//! Small changes that break things: to JSON as a tree, to texts, and to bytes.

use serde_json::{Map, Number, Value, json};

use crate::source::Source;

/// Texts that code tends to forget.
const ODD_TEXTS: &[&str] = &[
    "",
    " ",
    ".",
    "..",
    "/",
    "a/b/c",
    "-",
    "a",
    "A",
    "\u{0}",
    "\n",
    "\r\n",
    "\t",
    "\"",
    "\\",
    "'",
    "%",
    "%2F",
    "é",
    "ß",
    "\u{301}",
    "\u{202e}",
    "𝒳",
    "\u{feff}",
    "\u{ffff}",
    "${x}",
    "$(x)",
    "{{x}}",
    "null",
    "true",
    "0",
    "-1",
    "1e9",
    "1.5",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "NaN",
    "Infinity",
    "100%",
    "-5%",
    "1Ki",
    "1Zi",
    "0.0000000001",
    "1e-1000",
    "2024-02-30T00:00:00Z",
    "2024-02-03T04:05:06Z",
    "0000-01-01T00:00:00Z",
    "9999-12-31T23:59:59-23:59",
    "::1",
    "10.0.0.1",
    "10.0.0.0/33",
    "*",
    "*.*",
    "a=b",
    "a,b",
    "f:a",
    "k:{\"name\":\"a\"}",
    "v:1",
    "i:0",
    "~0~1",
    "metadata.name",
    "kubernetes.io/a",
    "-a-",
    "default",
    "kube-system",
    "v1",
    "apps/v1",
    "Pod",
    "string",
    "object",
    "array",
    "integer",
    "self",
    "self.x > 0",
    "has(self.a)",
    "$patch",
    "$retainKeys",
    "delete",
    "replace",
];

/// Members that code of the server reaches into.
const MEMBERS: &[&str] = &[
    "metadata",
    "spec",
    "status",
    "data",
    "name",
    "namespace",
    "labels",
    "annotations",
    "finalizers",
    "ownerReferences",
    "uid",
    "resourceVersion",
    "generation",
    "managedFields",
    "fieldsV1",
    "deletionTimestamp",
    "generateName",
    "apiVersion",
    "kind",
    "containers",
    "template",
    "selector",
    "matchLabels",
    "matchExpressions",
    "ports",
    "port",
    "protocol",
    "replicas",
    "type",
    "env",
    "resources",
    "limits",
    "volumes",
    "rules",
    "items",
    "properties",
    "additionalProperties",
    "default",
    "nullable",
    "required",
    "enum",
    "format",
    "x-kubernetes-validations",
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-int-or-string",
    "x-kubernetes-embedded-resource",
    "allOf",
    "anyOf",
    "not",
    "rule",
    "message",
    "messageExpression",
    "fieldPath",
    "optionalOldSelf",
    "$patch",
    "$retainKeys",
    "$setElementOrder/ports",
    "$deleteFromPrimitiveList/finalizers",
    "",
    ".",
    "a.b",
    "f:a",
    "é",
];

/// Text that somebody forgot to think of.
pub(crate) fn odd_text(source: &mut Source) -> String {
    match source.below(12) {
        0 => "x".repeat(1 << source.below(12)),
        1 => (0..source.below(8)).filter_map(|_| char::from_u32(source.bits() as u32 % 0x11_0000)).collect(),
        _ => source.pick(ODD_TEXTS).to_owned(),
    }
}

fn odd_number(source: &mut Source) -> Value {
    match source.below(6) {
        0 => json!(source.bits()),
        1 => json!(source.bits().cast_signed()),
        2 => Number::from_f64(f64::from_bits(source.bits())).map_or(Value::Null, Value::Number),
        3 => json!(source.pick(&[i64::MIN, i64::MAX, i64::from(i32::MAX) + 1, -1, 65536])),
        4 => json!(source.pick(&[0.5, -0.0, 1e300, 1.0, 1e-7])),
        _ => json!(source.below(70) as i64 - 2),
    }
}

/// Any JSON, at most `depth` deep.
pub(crate) fn any_json(source: &mut Source, depth: usize) -> Value {
    match source.below(if depth == 0 { 5 } else { 8 }) {
        0 => Value::Null,
        1 => json!(source.one_in(2)),
        2 => odd_number(source),
        3 | 4 => odd_text(source).into(),
        5 => (0..source.below(4)).map(|_| any_json(source, depth - 1)).collect(),
        _ => (0..source.below(4))
            .map(|_| (member(source), any_json(source, depth - 1)))
            .collect::<Map<_, _>>()
            .into(),
    }
}

/// The name of a member: mostly one that means something.
fn member(source: &mut Source) -> String {
    if source.one_in(6) { odd_text(source) } else { source.pick(MEMBERS).to_owned() }
}

/// Changes a document in up to `most` places.
pub(crate) fn json(source: &mut Source, document: &mut Value, most: usize) {
    for _ in 0..source.below(most + 1) {
        let copy = some_part(source, document).clone();
        let part = some_part(source, document);
        edit(source, part, copy);
    }
}

/// Any part of a document, itself included.
fn some_part<'v>(source: &mut Source, document: &'v mut Value) -> &'v mut Value {
    let mut left = source.below(count(document));
    nth(document, &mut left).unwrap()
}

fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(count).sum(),
        Value::Object(members) => members.values().map(count).sum::<usize>(),
        _ => 0,
    }
}

fn nth<'v>(value: &'v mut Value, left: &mut usize) -> Option<&'v mut Value> {
    if *left == 0 {
        return Some(value);
    }
    *left -= 1;
    match value {
        Value::Array(items) => items.iter_mut().find_map(|item| nth(item, left)),
        Value::Object(members) => members.values_mut().find_map(|member| nth(member, left)),
        _ => None,
    }
}

/// Changes one part; `copy` is another part of the same document.
fn edit(source: &mut Source, part: &mut Value, copy: Value) {
    match source.below(14) {
        0 => *part = Value::Null,
        1 => *part = copy,
        2 => *part = any_json(source, 3),
        3 => *part = odd_text(source).into(),
        4 => *part = odd_number(source),
        5 => *part = json!([part.take()]),
        6 => *part = Value::Object(Map::from_iter([(member(source), part.take())])),
        7 => {
            for _ in 0..1 << source.below(8) {
                *part = if source.one_in(2) { json!([part.take()]) } else { json!({ "a": part.take() }) };
            }
        }
        8 => *part = source.pick::<fn() -> Value>(&[|| json!([]), || json!({}), || json!(""), || json!(0)])(),
        _ => inside(source, part, copy),
    }
}

/// Changes what a list or object holds, or a bit of a text or number.
fn inside(source: &mut Source, part: &mut Value, copy: Value) {
    match part {
        Value::Array(items) if items.is_empty() => items.push(copy),
        Value::Array(items) => {
            let at = source.below(items.len());
            match source.below(4) {
                0 => drop(items.remove(at)),
                1 => items.insert(at, copy),
                2 => items.push(items[at].clone()),
                _ => items.reverse(),
            }
        }
        Value::Object(members) => {
            let at = source.below(members.len().max(1));
            let name = members.keys().nth(at).cloned();
            match (source.below(4), name) {
                (0, Some(name)) => drop(members.remove(&name)),
                (1, Some(name)) => {
                    let value = members.remove(&name).unwrap_or_default();
                    members.insert(member(source), value);
                }
                (2, _) => drop(members.insert(member(source), copy)),
                _ => drop(members.insert(member(source), any_json(source, 2))),
            }
        }
        Value::String(content) => text(source, content),
        Value::Number(_) => *part = odd_number(source),
        other => *other = json!(source.one_in(2)),
    }
}

/// Changes a text in one place.
pub(crate) fn text(source: &mut Source, text: &mut String) {
    let mut chars: Vec<char> = text.chars().collect();
    let at = source.below(chars.len() + 1);
    let end = (at + source.below(4)).min(chars.len());
    match source.below(4) {
        0 => drop(chars.drain(at..end)),
        1 => {
            let odd: Vec<char> = odd_text(source).chars().collect();
            drop(chars.splice(at..end, odd));
        }
        2 => {
            let again = chars[at..end].to_vec();
            drop(chars.splice(at..at, again));
        }
        _ => chars.insert(
            at,
            source.pick(&[
                'a', '0', '=', '!', '(', ')', ',', '%', '"', '\\', ':', '-', '.', '/', ' ', '\n', 'é',
            ]),
        ),
    }
    *text = chars.into_iter().collect();
}

/// Changes bytes in up to `most` places.
pub(crate) fn bytes(source: &mut Source, bytes: &mut Vec<u8>, most: usize) {
    for _ in 0..source.below(most + 1) {
        let at = source.below(bytes.len() + 1);
        let end = (at + source.below(9)).min(bytes.len());
        match source.below(5) {
            0 => drop(bytes.drain(at..end)),
            1 if at < bytes.len() => bytes[at] ^= 1 << source.below(8),
            2 => bytes.insert(at, source.bits() as u8),
            3 => {
                let again = bytes[at..end].to_vec();
                drop(bytes.splice(at..at, again));
            }
            _ => drop(bytes.splice(at..end, odd_text(source).into_bytes())),
        }
    }
}

/// The text of a document, now and then as no careful writer writes it: repeated members, numbers of any length.
pub(crate) fn render(source: &mut Source, value: &Value) -> String {
    if source.one_in(2) {
        return value.to_string();
    }
    let mut out = String::new();
    write(source, value, &mut out);
    out
}

fn write(source: &mut Source, value: &Value, out: &mut String) {
    match value {
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                out.push_str(if index == 0 { "" } else { "," });
                write(source, item, out);
            }
            out.push(']');
        }
        Value::Object(members) => {
            out.push('{');
            let mut first = true;
            for (name, member) in members {
                for _ in 0..if source.one_in(12) { 2 } else { 1 } {
                    out.push_str(if std::mem::take(&mut first) { "" } else { "," });
                    out.push_str(&Value::from(name.as_str()).to_string());
                    out.push(':');
                    write(source, member, out);
                }
            }
            out.push('}');
        }
        Value::Number(_) if source.one_in(6) => out.push_str(source.pick(&[
            "1e999",
            "-1e999",
            "123456789012345678901234567890",
            "-0",
            "0.1e1",
            "1E2",
            "1.0",
            "1e-400",
            "18446744073709551616",
        ])),
        other => out.push_str(&other.to_string()),
    }
}
