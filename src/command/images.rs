//! `images`: every image that a custom resource would run, for mirroring.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::manifest::Object;

/// ConfigMaps whose entries are images; of the first one only a single entry is.
const IN_CONFIG: [(&str, &str); 3] = [
    ("config-deployment", "queue-sidecar-image"),
    ("eventing-integrations-images", ""),
    ("eventing-transformations-images", ""),
];

/// The images of the objects, sorted, each once.
pub(super) fn images<'a>(objects: impl Iterator<Item = &'a Object>) -> BTreeSet<&'a str> {
    objects.flat_map(of).filter(|image| !image.is_empty()).collect()
}

fn of(object: &Object) -> Vec<&str> {
    let root = object.value();
    if object.is("caching.internal.knative.dev", "Image") {
        return text(root.pointer("/spec/image")).into_iter().collect();
    }
    if let Some((_, key)) =
        IN_CONFIG.iter().find(|(name, _)| object.is("", "ConfigMap") && object.name() == *name)
    {
        let entries = root.get("data").and_then(Value::as_object).into_iter().flatten();
        let wanted = |name: &str| if key.is_empty() { !name.starts_with('_') } else { name == *key };
        return entries.filter(|(name, _)| wanted(name)).filter_map(|(_, image)| text(Some(image))).collect();
    }
    let pods = ["/spec/template/spec", "/spec/jobTemplate/spec/template/spec"];
    let lists = pods.iter().filter_map(|path| root.pointer(path));
    let containers = lists
        .flat_map(|pod| ["containers", "initContainers"].map(|list| pod.get(list)))
        .flatten()
        .filter_map(Value::as_array)
        .flatten();
    containers.flat_map(of_container).collect()
}

/// The image of a container, and those it is told to run: variables whose names end in `IMAGE`.
fn of_container(container: &Value) -> Vec<&str> {
    let variables = container.get("env").and_then(Value::as_array).into_iter().flatten();
    let named =
        variables.filter(|variable| text(variable.get("name")).is_some_and(|name| name.ends_with("IMAGE")));
    text(container.get("image"))
        .into_iter()
        .chain(named.filter_map(|variable| text(variable.get("value"))))
        .collect()
}

fn text(value: Option<&Value>) -> Option<&str> {
    value.and_then(Value::as_str)
}
