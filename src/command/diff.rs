//! What changes, object by object and field by field: between two plans (`plan --diff`), or between a cluster and a plan
//! (`plan --against`).

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::Serialize;
use serde_json::Value;

use crate::manifest::{Object, ObjectKey};
use crate::plan::Plan;

/// Longest value that a line shows, in characters.
const WIDTH: usize = 60;

/// A difference; each list is sorted by identity.
#[derive(Debug, Default, PartialEq, Serialize)]
pub(super) struct Diff {
    pub(super) added: Vec<String>,
    pub(super) removed: Vec<String>,
    pub(super) changed: Vec<Changed>,
    /// Objects that the cluster refuses, each with why; only against a cluster.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) refused: Vec<String>,
    /// How many objects are as they should be.
    pub(super) unchanged: usize,
}

/// An object that is on both sides.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct Changed {
    pub(super) object: String,
    pub(super) fields: Vec<Field>,
}

/// A field that differs; null where it is absent.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct Field {
    /// As a JSON pointer.
    pub(super) path: String,
    old: Value,
    new: Value,
}

/// Compares two plans.
pub(super) fn diff(old: &Plan, new: &Plan) -> Diff {
    let by_key = |plan: &'_ Plan| plan.objects().map(|object| (object.key(), object.clone())).collect();
    let (old, new): (BTreeMap<ObjectKey, Object>, BTreeMap<ObjectKey, Object>) = (by_key(old), by_key(new));
    let missing = |from: &BTreeMap<ObjectKey, Object>, keys: &BTreeMap<ObjectKey, Object>| {
        keys.keys().filter(|key| !from.contains_key(key)).map(ToString::to_string).collect()
    };
    let mut diff = Diff { added: missing(&old, &new), removed: missing(&new, &old), ..Diff::default() };
    for (key, before) in &old {
        let Some(after) = new.get(key) else { continue };
        let mut fields = Vec::new();
        compare(before.value(), after.value(), "", &mut fields);
        if fields.is_empty() {
            diff.unchanged += 1;
        } else {
            diff.changed.push(Changed { object: key.to_string(), fields });
        }
    }
    diff
}

/// Adds each place at which two values differ.
pub(super) fn compare(old: &Value, new: &Value, path: &str, found: &mut Vec<Field>) {
    match (old, new) {
        _ if old == new => {}
        (Value::Object(a), Value::Object(b)) => {
            let added = b.keys().filter(|key| !a.contains_key(*key));
            for key in a.keys().chain(added) {
                let absent = &Value::Null;
                let escaped = key.replace('~', "~0").replace('/', "~1");
                compare(
                    a.get(key).unwrap_or(absent),
                    b.get(key).unwrap_or(absent),
                    &format!("{path}/{escaped}"),
                    found,
                );
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            a.iter().zip(b).enumerate().for_each(|(i, (a, b))| compare(a, b, &format!("{path}/{i}"), found));
        }
        _ => found.push(Field { path: path.into(), old: old.clone(), new: new.clone() }),
    }
}

/// Prints the difference for people: one line per object, one per field.
pub(super) fn print(diff: &Diff, out: &mut dyn Write) -> io::Result<()> {
    let Diff { added, removed, changed, refused, unchanged } = diff;
    let [plus, minus, other] = [added.len(), removed.len(), changed.len()];
    write!(out, "{plus} added, {minus} removed, {other} changed, {unchanged} unchanged")?;
    match refused.len() {
        0 => writeln!(out)?,
        refused => writeln!(out, ", {refused} refused by the cluster")?,
    }
    for (sign, keys) in [('+', added), ('-', removed)] {
        for key in keys {
            writeln!(out, "{sign} {key}")?;
        }
    }
    for Changed { object, fields } in changed {
        writeln!(out, "~ {object}")?;
        for Field { path, old, new } in fields {
            writeln!(out, "    {path}: {} -> {}", short(old), short(new))?;
        }
    }
    for text in refused {
        writeln!(out, "! {text}")?;
    }
    Ok(())
}

fn short(value: &Value) -> String {
    let text = if value.is_null() { "absent".into() } else { value.to_string() };
    match text.char_indices().nth(WIDTH) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::plan::{Phase, PhaseName};

    fn plan(objects: &[Value]) -> Plan {
        let objects = objects.iter().map(|value| Object::try_from(value.clone()).unwrap()).collect();
        let phases = vec![Phase { name: PhaseName::Resources, objects }];
        Plan { target_version: String::new(), phases, unknown_names: Vec::new() }
    }

    fn config_map(name: &str, data: &Value) -> Value {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data})
    }

    #[test]
    fn what_changed_is_shown_by_object_and_field() {
        let old = plan(&[config_map("a", &json!({"x/y": "1", "z": "1"})), config_map("gone", &json!({}))]);
        let new = plan(&[config_map("a", &json!({"x/y": "2", "new": "1"})), config_map("here", &json!({}))]);
        let mut out = Vec::new();
        print(&diff(&old, &new), &mut out).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "1 added, 1 removed, 1 changed, 0 unchanged\n+ ConfigMap here\n- ConfigMap gone\n~ ConfigMap a\n    \
             /data/x~1y: \"1\" -> \"2\"\n    /data/z: \"1\" -> absent\n    /data/new: absent -> \"1\"\n"
        );
        assert_eq!(diff(&new, &new), Diff { unchanged: 2, ..Diff::default() });
    }
}
