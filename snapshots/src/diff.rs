//! Differences between two plans, object by object and field by field.
//!
//! Elements of lists are told apart by their names where they have any, as people do. What changed where and how is
//! all there is here; nothing is rendered.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use knative_operator::manifest::{GroupKind, Object};
use serde_json::Value;

/// One object in two plans.
pub(crate) enum Pair<'a> {
    /// Only in the second.
    Added(&'a Object),
    /// Only in the first.
    Removed(&'a Object),
    /// In both, perhaps with differences.
    Both(&'a Object, &'a Object),
}

impl<'a> Pair<'a> {
    /// The object as it is last.
    pub(crate) const fn object(&self) -> &'a Object {
        match self {
            Self::Added(object) | Self::Removed(object) | Self::Both(_, object) => object,
        }
    }
}

/// The objects of both plans: those of the second in its order, then those that are only in the first. An object that
/// moved to another namespace is the same object; the plans of two namespaces could not be compared otherwise.
pub(crate) fn pairs<'a>(
    before: impl Iterator<Item = &'a Object>,
    after: impl Iterator<Item = &'a Object>,
) -> Vec<Pair<'a>> {
    let mut known = BTreeMap::<(GroupKind, &str), Vec<&Object>>::new();
    let key = |object: &'a Object| {
        let is_namespace = object.is("", "Namespace");
        (object.group_kind(), if is_namespace { "" } else { object.name() })
    };
    before.for_each(|object| known.entry(key(object)).or_default().push(object));
    let mut pairs = Vec::new();
    for object in after {
        let same_name = known.entry(key(object)).or_default();
        let same_namespace = same_name.iter().position(|known| known.namespace() == object.namespace());
        pairs.push(match same_namespace.or(if same_name.is_empty() { None } else { Some(0) }) {
            Some(position) => Pair::Both(same_name.remove(position), object),
            None => Pair::Added(object),
        });
    }
    pairs.extend(known.into_values().flatten().map(Pair::Removed));
    pairs
}

/// What happened to one field; nothing stands for absence.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Change<'a> {
    /// Where, as a person writes it: `spec.containers[web].image`.
    pub(crate) path: String,
    /// Before.
    pub(crate) before: Option<&'a Value>,
    /// After.
    pub(crate) after: Option<&'a Value>,
}

/// The changes from one value to another, in the order of the fields.
pub(crate) fn changes<'a>(before: &'a Value, after: &'a Value) -> Vec<Change<'a>> {
    let mut found = Vec::new();
    compare(String::new(), before, after, &mut found);
    found
}

fn compare<'a>(path: String, before: &'a Value, after: &'a Value, found: &mut Vec<Change<'a>>) {
    if before == after {
        return;
    }
    let parts: Option<Vec<_>> = match (before, after) {
        (Value::Object(before), Value::Object(after)) => {
            let keys: BTreeSet<_> = before.keys().chain(after.keys()).collect();
            Some(keys.into_iter().map(|key| (field(&path, key), before.get(key), after.get(key))).collect())
        }
        (Value::Array(before), Value::Array(after)) => match (by_name(before), by_name(after)) {
            (Some(old), Some(new)) if in_order(&old, &new) => {
                let (old, new): (BTreeMap<_, _>, BTreeMap<_, _>) =
                    (old.into_iter().collect(), new.into_iter().collect());
                let names: BTreeSet<_> = old.keys().chain(new.keys()).copied().collect();
                let part = |name| (format!("{path}[{name}]"), old.get(name).copied(), new.get(name).copied());
                Some(names.into_iter().map(part).collect())
            }
            _ if before.len() == after.len() => {
                let elements = before.iter().zip(after).enumerate();
                Some(elements.map(|(i, (b, a))| (format!("{path}[{i}]"), Some(b), Some(a))).collect())
            }
            _ => None,
        },
        _ => None,
    };
    let Some(parts) = parts else {
        found.push(Change { path, before: Some(before), after: Some(after) });
        return;
    };
    for (path, before, after) in parts {
        match (before, after) {
            (Some(before), Some(after)) => compare(path, before, after, found),
            (before, after) => found.push(Change { path, before, after }),
        }
    }
}

/// The elements by name; nothing unless each has a name of its own.
fn by_name(list: &[Value]) -> Option<Vec<(&str, &Value)>> {
    let named: Vec<_> =
        list.iter().map(|element| Some((element.get("name")?.as_str()?, element))).collect::<Option<_>>()?;
    let names: BTreeSet<_> = named.iter().map(|(name, _)| name).collect();
    (names.len() == named.len()).then_some(named)
}

/// Whether what both have is in the same order; otherwise names would hide a difference.
fn in_order(before: &[(&str, &Value)], after: &[(&str, &Value)]) -> bool {
    let common = |list: &[(&str, &Value)], other: &[(&str, &Value)]| -> Vec<String> {
        let known = |name: &&str| other.iter().any(|(other, _)| other == name);
        list.iter().map(|(name, _)| *name).filter(known).map(Into::into).collect()
    };
    common(before, after) == common(after, before)
}

fn field(path: &str, key: &str) -> String {
    let is_plain = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    let mut path = path.to_owned();
    let dot = if path.is_empty() { "" } else { "." };
    let written = if is_plain { write!(path, "{dot}{key}") } else { write!(path, "[{key:?}]") };
    written.expect("writing to a string does not fail");
    path
}

#[cfg(test)]
#[expect(clippy::needless_pass_by_value, reason = "JSON literals read better without a borrow")]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(before: Value, after: Value, expected: &[(&str, Option<Value>, Option<Value>)]) {
        let found = changes(&before, &after);
        let found: Vec<_> =
            found.iter().map(|c| (c.path.as_str(), c.before.cloned(), c.after.cloned())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn fields_are_named_by_their_path() {
        check(
            json!({"a": {"b": 1, "x.y/z": 1, "same": 1}}),
            json!({"a": {"b": 2, "c": 3, "same": 1}}),
            &[
                ("a.b", Some(json!(1)), Some(json!(2))),
                ("a.c", None, Some(json!(3))),
                ("a[\"x.y/z\"]", Some(json!(1)), None),
            ],
        );
    }

    #[test]
    fn elements_are_told_apart_by_name() {
        check(
            json!([{"name": "a", "v": 1}, {"name": "b"}]),
            json!([{"name": "z"}, {"name": "a", "v": 2}]),
            &[
                ("[a].v", Some(json!(1)), Some(json!(2))),
                ("[b]", Some(json!({"name": "b"})), None),
                ("[z]", None, Some(json!({"name": "z"}))),
            ],
        );
    }

    #[test]
    fn another_order_is_a_difference() {
        let (ab, ba) = (json!([{"name": "a"}, {"name": "b"}]), json!([{"name": "b"}, {"name": "a"}]));
        assert_eq!(changes(&ab, &ba).len(), 2);
        check(json!([1]), json!([1, 2]), &[("", Some(json!([1])), Some(json!([1, 2])))]);
    }

    #[test]
    fn an_object_in_another_namespace_is_the_same_object() {
        let object = |namespace: &str, name: &str| {
            let metadata = json!({"name": name, "namespace": namespace});
            Object::try_from(json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata}))
                .expect("an object")
        };
        let (before, after) =
            ([object("a", "x"), object("a", "gone")], [object("b", "new"), object("b", "x")]);
        let pairs = pairs(before.iter(), after.iter());
        assert!(matches!(
            pairs[..],
            [Pair::Added(added), Pair::Both(_, same), Pair::Removed(removed)]
                if added.name() == "new" && same.name() == "x" && removed.name() == "gone"
        ));
    }
}
