//! Objects as a server prints them into a message: JSON in the order of the Go structs, except for what a patch has
//! touched, which went through a map and is in the order of names.

use serde_json::Value;

use super::table::{Shape, Type, Types};

/// Prints what a patch made of `old`; without a type everything is in the order of names.
pub(crate) fn print(of: Option<&Type>, new: &Value, old: &Value) -> String {
    let mut text = String::new();
    let shape = of.and_then(|of| {
        let all = &Types::get().all;
        all.iter().position(|other| std::ptr::eq(other, of)).map(Shape::Struct)
    });
    // The object itself has always gone through the map.
    value(&mut text, shape.as_ref().unwrap_or(&Shape::Any), new, Some(old), true);
    text
}

fn value(text: &mut String, shape: &Shape, new: &Value, old: Option<&Value>, touched: bool) {
    match (new, shape) {
        (Value::Object(members), shape) => {
            let touched = touched || old != Some(new);
            let mut first = true;
            text.push('{');
            let mut member = |text: &mut String, name: &str, below: &Shape| {
                let Some(new) = members.get(name) else { return };
                if !std::mem::take(&mut first) {
                    text.push(',');
                }
                text.push_str(&Value::from(name).to_string());
                text.push(':');
                let old = old.and_then(|old| old.get(name));
                value(text, below, new, old, false);
            };
            match shape {
                Shape::Struct(id) => {
                    let of = &Types::get().all[*id];
                    let mut names: Vec<&str> = members.keys().map(String::as_str).collect();
                    if !touched {
                        let place = |name: &&str| of.fields().iter().position(|field| field.name == *name);
                        names.sort_by_key(place);
                    }
                    for name in names {
                        let below = of.field(name).map_or(&Shape::Any, |field| &field.shape);
                        member(text, name, below);
                    }
                }
                Shape::Map(below) => members.keys().for_each(|name| member(text, name, below)),
                _ => members.keys().for_each(|name| member(text, name, &Shape::Any)),
            }
            text.push('}');
        }
        (Value::Array(items), Shape::List(item)) => {
            text.push('[');
            for (position, new) in items.iter().enumerate() {
                if position > 0 {
                    text.push(',');
                }
                let old = old.and_then(|old| old.get(position));
                // Lists that a patch names are written as it has them.
                value(text, item, new, old, false);
            }
            text.push(']');
        }
        (scalar, _) => text.push_str(&scalar.to_string()),
    }
}
