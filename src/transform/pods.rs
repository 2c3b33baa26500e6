//! The pod templates of workloads and the containers in them.

use serde_json::{Map, Value};

use super::tree;
use crate::manifest::Object;

/// Whether it is a Deployment.
pub(super) fn is_deployment(object: &Object) -> bool {
    object.is("apps", "Deployment")
}

/// Whether it has a pod template at `spec.template`: a Deployment, StatefulSet, DaemonSet or Job.
pub(super) fn is_workload(object: &Object) -> bool {
    let apps = ["Deployment", "StatefulSet", "DaemonSet"];
    object.is("batch", "Job") || object.group() == "apps" && apps.contains(&object.kind())
}

/// The containers of a workload that are maps; none of anything else.
pub(super) fn containers(object: &mut Object) -> impl Iterator<Item = &mut Map<String, Value>> {
    of_workload(object, "containers")
}

/// The init containers of a workload.
pub(super) fn init_containers(object: &mut Object) -> impl Iterator<Item = &mut Map<String, Value>> {
    of_workload(object, "initContainers")
}

fn of_workload<'a>(
    object: &'a mut Object,
    list: &str,
) -> impl Iterator<Item = &'a mut Map<String, Value>> + use<'a> {
    let path = ["spec", "template", "spec", list];
    let path = if is_workload(object) { &path[..] } else { &["-"] };
    tree::elements(object.value_mut(), path).filter_map(Value::as_object_mut)
}

/// `spec.template.spec` of a workload.
pub(super) fn pod_spec(object: &mut Object) -> Option<&mut Map<String, Value>> {
    if !is_workload(object) {
        return None;
    }
    tree::map(object.value_mut(), &["spec", "template", "spec"])
}

/// Name of a container, a variable or anything else with a name.
pub(super) fn name(map: &Map<String, Value>) -> &str {
    tree::text(map, "name")
}

/// The variables of a container that are maps.
pub(super) fn variables(container: &mut Map<String, Value>) -> impl Iterator<Item = &mut Map<String, Value>> {
    container
        .get_mut("env")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
        .filter_map(Value::as_object_mut)
}

/// Replaces every variable of the same name, or appends this one.
pub(super) fn set_variable(container: &mut Map<String, Value>, variable: &Value) {
    let wanted = variable.get("name").and_then(Value::as_str).unwrap_or_default();
    let Some(list) = tree::make_list(container, "env") else { return };
    let mut found = false;
    for known in list.iter_mut().filter(|known| known.get("name").and_then(Value::as_str) == Some(wanted)) {
        known.clone_from(variable);
        found = true;
    }
    if !found {
        list.push(variable.clone());
    }
}
