//! The table of the standards' rules, and what they look at.

use std::fmt;

use serde_json::Value;

use super::label::{Level, Policy};
use super::{baseline, restricted};

/// A Pod, or the template of one.
pub(super) struct Pod<'a> {
    pub(super) metadata: &'a Value,
    pub(super) spec: &'a Value,
}

/// A container with its name.
pub(super) struct Container<'a> {
    pub(super) name: &'a str,
    pub(super) value: &'a Value,
}

impl Container<'_> {
    /// A part of the container's security context; null when it is not there.
    pub(super) fn security(&self, field: &str) -> &Value {
        &self.value["securityContext"][field]
    }
}

impl<'a> Pod<'a> {
    pub(super) fn new(object: &'a Value) -> Self {
        Self { metadata: &object["metadata"], spec: &object["spec"] }
    }

    /// All containers, in the order in which violations are told.
    pub(super) fn containers(&self) -> impl Iterator<Item = Container<'a>> + use<'a> {
        let spec = self.spec;
        ["initContainers", "containers", "ephemeralContainers"].into_iter().flat_map(move |list| {
            items(&spec[list])
                .map(|value| Container { name: value["name"].as_str().unwrap_or_default(), value })
        })
    }

    /// The names of the containers for which `bad` holds.
    pub(super) fn named(&self, bad: impl Fn(&Container<'_>) -> bool) -> Vec<&'a str> {
        self.containers().filter(bad).map(|container| container.name).collect()
    }

    /// A part of the Pod's own security context; null when it is not there.
    pub(super) fn security(&self, field: &str) -> &'a Value {
        &self.spec["securityContext"][field]
    }

    pub(super) fn is_windows(&self) -> bool {
        self.spec["os"]["name"] == "windows"
    }
}

/// One rule that a Pod breaks.
pub(super) struct Violation {
    pub(super) reason: String,
    pub(super) detail: String,
}

impl Violation {
    pub(super) fn new(reason: &str, detail: String) -> Self {
        Self { reason: reason.to_owned(), detail }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.reason, self.detail)
    }
}

type Check = fn(&Pod<'_>, u32) -> Option<Violation>;

/// A rule: from which minor version on it holds at which level, by its own version of which it is checked, and whether
/// the restricted level has a stricter one in its place.
struct Rule {
    level: Level,
    since: u32,
    /// From this minor version on, the restricted level has a stricter rule instead.
    replaced: Option<u32>,
    check: Check,
}

const fn rule(level: Level, since: u32, replaced: Option<u32>, check: Check) -> Rule {
    Rule { level, since, replaced, check }
}

/// In the order in which violations are told: by level, then by the name that Kubernetes gives the rule
/// (<https://kubernetes.io/docs/concepts/security/pod-security-standards/>).
const RULES: &[Rule] = &[
    rule(Level::Baseline, 0, None, baseline::app_armor),
    rule(Level::Baseline, 0, Some(22), baseline::capabilities),
    rule(Level::Baseline, 0, None, baseline::host_namespaces),
    rule(Level::Baseline, 0, Some(0), baseline::host_path_volumes),
    rule(Level::Baseline, 0, None, baseline::host_ports),
    rule(Level::Baseline, 34, None, baseline::host_probes),
    rule(Level::Baseline, 0, None, baseline::privileged),
    rule(Level::Baseline, 0, None, baseline::proc_mount),
    rule(Level::Baseline, 0, None, baseline::se_linux),
    rule(Level::Baseline, 0, Some(19), baseline::seccomp),
    rule(Level::Baseline, 0, None, baseline::sysctls),
    rule(Level::Baseline, 0, None, baseline::windows_host_process),
    rule(Level::Restricted, 8, None, restricted::privilege_escalation),
    rule(Level::Restricted, 22, None, restricted::capabilities),
    rule(Level::Restricted, 0, None, restricted::volumes),
    rule(Level::Restricted, 0, None, restricted::non_root),
    rule(Level::Restricted, 23, None, restricted::root_user),
    rule(Level::Restricted, 19, None, restricted::seccomp),
];

/// The rules of a policy that a Pod breaks.
pub(super) fn violations(policy: &Policy, pod: &Pod<'_>) -> Vec<Violation> {
    let minor = policy.minor();
    RULES
        .iter()
        .filter(|rule| rule.level <= policy.level && rule.since <= minor)
        .filter(|rule| policy.level < Level::Restricted || rule.replaced.is_none_or(|since| minor < since))
        .filter_map(|rule| (rule.check)(pod, minor))
        .collect()
}

/// The elements of a list; none of anything else.
pub(super) fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// `"a", "b"`
pub(super) fn quoted<S: AsRef<str>>(names: &[S]) -> String {
    names.iter().map(|name| format!("\"{}\"", name.as_ref())).collect::<Vec<_>>().join(", ")
}

/// One word for one, another for several.
pub(super) fn plural<'a>(one: &'a str, several: &'a str, count: usize) -> &'a str {
    if count == 1 { one } else { several }
}

/// `container "a"` or `containers "a", "b"`
pub(super) fn containers(names: &[&str]) -> String {
    format!("{} {}", plural("container", "containers", names.len()), quoted(names))
}

/// Who set something: the Pod, containers, or both.
pub(super) fn setters(pod: bool, names: &[&str]) -> String {
    let mut all = Vec::new();
    if pod {
        all.push("pod".to_owned());
    }
    if !names.is_empty() {
        all.push(containers(names));
    }
    all.join(" and ")
}

/// Texts without repetition, in order.
pub(super) fn sorted(mut texts: Vec<String>) -> Vec<String> {
    texts.sort();
    texts.dedup();
    texts
}
