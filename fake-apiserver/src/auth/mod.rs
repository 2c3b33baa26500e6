//! Who sends a request, and what they may do.

pub(crate) mod escalation;
pub(crate) mod impersonation;
pub(crate) mod rbac;
pub(crate) mod token;

use std::collections::BTreeMap;

/// An authenticated user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// User name, for instance `system:serviceaccount:default:robot`.
    pub name: String,
    /// Groups, for instance `system:masters`.
    pub groups: Vec<String>,
    /// What tells the user from others of the same name over time; mostly empty.
    pub uid: String,
    /// What else is known of the user.
    pub extra: BTreeMap<String, Vec<String>>,
}

impl User {
    /// A user with groups; `system:authenticated` is added.
    pub fn new(name: impl Into<String>, groups: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let mut groups: Vec<String> = groups.into_iter().map(Into::into).collect();
        if !groups.iter().any(|group| group == "system:authenticated") {
            groups.push("system:authenticated".into());
        }
        Self { name: name.into(), groups, uid: String::new(), extra: BTreeMap::new() }
    }

    /// Somebody who may do everything.
    pub fn admin() -> Self {
        Self::new("kubernetes-admin", ["system:masters"])
    }

    /// Nobody in particular.
    pub fn anonymous() -> Self {
        Self { groups: vec!["system:unauthenticated".into()], ..Self::new("system:anonymous", [""; 0]) }
    }

    /// Whether the user belongs to `group`.
    pub fn is_in(&self, group: &str) -> bool {
        self.groups.iter().any(|own| own == group)
    }
}
