//! What remains of an object when it is written from a built-in type, as Go writes a struct: empty values and nulls go,
//! what has no `omitempty` comes.

use serde_json::{Map, Value};

use super::decode::zero;
use super::table::{Field, Shape, Type, Types};

/// Settles an object of a type in place. Members that are no fields stay.
pub(crate) fn settle(of: &Type, object: &mut Map<String, Value>) {
    for field in of.fields() {
        let settled = match object.get_mut(field.name) {
            None | Some(Value::Null) => nothing(field),
            Some(value) => {
                inside(&field.shape, value);
                if field.written || field.pointer || !is_empty(&field.shape, value) {
                    continue;
                }
                None
            }
        };
        match settled {
            Some(value) => drop(object.insert(field.name.to_owned(), value)),
            None => drop(object.remove(field.name)),
        }
    }
}

/// What is written for a field that nobody set.
fn nothing(field: &Field) -> Option<Value> {
    if !field.written {
        return None;
    }
    if field.pointer {
        return Some(Value::Null);
    }
    let mut value = zero(&field.shape);
    inside(&field.shape, &mut value);
    Some(value)
}

fn inside(shape: &Shape, value: &mut Value) {
    match (shape, value) {
        (Shape::Struct(id), Value::Object(members)) => settle(&Types::get().all[*id], members),
        (Shape::List(item), Value::Array(items)) => items.iter_mut().for_each(|value| inside(item, value)),
        (Shape::Map(item), Value::Object(members)) => {
            members.values_mut().for_each(|value| inside(item, value));
        }
        _ => {}
    }
}

fn is_empty(shape: &Shape, value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(value) => !value,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty() && matches!(shape, Shape::Map(_)),
    }
}
