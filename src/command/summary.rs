//! `plan -o summary`: a table for reviewers, a line for each object.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde_json::Value;

use super::diff::{Diff, diff};
use super::images::images;
use super::table;
use crate::manifest::{Object, ObjectKey};
use crate::plan::Plan;

/// Changed fields that a line names; of the others there is a count.
const FIELDS: usize = 3;

const HEADINGS: [&str; 6] = ["PHASE", "KIND", "NAME", "REPLICAS", "IMAGES", "CHANGED BY THE RESOURCE"];

/// Prints the plan. `plain` is the plan for the same release without any other wish, to tell what the resource changed.
pub(super) fn print(plan: &Plan, plain: Option<&Plan>, out: &mut dyn Write) -> io::Result<()> {
    let changes = plain.map(|plain| Changes::new(&diff(plain, plan)));
    let mut rows = vec![HEADINGS.map(str::to_owned)];
    for phase in &plan.phases {
        rows.extend(phase.objects.iter().map(|object| row(phase.name.as_str(), object, changes.as_ref())));
    }
    writeln!(out, "version {}, {} objects", plan.target_version, plan.objects().count())?;
    if let Some(changes) = &changes {
        let Changes { added, removed, fields } = changes;
        let (added, removed, changed) = (added.len(), removed.len(), fields.len());
        writeln!(out, "the resource adds {added}, removes {removed} and changes {changed} of them")?;
    }
    writeln!(out)?;
    table::print(&rows, out)?;
    let gone = changes.iter().flat_map(|changes| &changes.removed);
    for key in gone {
        writeln!(out, "not installed: {key}")?;
    }
    Ok(())
}

/// What a resource changes, by the objects' names in messages.
struct Changes {
    added: Vec<String>,
    removed: Vec<String>,
    fields: BTreeMap<String, Vec<String>>,
}

impl Changes {
    fn new(diff: &Diff) -> Self {
        let fields = |paths: &[super::diff::Field]| paths.iter().map(|field| field.path.clone()).collect();
        Self {
            added: diff.added.clone(),
            removed: diff.removed.clone(),
            fields: diff
                .changed
                .iter()
                .map(|changed| (changed.object.clone(), fields(&changed.fields)))
                .collect(),
        }
    }

    fn of(&self, key: &ObjectKey) -> String {
        let key = key.to_string();
        if self.added.contains(&key) {
            return "added".into();
        }
        let Some(fields) = self.fields.get(&key) else { return String::new() };
        let named: Vec<String> = fields.iter().take(FIELDS).map(|path| readable(path)).collect();
        match fields.len().saturating_sub(FIELDS) {
            0 => named.join(", "),
            more => format!("{} and {more} more", named.join(", ")),
        }
    }
}

/// `/spec/template/spec/containers/0/image` as `spec...containers[0].image`.
fn readable(path: &str) -> String {
    let mut text = String::new();
    for part in path.split('/').skip(1) {
        let part = part.replace("~1", "/").replace("~0", "~");
        if part.bytes().all(|byte| byte.is_ascii_digit()) && !text.is_empty() {
            text += &format!("[{part}]");
        } else {
            text += if text.is_empty() { "" } else { "." };
            text += &part;
        }
    }
    text.replace("spec.template.spec.", "pod.")
}

fn row(phase: &str, object: &Object, changes: Option<&Changes>) -> [String; 6] {
    let name = match object.namespace() {
        "" => object.name().to_owned(),
        namespace => format!("{namespace}/{}", object.name()),
    };
    let spec = &object.value()["spec"];
    let replicas = match (&spec["replicas"], &spec["minReplicas"]) {
        (Value::Number(count), _) => count.to_string(),
        (_, Value::Number(least)) => format!("{least}..{}", spec["maxReplicas"]),
        _ => String::new(),
    };
    let images: Vec<&str> = images(std::iter::once(object)).into_iter().map(short).collect();
    let changed = changes.map(|changes| changes.of(&object.key())).unwrap_or_default();
    [phase.to_owned(), object.kind().to_owned(), name, replicas, images.join(" "), changed]
}

/// An image without its registry and the most of its digest, which nobody reads.
fn short(image: &str) -> &str {
    let name = image
        .rsplit_once("@sha256:")
        .map_or(image, |(name, digest)| &image[..name.len() + "@sha256:".len() + digest.len().min(8)]);
    name.rsplit('/').next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_read_as_in_go_templates() {
        assert_eq!(readable("/spec/template/spec/containers/0/image"), "pod.containers[0].image");
        assert_eq!(readable("/data/a~1b"), "data.a/b");
    }

    #[test]
    fn images_are_told_apart_by_name_and_digest() {
        assert_eq!(short("gcr.io/a/b/controller@sha256:0123456789abcdef"), "controller@sha256:01234567");
        assert_eq!(short("registry:5000/web:1.2"), "web:1.2");
        assert_eq!(short("web"), "web");
    }
}
