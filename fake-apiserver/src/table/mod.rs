//! Objects as rows: what `kubectl get` asks for with `as=Table` (`k8s.io/kubernetes/pkg/printers`).
//!
//! Which columns a kind has is data: [`builtin`] for the kinds of the system, `additionalPrinterColumns` for custom
//! resources. A cell is computed from the object alone and the time it is looked at; nothing is fetched for it.

mod age;
mod builtin;
mod cells;
mod custom;
mod event;
mod network;
mod path;
mod pod;

use std::borrow::Cow;

use jiff::Timestamp;
use serde_json::{Value, json};

pub(crate) use self::builtin::columns_of;
pub(crate) use self::custom::columns_of as custom_columns_of;
use self::path::Path;

/// One column of a kind.
#[derive(Debug)]
pub(crate) struct Column {
    name: Cow<'static, str>,
    /// `string`, `integer`, `number`, `boolean` or `date`.
    kind: Cow<'static, str>,
    format: Cow<'static, str>,
    description: Cow<'static, str>,
    /// 0 is always shown, more only on demand.
    priority: i64,
    cell: Cell,
}

/// Where a cell comes from. Texts are JSON pointers into the object.
#[derive(Clone, Debug)]
enum Cell {
    /// A value as text, or what stands for none.
    Text(&'static str, &'static str),
    /// A number, 0 when absent.
    Number(&'static str),
    /// A boolean, with its default.
    Flag(&'static str, bool),
    /// How long ago a time is.
    Since(&'static str),
    /// How many members some maps and lists have together.
    Count(&'static [&'static str]),
    /// Two numbers: so many of so many.
    Of(&'static str, &'static str),
    /// A field of each element of a list, or what stands for none.
    Each(&'static str, &'static str, &'static str),
    /// A map of labels.
    Labels(&'static str),
    /// A label selector.
    Selector(&'static str),
    /// Anything that takes more than one field.
    By(fn(&Value, Timestamp) -> Value),
    /// What a custom column's JSONPath finds first.
    Path(Path),
}

impl Column {
    /// What a Table says about the column.
    pub(crate) fn definition(&self) -> Value {
        json!({
            "name": self.name,
            "type": self.kind,
            "format": self.format,
            "description": self.description,
            "priority": self.priority,
        })
    }

    /// The cell of one object.
    pub(crate) fn cell(&self, object: &Value, now: Timestamp) -> Value {
        let at = |pointer: &str| object.pointer(pointer).unwrap_or(&Value::Null);
        match &self.cell {
            Cell::Text(pointer, none) => json!(cells::text(at(pointer), none)),
            Cell::Number(pointer) => json!(at(pointer).as_i64().unwrap_or(0)),
            Cell::Flag(pointer, default) => json!(at(pointer).as_bool().unwrap_or(*default)),
            Cell::Since(pointer) => json!(age::since(at(pointer), now)),
            Cell::Count(pointers) => {
                json!(pointers.iter().map(|pointer| cells::size(at(pointer))).sum::<usize>())
            }
            Cell::Of(part, whole) => {
                json!(format!("{}/{}", at(part).as_i64().unwrap_or(0), at(whole).as_i64().unwrap_or(0)))
            }
            Cell::Each(pointer, field, none) => json!(cells::each(at(pointer), field, none)),
            Cell::Labels(pointer) => json!(cells::labels(at(pointer))),
            Cell::Selector(pointer) => json!(cells::selector(at(pointer))),
            Cell::By(compute) => compute(object, now),
            Cell::Path(path) => custom::cell(&self.kind, path, object, now),
        }
    }
}

#[cfg(test)]
mod tests;
