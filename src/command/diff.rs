//! What changes, object by object and field by field: between two plans (`plan --diff`), or between a cluster and a plan
//! (`plan --against`).
//!
//! Made for reviewers: elements of lists are told apart by their names, texts of several lines are compared line by
//! line, what changes in the same way in many objects is said once, and values of Secrets are not shown. The JSON form
//! leaves nothing out but the latter.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use serde::Serialize;
use serde_json::Value;

use crate::manifest::{Object, ObjectKey};
use crate::plan::Plan;

/// Longest value that a line shows, in characters.
const WIDTH: usize = 60;
/// Most lines of a text that are shown.
const LINES: usize = 12;
/// In so many objects the same change is said once for all.
const COMMON: usize = 3;

/// A difference; each list is sorted by identity.
#[derive(Debug, Default, PartialEq, Serialize)]
pub(super) struct Diff {
    /// Release before and after, when they differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<[String; 2]>,
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
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Field {
    /// As a JSON pointer, with the names of list elements in brackets.
    pub(super) path: String,
    old: Value,
    new: Value,
}

/// Compares two plans.
pub(super) fn diff(old: &Plan, new: &Plan) -> Diff {
    let by_key = |plan: &'_ Plan| plan.objects().map(|object| (object.key(), object.clone())).collect();
    let mut diff = compare_objects(&by_key(old), &by_key(new));
    if old.target_version != new.target_version {
        diff.version = Some([old.target_version.clone(), new.target_version.clone()]);
    }
    diff
}

/// Compares two sets of objects.
fn compare_objects(old: &BTreeMap<ObjectKey, Object>, new: &BTreeMap<ObjectKey, Object>) -> Diff {
    let missing = |from: &BTreeMap<ObjectKey, Object>, keys: &BTreeMap<ObjectKey, Object>| {
        keys.keys().filter(|key| !from.contains_key(key)).map(ToString::to_string).collect()
    };
    let mut diff = Diff { added: missing(old, new), removed: missing(new, old), ..Diff::default() };
    for (key, before) in old {
        let Some(after) = new.get(key) else { continue };
        let fields = fields(before, after);
        if fields.is_empty() {
            diff.unchanged += 1;
        } else {
            diff.changed.push(Changed { object: key.to_string(), fields });
        }
    }
    diff
}

/// Where two states of an object differ; values of a Secret are hidden.
pub(super) fn fields(old: &Object, new: &Object) -> Vec<Field> {
    let mut fields = Vec::new();
    compare(old.value(), new.value(), "", &mut fields);
    if old.is("", "Secret") {
        fields.iter_mut().for_each(hide);
    }
    fields
}

fn compare(old: &Value, new: &Value, path: &str, found: &mut Vec<Field>) {
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
        (Value::Array(a), Value::Array(b)) => compare_lists(a, b, path, found),
        _ => found.push(Field { path: path.into(), old: old.clone(), new: new.clone() }),
    }
}

/// Elements with names are compared by name, others by place if there are as many, else as what came and went.
fn compare_lists(old: &[Value], new: &[Value], path: &str, found: &mut Vec<Field>) {
    if let (Some(a), Some(b)) = (by_name(old), by_name(new)) {
        let names: BTreeSet<_> = a.keys().chain(b.keys()).collect();
        let before = found.len();
        for name in names {
            let of =
                |list: &BTreeMap<&str, &Value>| list.get(name).map_or(Value::Null, |value| (*value).clone());
            compare(&of(&a), &of(&b), &format!("{path}[{name}]"), found);
        }
        if found.len() > before {
            return;
        }
        // Only the order differs.
    } else if old.len() == new.len() {
        old.iter().zip(new).enumerate().for_each(|(i, (a, b))| compare(a, b, &format!("{path}/{i}"), found));
        return;
    } else {
        let only = |list: &[Value], other: &[Value]| -> Vec<Value> {
            list.iter().filter(|element| !other.contains(element)).cloned().collect()
        };
        let (gone, come) = (only(old, new), only(new, old));
        if !gone.is_empty() || !come.is_empty() {
            let field = |old, new| Field { path: format!("{path}[]"), old, new };
            found.extend(gone.into_iter().map(|old| field(old, Value::Null)));
            found.extend(come.into_iter().map(|new| field(Value::Null, new)));
            return;
        }
    }
    found.push(Field { path: path.into(), old: old.into(), new: new.into() });
}

/// The elements by name, if every one has a name of its own.
fn by_name(list: &[Value]) -> Option<BTreeMap<&str, &Value>> {
    let named: Option<BTreeMap<_, _>> =
        list.iter().map(|element| Some((element.get("name")?.as_str()?, element))).collect();
    named.filter(|named| named.len() == list.len())
}

/// Hides the values of a Secret, not that they differ.
fn hide(field: &mut Field) {
    if ["/data", "/stringData"].iter().any(|root| field.path.starts_with(root)) {
        for (value, text) in [(&mut field.old, "[before]"), (&mut field.new, "[after]")] {
            if !value.is_null() {
                *value = text.into();
            }
        }
    }
}

/// Prints the difference for people: one line per object, one per field.
pub(super) fn print(diff: &Diff, out: &mut dyn Write) -> io::Result<()> {
    let Diff { version, added, removed, changed, refused, unchanged } = diff;
    if let Some([old, new]) = version {
        writeln!(out, "version {old} -> {new}")?;
    }
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
    let common = common(changed);
    for (line, count) in &common {
        writeln!(out, "~ {count} objects\n{line}")?;
    }
    for Changed { object, fields } in changed {
        let own: Vec<_> = fields.iter().map(shown).filter(|line| !common.contains_key(line)).collect();
        if !own.is_empty() {
            writeln!(out, "~ {object}\n{}", own.join("\n"))?;
        }
    }
    for text in refused {
        writeln!(out, "! {text}")?;
    }
    Ok(())
}

/// Changes that many objects have in common, with how many.
fn common(changed: &[Changed]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::<_, usize>::new();
    for field in changed.iter().flat_map(|changed| &changed.fields) {
        *counts.entry(shown(field)).or_default() += 1;
    }
    counts.retain(|_, count| *count >= COMMON);
    counts
}

/// A field as it is printed: one line, or a few for a text of several lines.
fn shown(Field { path, old, new }: &Field) -> String {
    match (old.as_str(), new.as_str()) {
        (Some(old), Some(new)) if old.contains('\n') || new.contains('\n') => {
            format!("    {path}:{}", changed_lines(old, new))
        }
        (Some(old), Some(new)) => {
            let start = difference(old, new);
            let from = |text: &str| {
                short(&format!("{}{}", if start > 0 { "..." } else { "" }, &text[start..]).into())
            };
            format!("    {path}: {} -> {}", from(old), from(new))
        }
        _ => format!("    {path}: {} -> {}", short(old), short(new)),
    }
}

/// Where to begin showing two texts that are too long to be shown whole, so that what differs is seen.
fn difference(old: &str, new: &str) -> usize {
    if old.len().max(new.len()) <= WIDTH {
        return 0;
    }
    let same = old.bytes().zip(new.bytes()).take_while(|(a, b)| a == b).count();
    old.floor_char_boundary(same.saturating_sub(WIDTH / 2))
}

/// The lines between the first and the last that differ.
fn changed_lines(old: &str, new: &str) -> String {
    let (old, new): (Vec<_>, Vec<_>) = (old.lines().collect(), new.lines().collect());
    let same = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let (old, new) = (&old[same..], &new[same..]);
    let tail = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
    let (gone, come) = (&old[..old.len() - tail], &new[..new.len() - tail]);
    let lines = gone.iter().map(|line| ('-', line)).chain(come.iter().map(|line| ('+', line)));
    let mut text: String = lines.take(LINES).map(|(sign, line)| format!("\n      {sign} {line}")).collect();
    let left = (gone.len() + come.len()).saturating_sub(LINES);
    if left > 0 {
        text += &format!("\n      ... and {left} more lines");
    }
    if gone.is_empty() && come.is_empty() {
        text += " only the end of the last line differs";
    }
    text
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

    fn printed(old: &[Value], new: &[Value]) -> String {
        let mut out = Vec::new();
        print(&diff(&plan(old), &plan(new)), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn deployment(containers: Value, arguments: &Value) -> Value {
        let pod = json!({"containers": containers, "args": arguments});
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": pod})
    }

    #[test]
    fn elements_of_lists_are_told_apart_by_name_and_others_come_and_go() {
        let old =
            deployment(json!([{"name": "a", "image": "1"}, {"name": "b", "image": "1"}]), &json!(["x", "y"]));
        let new = deployment(
            json!([{"name": "new"}, {"name": "b", "image": "2"}, {"name": "a", "image": "1"}]),
            &json!(["y"]),
        );
        assert_eq!(
            printed(&[old], &[new]),
            "0 added, 0 removed, 1 changed, 0 unchanged\n~ Deployment.apps d\n    /spec/args[]: \"x\" -> absent\n    \
             /spec/containers[b]/image: \"1\" -> \"2\"\n    /spec/containers[new]: absent -> {\"name\":\"new\"}\n"
        );
    }

    #[test]
    fn a_list_in_another_order_is_a_change() {
        let named = |names: [&str; 2]| {
            deployment(names.map(|name| json!({"name": name})).as_slice().into(), &json!([]))
        };
        assert!(printed(&[named(["a", "b"])], &[named(["b", "a"])]).contains("/spec/containers: [{"));
    }

    #[test]
    fn texts_are_compared_line_by_line() {
        let text = |middle: &str| config_map("a", &json!({"f": format!("one\n{middle}\nthree\n")}));
        assert_eq!(
            printed(&[text("two")], &[text("2")]),
            "0 added, 0 removed, 1 changed, 0 unchanged\n~ ConfigMap a\n    /data/f:\n      - two\n      + 2\n"
        );
    }

    #[test]
    fn what_changes_alike_in_many_objects_is_said_once() {
        let all = |label: &str| -> Vec<Value> {
            let object = |name| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": {"v": label}}});
            ["a", "b", "c"].map(object).to_vec()
        };
        let mut new = all("2");
        new[1]["data"] = json!({"own": "x"});
        assert_eq!(
            printed(&all("1"), &new),
            "0 added, 0 removed, 3 changed, 0 unchanged\n~ 3 objects\n    /metadata/labels/v: \"1\" -> \"2\"\n~ ConfigMap b\n    \
             /data: absent -> {\"own\":\"x\"}\n"
        );
    }

    #[test]
    fn values_of_secrets_are_not_shown() {
        let secret = |value: &str| json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"k": value}});
        let said = printed(&[secret("aHVzaA==")], &[secret("aGlzcw==")]);
        assert!(said.contains("/data/k: \"[before]\" -> \"[after]\"") && !said.contains("=="), "{said}");
    }

    #[test]
    fn another_release_is_said_first() {
        let version = |version: &str| Plan { target_version: version.into(), ..plan(&[]) };
        let mut out = Vec::new();
        print(&diff(&version("1.22.0"), &version("1.23.0")), &mut out).unwrap();
        assert!(String::from_utf8(out).unwrap().starts_with("version 1.22.0 -> 1.23.0\n"));
    }

    #[test]
    fn of_long_texts_the_part_that_differs_is_shown() {
        let image = |digest: &str| {
            config_map("a", &json!({"image": format!("registry.test/{}@sha256:{digest}", "x/".repeat(40))}))
        };
        let said = printed(&[image("0a")], &[image("0b")]);
        assert!(said.contains("@sha256:0a\" -> \"...") && said.contains("@sha256:0b\"\n"), "{said}");
    }
}
