//! Nobody may grant what they do not hold, be it by a role or by a binding
//! (`pkg/registry/rbac` and `pkg/registry/rbac/validation` of Kubernetes).

use std::collections::BTreeMap;

use serde_json::Value;

use super::User;
use super::rbac::{Attributes, allowed, grants, role};
use crate::state::{Call, State};
use crate::status::{Answer, Status};

const GROUP: &str = "rbac.authorization.k8s.io";

/// Refuses a role or binding that grants more than its author holds.
pub(crate) fn check(state: &State, call: &Call, object: &Value, old: Option<&Value>) -> Answer<()> {
    let resource = call.resource();
    if !state.rbac || resource.group != GROUP || call.user.is_in("system:masters") {
        return Ok(());
    }
    match resource.plural.as_str() {
        "roles" | "clusterroles" => check_role(state, call, object, old),
        _ => check_binding(state, call, object, old),
    }
}

fn check_role(state: &State, call: &Call, object: &Value, old: Option<&Value>) -> Answer<()> {
    // What stays as it was may stay.
    let unchanged = old.is_some_and(|old| {
        old["rules"] == object["rules"] && old.get("aggregationRule") == object.get("aggregationRule")
    });
    if unchanged || may(state, call, "escalate", &call.resource().plural, &call.name) {
        return Ok(());
    }
    let rules = object["rules"].as_array().map(Vec::as_slice).unwrap_or_default();
    check_rules(state, call, rules)
}

fn check_binding(state: &State, call: &Call, object: &Value, old: Option<&Value>) -> Answer<()> {
    let unchanged =
        old.is_some_and(|old| old["roleRef"] == object["roleRef"] && old["subjects"] == object["subjects"]);
    if unchanged {
        return Ok(());
    }
    let text = |field: &str| object["roleRef"][field].as_str().unwrap_or_default();
    let (kind, name) = (text("kind"), text("name"));
    let plural = if kind == "Role" { "roles" } else { "clusterroles" };
    if may(state, call, "bind", plural, name) {
        return Ok(());
    }
    let Some(role) = role(state, kind, name, &call.namespace) else {
        return Err(Status::not_found(&call.resource().name(), name));
    };
    let rules = role["rules"].as_array().map(Vec::as_slice).unwrap_or_default();
    check_rules(state, call, rules)
}

fn may(state: &State, call: &Call, verb: &str, plural: &str, name: &str) -> bool {
    let attributes = Attributes {
        verb: verb.into(),
        group: GROUP.into(),
        resource: plural.into(),
        namespace: call.namespace.clone(),
        name: name.into(),
        ..Attributes::default()
    };
    allowed(state, &call.user, &attributes).is_some()
}

fn check_rules(state: &State, call: &Call, wanted: &[Value]) -> Answer<()> {
    let held: Vec<Value> =
        grants(state, &call.user, &call.namespace).flat_map(|grant| grant.rules().to_vec()).collect();
    let missing: Vec<Permission> = wanted
        .iter()
        .flat_map(Permission::of_rule)
        .filter(|permission| !held.iter().any(|rule| permission.is_in(rule)))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let message = format!(
        "user \"{}\" (groups={}) is attempting to grant RBAC permissions not currently held:\n{}",
        call.user.name,
        quoted(&groups(&call.user)),
        describe(&missing)
    );
    Err(Status::forbidden(&call.resource().name(), &call.name, &message))
}

fn groups(user: &User) -> Vec<&str> {
    user.groups.iter().map(String::as_str).collect()
}

/// One verb on one thing.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Permission {
    thing: Thing,
    verb: String,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Thing {
    Resource { group: String, resource: String, name: Option<String> },
    Path(String),
}

impl Permission {
    /// A rule, taken apart.
    fn of_rule(rule: &Value) -> Vec<Self> {
        let list = |field: &str| -> Vec<String> {
            let values = rule[field].as_array().into_iter().flatten();
            values.filter_map(|value| value.as_str().map(str::to_owned)).collect()
        };
        let mut things: Vec<Thing> = list("nonResourceURLs").into_iter().map(Thing::Path).collect();
        let mut names: Vec<Option<String>> = list("resourceNames").into_iter().map(Some).collect();
        if names.is_empty() {
            names.push(None);
        }
        for group in list("apiGroups") {
            for resource in list("resources") {
                for name in &names {
                    let (group, resource, name) = (group.clone(), resource.clone(), name.clone());
                    things.push(Thing::Resource { group, resource, name });
                }
            }
        }
        let verbs = list("verbs");
        things
            .into_iter()
            .flat_map(|thing| verbs.iter().map(move |verb| Self { thing: thing.clone(), verb: verb.clone() }))
            .collect()
    }

    /// Whether a rule holds it.
    fn is_in(&self, rule: &Value) -> bool {
        let has = |field: &str, wanted: &str| {
            rule[field].as_array().into_iter().flatten().any(|value| value == "*" || value == wanted)
        };
        has("verbs", &self.verb)
            && match &self.thing {
                Thing::Path(path) => {
                    rule["nonResourceURLs"].as_array().into_iter().flatten().any(|pattern| {
                        let pattern = pattern.as_str().unwrap_or_default();
                        pattern == path
                            || pattern.strip_suffix('*').is_some_and(|prefix| path.starts_with(prefix))
                    })
                }
                Thing::Resource { group, resource, name } => {
                    let part = resource.split_once('/').map(|(_, part)| format!("*/{part}"));
                    let names = rule["resourceNames"].as_array().map(Vec::as_slice).unwrap_or_default();
                    has("apiGroups", group)
                        && (has("resources", resource) || part.is_some_and(|part| has("resources", &part)))
                        && (names.is_empty()
                            || name.as_ref().is_some_and(|name| names.iter().any(|n| n == name)))
                }
            }
    }
}

/// Missing permissions as compact rules, one a line, sorted.
fn describe(missing: &[Permission]) -> String {
    let mut verbs: BTreeMap<&Thing, Vec<&str>> = BTreeMap::new();
    for permission in missing {
        verbs.entry(&permission.thing).or_default().push(&permission.verb);
    }
    let mut lines: Vec<String> = verbs
        .into_iter()
        .map(|(thing, verbs)| match thing {
            Thing::Path(path) => format!("{{NonResourceURLs:{}, Verbs:{}}}", quoted(&[path]), quoted(&verbs)),
            Thing::Resource { group, resource, name } => {
                let names = match name {
                    Some(name) => format!(", ResourceNames:{}", quoted(&[name])),
                    None => String::new(),
                };
                let (groups, resources) = (quoted(&[group]), quoted(&[resource]));
                format!("{{APIGroups:{groups}, Resources:{resources}{names}, Verbs:{}}}", quoted(&verbs))
            }
        })
        .collect();
    lines.sort();
    lines.join("\n")
}

/// A list as Go's `%q` prints it.
fn quoted(list: &[&str]) -> String {
    let items: Vec<String> = list.iter().map(|item| format!("\"{item}\"")).collect();
    format!("[{}]", items.join(" "))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn missing_permissions_are_shown_as_compact_rules() {
        let rule = json!({"apiGroups": [""], "resources": ["b", "a"], "verbs": ["get", "list"]});
        let text = describe(&Permission::of_rule(&rule));
        let expected = "{APIGroups:[\"\"], Resources:[\"a\"], Verbs:[\"get\" \"list\"]}\n\
                        {APIGroups:[\"\"], Resources:[\"b\"], Verbs:[\"get\" \"list\"]}";
        assert_eq!(text, expected);
    }

    #[test]
    fn a_wider_rule_holds_a_narrower_one() {
        let wanted = json!({"apiGroups": ["apps"], "resources": ["deployments/scale"], "resourceNames": ["a"], "verbs": ["get"]});
        let held = json!({"apiGroups": ["*"], "resources": ["*/scale"], "verbs": ["*"]});
        assert!(Permission::of_rule(&wanted).iter().all(|permission| permission.is_in(&held)));
        assert!(!Permission::of_rule(&held).iter().all(|permission| permission.is_in(&wanted)));
    }
}
