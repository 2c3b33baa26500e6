//! RBAC evaluation: a pure function of the roles and bindings in storage
//! (`plugin/pkg/auth/authorizer/rbac` of Kubernetes).

use std::sync::Arc;

use serde_json::{Value, json};

use super::User;
use crate::request::RequestInfo;
use crate::selector::FieldSelector;
use crate::state::State;
use crate::status::{Answer, ResourceName, Status};
use crate::storage::{Objects, Stored};

/// What somebody wants to do.
#[derive(Clone, Debug, Default)]
pub(crate) struct Attributes {
    pub(crate) verb: String,
    pub(crate) group: String,
    pub(crate) resource: String,
    pub(crate) subresource: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
    /// Set for paths that are no resources.
    pub(crate) path: Option<String>,
}

impl Attributes {
    /// What a request wants.
    pub(crate) fn of(info: &RequestInfo) -> Self {
        let mut attributes = Self {
            verb: info.verb.clone(),
            group: info.group.clone(),
            resource: info.resource.clone(),
            subresource: info.subresource.clone(),
            namespace: info.namespace.clone(),
            name: info.name.clone(),
            path: (!info.is_resource).then(|| info.path.clone()),
        };
        // A collection narrowed to one name counts as that object.
        if attributes.name.is_empty()
            && matches!(info.verb.as_str(), "list" | "watch" | "deletecollection")
            && let Ok(selector) = FieldSelector::parse(info.query.get("fieldSelector").unwrap_or_default())
        {
            attributes.name = selector.exact_name().unwrap_or_default().to_owned();
        }
        attributes
    }
}

/// Refuses what a user may not do. Without RBAC everybody who has a name may do everything.
pub(crate) fn authorize(state: &State, user: &User, info: &RequestInfo) -> Answer<()> {
    let attributes = Attributes::of(info);
    if allowed(state, user, &attributes).is_some() { Ok(()) } else { Err(forbidden(user, &attributes)) }
}

/// Why a user may do something (empty for superusers); `None` when they may not.
pub(crate) fn allowed(state: &State, user: &User, attributes: &Attributes) -> Option<String> {
    if user.is_in("system:masters") || (!state.rbac && user.is_in("system:authenticated")) {
        return Some(String::new());
    }
    grants(state, user, &attributes.namespace)
        .find(|grant| grant.rules().iter().any(|rule| covers(rule, attributes)))
        .map(|grant| grant.reason())
}

/// A role that a binding gives to somebody.
pub(crate) struct Grant {
    /// The kind of the binding.
    kind: &'static str,
    binding: Arc<Stored>,
    /// As reasons show it.
    subject: String,
    role: Arc<Value>,
}

impl Grant {
    /// Why something is allowed that the rules cover.
    fn reason(&self) -> String {
        let reference = &self.binding.value["roleRef"];
        let (role_kind, role_name) = (text(&reference["kind"]), text(&reference["name"]));
        let metadata = self.binding.metadata();
        let name = match text(&metadata["namespace"]) {
            "" => text(&metadata["name"]).to_owned(),
            namespace => format!("{}/{namespace}", text(&metadata["name"])),
        };
        let (kind, subject) = (self.kind, &self.subject);
        format!("RBAC: allowed by {kind} \"{name}\" of {role_kind} \"{role_name}\" to {subject}")
    }

    /// The rules of the role.
    pub(crate) fn rules(&self) -> &[Value] {
        self.role["rules"].as_array().map(Vec::as_slice).unwrap_or_default()
    }
}

/// Everything that is granted to a user in a namespace: cluster-wide grants first.
pub(crate) fn grants<'a>(
    state: &'a State,
    user: &'a User,
    namespace: &'a str,
) -> impl Iterator<Item = Grant> + use<'a> {
    let grant = move |kind, place: &str, binding: &Arc<Stored>| {
        let subjects = binding.value["subjects"].as_array().into_iter().flatten();
        let subject = subjects.into_iter().find_map(|subject| applies(subject, user, place))?;
        let reference = &binding.value["roleRef"];
        let role = role(state, text(&reference["kind"]), text(&reference["name"]), place)?;
        Some(Grant { kind, binding: binding.clone(), subject, role })
    };
    let wide = state.storage.objects("clusterrolebindings.rbac.authorization.k8s.io");
    let wide = wide.into_iter().filter_map(move |(_, binding)| grant("ClusterRoleBinding", "", &binding));
    let narrow = match namespace {
        "" => Objects::default(),
        _ => state.storage.objects("rolebindings.rbac.authorization.k8s.io"),
    };
    let inside = move |key: &str| key.split_once('/').is_some_and(|(place, _)| place == namespace);
    let narrow = narrow.into_iter().filter(move |(key, _)| inside(key));
    wide.chain(narrow.filter_map(move |(_, binding)| grant("RoleBinding", namespace, &binding)))
}

/// The role a reference in `namespace` means.
pub(crate) fn role(state: &State, kind: &str, name: &str, namespace: &str) -> Option<Arc<Value>> {
    let stored = match kind {
        "Role" => state.storage.get("roles.rbac.authorization.k8s.io", &format!("{namespace}/{name}")),
        _ => state.storage.get("clusterroles.rbac.authorization.k8s.io", name),
    };
    stored.map(|stored| stored.value.clone())
}

/// The subject as reasons show it, if it is the user.
fn applies(subject: &Value, user: &User, binding_namespace: &str) -> Option<String> {
    let name = text(&subject["name"]);
    match text(&subject["kind"]) {
        "User" if name == user.name => Some(format!("User \"{name}\"")),
        "Group" if user.is_in(name) => Some(format!("Group \"{name}\"")),
        "ServiceAccount" => {
            let namespace = subject["namespace"].as_str().unwrap_or(binding_namespace);
            let account = user.name.strip_prefix("system:serviceaccount:")?.split_once(':')?;
            (account == (namespace, name)).then(|| format!("ServiceAccount \"{name}/{namespace}\""))
        }
        _ => None,
    }
}

/// Whether a rule allows something.
fn covers(rule: &Value, attributes: &Attributes) -> bool {
    if !has(&rule["verbs"], &attributes.verb) {
        return false;
    }
    if let Some(path) = &attributes.path {
        let patterns = rule["nonResourceURLs"].as_array().into_iter().flatten().filter_map(Value::as_str);
        return patterns.into_iter().any(|pattern| match pattern.strip_suffix('*') {
            Some(prefix) => path.starts_with(prefix),
            None => pattern == path,
        });
    }
    let names = rule["resourceNames"].as_array().map(Vec::as_slice).unwrap_or_default();
    has(&rule["apiGroups"], &attributes.group)
        && has_resource(&rule["resources"], &attributes.resource, &attributes.subresource)
        && (names.is_empty() || names.iter().any(|name| *name == attributes.name))
}

fn has(list: &Value, wanted: &str) -> bool {
    list.as_array().into_iter().flatten().any(|value| value == "*" || value == wanted)
}

fn has_resource(list: &Value, resource: &str, subresource: &str) -> bool {
    let names = |listed: &str| match listed.split_once('/') {
        _ if listed == "*" => true,
        None => subresource.is_empty() && listed == resource,
        Some((of, part)) => !subresource.is_empty() && part == subresource && (of == "*" || of == resource),
    };
    list.as_array().into_iter().flatten().filter_map(Value::as_str).any(names)
}

/// The refusal, worded as the server words it.
pub(crate) fn forbidden(user: &User, attributes: &Attributes) -> Box<Status> {
    let name = &user.name;
    if let Some(path) = &attributes.path {
        let message = format!("forbidden: User \"{name}\" cannot {} path \"{path}\"", attributes.verb);
        let mut status = Status::new(403, "Forbidden", message);
        status.details = Some(json!({}));
        return status;
    }
    let resource = match attributes.subresource.as_str() {
        "" => attributes.resource.clone(),
        subresource => format!("{}/{subresource}", attributes.resource),
    };
    let place = match attributes.namespace.as_str() {
        "" => "at the cluster scope".to_owned(),
        namespace => format!("in the namespace \"{namespace}\""),
    };
    let why = format!(
        "User \"{name}\" cannot {} resource \"{resource}\" in API group \"{}\" {place}",
        attributes.verb, attributes.group
    );
    let who = ResourceName { group: &attributes.group, resource: &attributes.resource };
    Status::forbidden(&who, &attributes.name, &why)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wants(verb: &str, resource: &str, subresource: &str, name: &str) -> Attributes {
        Attributes {
            verb: verb.into(),
            resource: resource.into(),
            subresource: subresource.into(),
            name: name.into(),
            ..Attributes::default()
        }
    }

    #[test]
    fn a_rule_covers_what_it_lists() {
        let rule = json!({"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]});
        assert!(covers(&rule, &wants("get", "pods", "", "a")));
        assert!(!covers(&rule, &wants("list", "pods", "", "")));
        assert!(!covers(&rule, &wants("get", "pods", "log", "a")));
        assert!(!covers(&rule, &Attributes { group: "apps".into(), ..wants("get", "pods", "", "") }));
    }

    #[test]
    fn names_and_wildcards_narrow_and_widen_a_rule() {
        let named =
            json!({"apiGroups": ["*"], "resources": ["*/log"], "resourceNames": ["a"], "verbs": ["*"]});
        assert!(covers(&named, &wants("get", "pods", "log", "a")));
        assert!(!covers(&named, &wants("get", "pods", "log", "b")));
        let paths = json!({"nonResourceURLs": ["/api/*"], "verbs": ["get"]});
        let path = Attributes { path: Some("/api/v1".into()), ..wants("get", "", "", "") };
        assert!(covers(&paths, &path));
    }
}
