//! Bodies in the protobuf encoding, which typed Go clients prefer, turned into JSON before the cluster sees them.
//!
//! Every kind of the table of built-in types is known, and the options of deletes. Others are refused as an unknown format.
//! Answers are always JSON, which every such client takes.

use base64::Engine;
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::schema::builtin::table::{Field, Shape, Type, Types};
use crate::schema::builtin::time::written;

/// The media type.
pub const MEDIA_TYPE: &str = "application/vnd.kubernetes.protobuf";

/// What every body begins with.
const MAGIC: &[u8] = b"k8s\0";

/// Deepest nesting of messages, far beyond that of any kind but schemas.
const DEEPEST: usize = 128;

/// The JSON of a body; `None` when it is broken or of a kind that is not known here.
pub fn to_json(body: &[u8]) -> Option<Vec<u8>> {
    // The envelope: 1 the type (1 apiVersion, 2 kind), 2 the object.
    let (mut named, mut raw) = (&b""[..], &b""[..]);
    each_field(body.strip_prefix(MAGIC)?, |number, wire| {
        match (number, wire) {
            (1, Wire::Bytes(bytes)) => named = bytes,
            (2, Wire::Bytes(bytes)) => raw = bytes,
            _ => {}
        }
        Some(())
    })?;
    let (mut version, mut kind) = ("", "");
    each_field(named, |number, wire| {
        match (number, wire) {
            (1, Wire::Bytes(bytes)) => version = std::str::from_utf8(bytes).ok()?,
            (2, Wire::Bytes(bytes)) => kind = std::str::from_utf8(bytes).ok()?,
            _ => {}
        }
        Some(())
    })?;
    let types = Types::get();
    // Options of deletes carry the version of what they delete.
    let of = if kind == "DeleteOptions" { types.named("meta", kind) } else { types.kind(version, kind) };
    let mut object = message(of?, raw, 0)?;
    object.insert("apiVersion".into(), version.into());
    object.insert("kind".into(), kind.into());
    serde_json::to_vec(&object).ok()
}

/// One field on the wire.
enum Wire<'a> {
    Number(u64),
    Bytes(&'a [u8]),
    /// Eight or four bytes.
    Fixed(&'a [u8]),
}

fn message(of: &Type, bytes: &[u8], depth: usize) -> Option<Map<String, Value>> {
    let mut object = Map::new();
    read_message(of, bytes, &mut object, depth)?;
    Some(object)
}

/// Reads the fields of a struct. A field that is not known is not needed, as in every decoder.
fn read_message(of: &Type, bytes: &[u8], object: &mut Map<String, Value>, depth: usize) -> Option<()> {
    if depth == DEEPEST {
        return None;
    }
    each_field(bytes, |number, wire| match of.own().iter().find(|field| field.number == number) {
        Some(field) => put(object, field, &wire, depth + 1),
        None => Some(()),
    })
}

fn put(object: &mut Map<String, Value>, field: &Field, wire: &Wire<'_>, depth: usize) -> Option<()> {
    match &field.shape {
        Shape::Struct(id) if field.inline() => {
            let Wire::Bytes(bytes) = *wire else { return None };
            read_message(&Types::get().all[*id], bytes, object, depth)
        }
        Shape::List(item) => {
            let item = single(item, wire, depth)?.unwrap_or(Value::Null);
            object.entry(field.name).or_insert_with(|| json!([])).as_array_mut()?.push(item);
            Some(())
        }
        Shape::Map(shape) => {
            let Wire::Bytes(entry) = *wire else { return None };
            let (mut key, mut content) = ("", Wire::Bytes(b""));
            each_field(entry, |number, wire| {
                match (number, wire) {
                    (1, Wire::Bytes(bytes)) => key = std::str::from_utf8(bytes).ok()?,
                    (2, wire) => content = wire,
                    _ => {}
                }
                Some(())
            })?;
            let value = single(shape, &content, depth)?.unwrap_or(Value::Null);
            object
                .entry(field.name)
                .or_insert_with(|| json!({}))
                .as_object_mut()?
                .insert(key.to_owned(), value);
            Some(())
        }
        shape => {
            // The encoding has no other way to leave out what is no pointer.
            if let Some(value) = single(shape, wire, depth)?
                && (field.pointer || !(value == "" || value == 0 || value == false))
            {
                object.insert(field.name.to_owned(), value);
            }
            Some(())
        }
    }
}

/// One value; `Some(None)` for what is not set, `None` when the encoding is wrong.
fn single(shape: &Shape, wire: &Wire<'_>, depth: usize) -> Option<Option<Value>> {
    Some(match (shape, wire) {
        (Shape::Int32 | Shape::Int64, Wire::Number(number)) => Some(number.cast_signed().into()),
        (Shape::Bool, Wire::Number(number)) => Some((*number != 0).into()),
        (Shape::Double, Wire::Fixed(bytes)) => {
            Some(f64::from_le_bytes(<[u8; 8]>::try_from(*bytes).ok()?).into())
        }
        (Shape::String, Wire::Bytes(bytes)) => Some(text(bytes)?),
        (Shape::Bytes, Wire::Bytes(bytes)) => Some(encoded(bytes)),
        (Shape::Time, Wire::Bytes(bytes)) => time(bytes, false)?,
        (Shape::MicroTime, Wire::Bytes(bytes)) => time(bytes, true)?,
        (Shape::Quantity, Wire::Bytes(bytes)) => first_text(bytes)?,
        (Shape::IntOrString, Wire::Bytes(bytes)) => Some(int_or_string(bytes)?),
        // Raw JSON.
        (Shape::Any, Wire::Bytes(bytes)) => {
            first_bytes(bytes)?.map(serde_json::from_slice).transpose().ok()?
        }
        (Shape::Struct(id), Wire::Bytes(bytes)) => {
            Some(Value::Object(message(&Types::get().all[*id], bytes, depth)?))
        }
        _ => return None,
    })
}

/// What a message holds in its only field.
fn first_bytes(message: &[u8]) -> Option<Option<&[u8]>> {
    let mut found = None;
    each_field(message, |number, wire| {
        if let (1, Wire::Bytes(bytes)) = (number, wire) {
            found = Some(bytes);
        }
        Some(())
    })?;
    Some(found)
}

fn first_text(message: &[u8]) -> Option<Option<Value>> {
    first_bytes(message)?.map(text).map_or(Some(None), |value| value.map(Some))
}

/// `1` which of the two, `2` a number, `3` a text.
fn int_or_string(message: &[u8]) -> Option<Value> {
    let (mut is_text, mut number, mut content) = (false, 0, &b""[..]);
    each_field(message, |field, wire| {
        match (field, wire) {
            (1, Wire::Number(which)) => is_text = which == 1,
            (2, Wire::Number(value)) => number = value.cast_signed(),
            (3, Wire::Bytes(bytes)) => content = bytes,
            _ => {}
        }
        Some(())
    })?;
    if is_text { text(content) } else { Some(number.into()) }
}

fn time(bytes: &[u8], micros: bool) -> Option<Option<Value>> {
    let (mut seconds, mut nanos) = (0_i64, 0_i32);
    each_field(bytes, |number, wire| {
        match (number, wire) {
            (1, Wire::Number(number)) => seconds = number.cast_signed(),
            (2, Wire::Number(number)) => nanos = i32::try_from(number).ok()?,
            _ => {}
        }
        Some(())
    })?;
    if (seconds, nanos) == (0, 0) {
        return Some(None);
    }
    Some(Some(written(Timestamp::new(seconds, nanos).ok()?, micros).into()))
}

fn text(bytes: &[u8]) -> Option<Value> {
    Some(std::str::from_utf8(bytes).ok()?.into())
}

fn encoded(bytes: &[u8]) -> Value {
    base64::engine::general_purpose::STANDARD.encode(bytes).into()
}

/// Calls `take` with every field of a message.
fn each_field<'a>(mut bytes: &'a [u8], mut take: impl FnMut(u64, Wire<'a>) -> Option<()>) -> Option<()> {
    while !bytes.is_empty() {
        let (number, wire) = field(&mut bytes)?;
        take(number, wire)?;
    }
    Some(())
}

/// Takes the next field: its number and what it holds.
fn field<'a>(bytes: &mut &'a [u8]) -> Option<(u64, Wire<'a>)> {
    let tag = varint(bytes)?;
    let value = match tag & 7 {
        0 => Wire::Number(varint(bytes)?),
        1 => Wire::Fixed(take(bytes, 8)?),
        2 => {
            let length = usize::try_from(varint(bytes)?).ok()?;
            Wire::Bytes(take(bytes, length)?)
        }
        5 => Wire::Fixed(take(bytes, 4)?),
        _ => return None,
    };
    Some((tag >> 3, value))
}

fn take<'a>(bytes: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (head, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(head)
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for shift in (0..64).step_by(7) {
        let byte = *take(bytes, 1)?.first()?;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn bytes(number: u8, content: &[u8]) -> Vec<u8> {
        let length = u8::try_from(content.len()).unwrap();
        match number {
            0..16 => [&[number << 3 | 2, length], content].concat(),
            _ => [&[(number << 3 | 2) | 0x80, number >> 4, length], content].concat(),
        }
    }

    fn body(version: &str, kind: &str, raw: &[u8]) -> Vec<u8> {
        let meta = [bytes(1, version.as_bytes()), bytes(2, kind.as_bytes())].concat();
        [MAGIC.to_vec(), bytes(1, &meta), bytes(2, raw), bytes(3, b""), bytes(4, b"")].concat()
    }

    fn decode(body: &[u8]) -> Option<Value> {
        to_json(body).map(|json| serde_json::from_slice(&json).unwrap())
    }

    #[test]
    fn what_is_not_set_is_left_out_and_what_is_set_to_nothing_is_kept() {
        let zero_time = bytes(8, &[0x08, 0, 0x10, 0]);
        let metadata = [bytes(1, b"settings"), bytes(2, b""), zero_time, vec![0x38, 0]].concat();
        let entry = bytes(2, &[bytes(1, b"key"), bytes(2, b"")].concat());
        let raw = [bytes(1, &metadata), entry, vec![0x20, 0]].concat();
        let expected = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "settings" },
            "data": { "key": "" }, "immutable": false,
        });
        assert_eq!(decode(&body("v1", "ConfigMap", &raw)), Some(expected));
    }

    #[test]
    fn times_of_a_lease_have_microseconds() {
        let renewed = bytes(4, &[0x08, 0x01, 0x10, 0xe8, 0x07]);
        let object = decode(&body("coordination.k8s.io/v1", "Lease", &bytes(2, &renewed))).unwrap();
        assert_eq!(object["spec"], json!({ "renewTime": "1970-01-01T00:00:01.000001Z" }));
    }

    #[test]
    fn kinds_are_told_apart_by_group() {
        assert!(decode(&body("v1", "Namespace", b"")).is_some());
        assert!(decode(&body("v1", "Role", b"")).is_none());
        assert!(decode(&body("v1", "ObjectMeta", b"")).is_none());
        assert!(decode(&body("apps/v1", "DeleteOptions", b"")).is_some());
    }

    #[test]
    fn values_with_a_form_of_their_own_become_what_json_has_for_them() {
        let request = [bytes(1, b"cpu"), bytes(2, &bytes(1, b"500m"))].concat();
        let container = [bytes(1, b"main"), bytes(8, &bytes(2, &request))].concat();
        let volume = [bytes(1, b"v"), bytes(2, &bytes(19, &bytes(1, &bytes(1, b"settings"))))].concat();
        let spec = [bytes(1, &volume), bytes(2, &container)].concat();
        let object = decode(&body("v1", "Pod", &bytes(2, &spec))).unwrap();
        let resources = json!({ "requests": { "cpu": "500m" } });
        assert_eq!(object["spec"]["containers"], json!([{ "name": "main", "resources": resources }]));
        assert_eq!(object["spec"]["volumes"], json!([{ "name": "v", "configMap": { "name": "settings" } }]));
        let budget =
            [bytes(1, &[0x08, 1, 0x1a, 3, b'5', b'0', b'%']), bytes(3, &[0x08, 0, 0x10, 2])].concat();
        let object = decode(&body("policy/v1", "PodDisruptionBudget", &bytes(2, &budget))).unwrap();
        assert_eq!(object["spec"], json!({ "minAvailable": "50%", "maxUnavailable": 2 }));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(raw: Vec<u8>) {
            let _ = to_json(&raw);
            for of in &Types::get().all {
                let _ = message(of, &raw, 0);
            }
        }
    }
}
