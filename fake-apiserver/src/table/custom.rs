//! Columns of custom resources: the name, then what the definition asks for.

use std::borrow::Cow;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::path::Path;
use super::{Cell, Column, age, builtin};

/// The columns that one version of a definition declares; if it declares none (or some that cannot be read) the age.
pub(crate) fn columns_of(declared: &Value) -> Vec<Column> {
    let declared = declared.as_array().into_iter().flatten();
    let columns: Option<Vec<Column>> = declared.map(column).collect();
    let columns = columns.filter(|columns| !columns.is_empty());
    let mut all = vec![builtin::name()];
    all.extend(columns.unwrap_or_else(|| vec![builtin::age_date()]));
    all
}

fn column(declared: &Value) -> Option<Column> {
    let text = |field: &str| declared[field].as_str().unwrap_or_default().to_owned();
    let path = text("jsonPath");
    let cell = Cell::Path(Path::parse(&path)?);
    let described = text("description");
    let description = match described.is_empty() {
        true => format!("Custom resource definition column (in JSONPath format): {path}"),
        false => described,
    };
    Some(Column {
        name: Cow::Owned(text("name")),
        kind: Cow::Owned(text("type")),
        format: Cow::Owned(text("format")),
        description: Cow::Owned(description),
        priority: declared["priority"].as_i64().unwrap_or(0),
        cell,
    })
}

/// The first value at the path as the column's type has it; null if there is none or it does not fit.
pub(super) fn cell(kind: &str, path: &Path, object: &Value, now: Timestamp) -> Value {
    let Some(value) = path.first(object) else { return Value::Null };
    match (kind, value) {
        (_, Value::Null) => Value::Null,
        ("string", Value::String(_)) | ("boolean", Value::Bool(_)) | ("number", Value::Number(_)) => {
            value.clone()
        }
        // Lists and objects are shown as JSON.
        ("string", _) => json!(value.to_string()),
        ("integer", Value::Number(number)) => {
            // Whole numbers stay exact; of others the whole part.
            #[expect(clippy::cast_possible_truncation, reason = "that is what is asked for")]
            let whole = || number.as_f64().unwrap_or_default().trunc() as i64;
            json!(number.as_i64().unwrap_or_else(whole))
        }
        ("date", Value::String(_)) => json!(age::since(value, now)),
        _ => Value::Null,
    }
}
