//! Pod security admission (KEP-2579): the labels of a namespace say which Pods are allowed in it, and which writes are
//! warned about.
//!
//! A Pod is refused by the namespace's `enforce` level; by its `warn` level Pods and what Pods are made from are warned
//! about. Audit levels are checked for their form only: there is no audit log.

mod baseline;
mod label;
mod restricted;
mod standard;

use std::collections::BTreeMap;

use serde_json::Value;

use super::Change;
use crate::state::{Call, State};
use crate::status::{Answer, Status};
use label::{Level, Policy, Setting};
use standard::{Pod, Violation, violations};

/// Where kinds that make Pods keep the template of their Pods.
const TEMPLATES: &[(&str, &str)] = &[
    ("deployments.apps", "/spec/template"),
    ("replicasets.apps", "/spec/template"),
    ("statefulsets.apps", "/spec/template"),
    ("daemonsets.apps", "/spec/template"),
    ("jobs.batch", "/spec/template"),
    ("cronjobs.batch", "/spec/jobTemplate/spec/template"),
    ("replicationcontrollers", "/spec/template"),
    ("podtemplates", "/template"),
];

/// Refuses what the namespace does not allow, and notes warnings.
pub(super) fn check(state: &State, call: &mut Call, change: Change<'_>) -> Answer<()> {
    let Some(object) = change.object else { return Ok(()) };
    let resource = call.resource();
    if resource.is("namespaces") && call.subresource.is_empty() {
        return check_namespace(state, call, change, object);
    }
    if resource.is("pods") {
        return check_pod(state, call, change, object);
    }
    let template = TEMPLATES.iter().find(|(id, _)| resource.is(id) && call.subresource.is_empty());
    if let Some(pod) = template.and_then(|(_, path)| object.pointer(path)) {
        let setting = setting_of(state, &call.namespace).warn;
        call.warnings.extend(told("would violate", &setting, &Pod::new(pod)));
    }
    Ok(())
}

fn setting_of(state: &State, namespace: &str) -> Setting {
    let namespace = state.storage.get("namespaces", namespace);
    namespace.map(|namespace| label::read(&namespace.metadata()["labels"]).0).unwrap_or_default()
}

fn check_pod(state: &State, call: &mut Call, change: Change<'_>, object: &Value) -> Answer<()> {
    let judged = match (call.subresource.as_str(), change.old) {
        ("" | "ephemeralcontainers", None) => true,
        ("" | "ephemeralcontainers" | "resize", Some(old)) => matters(old, object),
        _ => false,
    };
    if !judged {
        return Ok(());
    }
    let setting = setting_of(state, &call.namespace);
    if let Some(why) = told("violates", &setting.enforce, &Pod::new(object)) {
        return Err(Status::forbidden(&call.resource().name(), &call.name, &why));
    }
    call.warnings.extend(told("would violate", &setting.warn, &Pod::new(object)));
    Ok(())
}

/// Whether an update of a Pod changes what the standards are about.
fn matters(old: &Value, new: &Value) -> bool {
    let apparmor = |pod: &Value| -> Vec<(String, Value)> {
        let annotations = pod["metadata"]["annotations"].as_object().into_iter().flatten();
        let about = |(name, value): (&String, &Value)| {
            name.starts_with("container.apparmor").then(|| (name.clone(), value.clone()))
        };
        annotations.filter_map(about).collect()
    };
    old["spec"] != new["spec"] || apparmor(old) != apparmor(new)
}

/// The violations of a policy in words.
fn told(verb: &str, policy: &Policy, pod: &Pod<'_>) -> Option<String> {
    let found = violations(policy, pod);
    let all: Vec<_> = found.iter().map(Violation::to_string).collect();
    (!all.is_empty()).then(|| format!("{verb} PodSecurity \"{policy}\": {}", all.join(", ")))
}

/// Refuses labels that make no sense; warns of Pods that a stricter namespace would not take any more.
fn check_namespace(state: &State, call: &mut Call, change: Change<'_>, object: &Value) -> Answer<()> {
    let (setting, errors) = label::read(&object["metadata"]["labels"]);
    let old = change.old.map(|old| label::read(&old["metadata"]["labels"]));
    let known = old.as_ref().map(|(_, errors)| errors);
    // An error that is there already is no reason to refuse whatever else is changed.
    if !errors.is_empty() && known != Some(&errors) {
        return Err(Status::invalid(&call.resource().kind_name(), &call.name, &errors));
    }
    let Some((before, _)) = old else { return Ok(()) };
    let stricter = before.enforce != setting.enforce && setting.enforce.level > Level::Privileged;
    if stricter {
        call.warnings.extend(existing(state, &call.name, &setting.enforce));
    }
    Ok(())
}

fn existing(state: &State, namespace: &str, policy: &Policy) -> Vec<String> {
    let mut pods: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    let all = state.storage.objects("pods");
    for pod in all.values().filter(|pod| pod.metadata()["namespace"] == namespace) {
        let found = violations(policy, &Pod::new(&pod.value));
        let reasons: Vec<_> = found.into_iter().map(|violation| violation.reason).collect();
        if !reasons.is_empty() {
            let name = pod.metadata()["name"].as_str().unwrap_or_default();
            pods.entry(reasons.join(", ")).or_default().push(name);
        }
    }
    let mut lines: Vec<_> = pods
        .into_iter()
        .map(|(reasons, names)| {
            let (first, others) = (names.first().copied().unwrap_or_default(), names.len() - 1);
            match others {
                0 => format!("{first}: {reasons}"),
                1 => format!("{first} (and 1 other pod): {reasons}"),
                _ => format!("{first} (and {others} other pods): {reasons}"),
            }
        })
        .collect();
    if !lines.is_empty() {
        lines.sort();
        let head = "existing pods in namespace";
        lines.insert(
            0,
            format!("{head} {namespace:?} violate the new PodSecurity enforce level \"{policy}\""),
        );
    }
    lines
}
