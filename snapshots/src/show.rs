//! Plans and their differences as text for reviewers: stable, and without what every object has in common.

use std::collections::{BTreeMap, BTreeSet};

use knative_operator::manifest::{Object, ObjectKey};
use knative_operator::plan::{PART_OF_LABEL, Plan};
use serde_json::{Map, Value};
use similar::{ChangeTag, TextDiff};

use crate::Outcome;
use crate::diff::{self, Change, Pair};

/// A change that so many objects share is shown once.
const SHARED: usize = 4;

/// Values longer than this take more than one line.
const LINE: usize = 100;

/// The whole outcome.
pub fn whole(outcome: &Outcome) -> String {
    let plan = match outcome {
        Outcome::Planned(plan) => plan,
        Outcome::Refused(error) => return format!("refused: {error}\n"),
    };
    let common = Common::of(plan);
    let mut text = format!("release {}\n{}", plan.target_version, common.describe());
    for phase in &plan.phases {
        text.push_str(&format!("\n# phase {}: {} objects\n", phase.name.as_str(), phase.objects.len()));
        for object in &phase.objects {
            text.push_str(&format!("\n--- {}\n{}", common.title(object), common.yaml(object)));
        }
    }
    text.push_str(&without_effect(plan));
    text
}

/// The difference between the outcome and the one that it is compared with.
pub fn difference(file: &str, compared: &Outcome, outcome: &Outcome) -> String {
    let (before, after) = match (compared, outcome) {
        (Outcome::Planned(before), Outcome::Planned(after)) => (before, after),
        (_, Outcome::Refused(error)) => return format!("refused: {error}\n"),
        (Outcome::Refused(_), _) => return whole(outcome),
    };
    let pairs = diff::pairs(before.objects(), after.objects());
    let changed: Vec<(&Object, Vec<Change<'_>>)> = pairs
        .iter()
        .filter_map(|pair| match pair {
            Pair::Both(before, after) if before != after => {
                Some((*after, diff::changes(before.value(), after.value())))
            }
            _ => None,
        })
        .collect();
    let count = |keep: fn(&Pair<'_>) -> bool| pairs.iter().filter(|pair| keep(pair)).count();
    let (added, removed) =
        (count(|pair| matches!(pair, Pair::Added(_))), count(|pair| matches!(pair, Pair::Removed(_))));
    let mut text = format!(
        "release {}, compared with {file} ({}): {added} objects added, {removed} removed, {} changed, {} the same\n",
        after.target_version,
        before.target_version,
        changed.len(),
        pairs.len() - added - removed - changed.len(),
    );
    show_removed(&pairs, &mut text);
    show_added(&pairs, after, &mut text);
    show_changed(&changed, &mut text);
    text.push_str(&without_effect(after));
    text
}

fn show_removed(pairs: &[Pair<'_>], text: &mut String) {
    for pair in pairs {
        if let Pair::Removed(object) = pair {
            text.push_str(&format!("\nremoved {}", object.key()));
        }
    }
    if pairs.iter().any(|pair| matches!(pair, Pair::Removed(_))) {
        text.push('\n');
    }
}

fn show_added(pairs: &[Pair<'_>], plan: &Plan, text: &mut String) {
    let common = Common::of(plan);
    for pair in pairs {
        if let Pair::Added(object) = pair {
            let phase = plan.phases.iter().find(|phase| phase.objects.contains(object));
            let phase = phase.map_or("", |phase| phase.name.as_str());
            text.push_str(&format!("\nadded to {phase}: {}\n", common.title(object)));
            text.push_str(&indent(&common.yaml(object)));
        }
    }
}

/// Changes that many objects share come first, each once; then each object with what only it or a few others have.
fn show_changed(changed: &[(&Object, Vec<Change<'_>>)], text: &mut String) {
    let mut shared = Vec::<(&Change<'_>, Vec<ObjectKey>)>::new();
    for (object, changes) in changed {
        for change in changes {
            match shared.iter_mut().find(|(known, _)| *known == change) {
                Some((_, objects)) => objects.push(object.key()),
                None => shared.push((change, vec![object.key()])),
            }
        }
    }
    shared.retain(|(_, objects)| objects.len() >= SHARED);
    for same_objects in shared.chunk_by(|(_, some), (_, others)| some == others) {
        let objects = &same_objects[0].1;
        text.push_str(&format!("\nchanged {} objects: {}\n", objects.len(), kinds_and_names(objects)));
        same_objects.iter().for_each(|(change, _)| text.push_str(&indent(&show_change(change))));
    }
    for (object, changes) in changed {
        let own: Vec<_> =
            changes.iter().filter(|change| !shared.iter().any(|(known, _)| known == change)).collect();
        if own.is_empty() {
            continue;
        }
        text.push_str(&format!("\nchanged {}\n", object.key()));
        own.into_iter().for_each(|change| text.push_str(&indent(&show_change(change))));
    }
}

/// `Deployment a, b; Service c`, or the kind alone where the list would be long.
fn kinds_and_names(objects: &[ObjectKey]) -> String {
    let mut kinds = BTreeMap::<&str, BTreeSet<&str>>::new();
    for object in objects {
        kinds.entry(&object.kind.kind).or_default().insert(&object.name);
    }
    let list = |(kind, names): (&str, BTreeSet<&str>)| match names.len() {
        1..=4 => format!("{kind} {}", names.into_iter().collect::<Vec<_>>().join(", ")),
        many => format!("{many} of kind {kind}"),
    };
    kinds.into_iter().map(list).collect::<Vec<_>>().join("; ")
}

fn show_change(change: &Change<'_>) -> String {
    let path = &change.path;
    let (before, after) = match (change.before, change.after) {
        (Some(before), Some(after)) => (before, after),
        (None, Some(after)) => return one_sided('+', path, after),
        (Some(before), None) => return one_sided('-', path, before),
        (None, None) => return String::new(),
    };
    let differences = match (inline(before), inline(after)) {
        (Some(before), Some(after)) if path.len() + before.len() + after.len() < LINE => {
            return format!("{path}: {before} -> {after}\n");
        }
        (Some(before), Some(after)) => format!("- {before}\n+ {after}\n"),
        _ => lines(&block(before), &block(after)),
    };
    format!("{path}:\n{}", indent(&differences))
}

fn one_sided(mark: char, path: &str, value: &Value) -> String {
    match inline(value) {
        Some(value) if path.len() + value.len() < LINE => format!("{mark} {path}: {value}\n"),
        _ => format!("{mark} {path}:\n{}", indent(&yaml(value))),
    }
}

/// The value on one line, if it is short or cannot be broken.
fn inline(value: &Value) -> Option<String> {
    let text = value.to_string();
    let is_one_line = match value {
        Value::String(text) => !text.contains('\n'),
        Value::Object(_) | Value::Array(_) => text.len() < LINE / 2,
        _ => true,
    };
    is_one_line.then_some(text)
}

/// The value on several lines: a text is its own lines.
fn block(value: &Value) -> String {
    value.as_str().map_or_else(|| yaml(value), Into::into)
}

/// The lines that went and came.
fn lines(before: &str, after: &str) -> String {
    let diff = TextDiff::from_lines(before, after);
    let changes = diff.iter_all_changes().filter(|change| change.tag() != ChangeTag::Equal);
    changes.map(|change| format!("{} {}\n", change.tag(), change.value().trim_end_matches('\n'))).collect()
}

fn without_effect(plan: &Plan) -> String {
    let lines = plan.unknown_names.iter().map(|name| format!("    {name}\n")).collect::<String>();
    if lines.is_empty() { lines } else { format!("\nwithout effect:\n{lines}") }
}

/// What the objects of a plan have in common and a reviewer does not want to read a hundred times.
struct Common {
    owners: Option<Value>,
    part_of: Option<String>,
}

impl Common {
    fn of(plan: &Plan) -> Self {
        let owners = plan.objects().find_map(|object| object.value().pointer("/metadata/ownerReferences"));
        let part_of = plan.objects().find_map(|object| object.label(PART_OF_LABEL));
        Self { owners: owners.cloned(), part_of: part_of.map(Into::into) }
    }

    fn describe(&self) -> String {
        let part_of = self.part_of.iter().map(|id| format!("all objects are part of {id}\n"));
        let owners = self.owners.iter().map(|owners| format!("\"owned\" means:\n{}", indent(&yaml(owners))));
        part_of.chain(owners).collect()
    }

    /// Identity, and how the object differs from what is usual.
    fn title(&self, object: &Object) -> String {
        let owners = object.value().pointer("/metadata/ownerReferences");
        let mut title = object.key().to_string();
        if owners.is_some() && owners == self.owners.as_ref() {
            title.push_str(" (owned)");
        }
        if object.label(PART_OF_LABEL).map(str::to_owned) != self.part_of {
            title.push_str(" (part of nothing or of something else)");
        }
        title
    }

    fn yaml(&self, object: &Object) -> String {
        let mut value = object.value().clone();
        if let Some(metadata) = value.pointer_mut("/metadata").and_then(Value::as_object_mut) {
            if metadata.get("ownerReferences") == self.owners.as_ref() {
                metadata.remove("ownerReferences");
            }
            if let Some(labels) = metadata.get_mut("labels").and_then(Value::as_object_mut) {
                labels.retain(|key, id| key != PART_OF_LABEL || id.as_str() != self.part_of.as_deref());
            }
            metadata.retain(|_, field| field.as_object().is_none_or(|map| *map != Map::new()));
        }
        yaml(&value)
    }
}

fn yaml(value: &Value) -> String {
    let text = serde_saphyr::to_string(value).unwrap_or_else(|error| format!("{value} ({error})"));
    format!("{}\n", text.trim_end())
}

fn indent(text: &str) -> String {
    text.lines().fold(String::new(), |text, line| match line {
        "" => format!("{text}\n"),
        line => format!("{text}    {line}\n"),
    })
}
