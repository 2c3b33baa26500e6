//! Requests in somebody else's name (`Impersonate-*` headers).
//!
//! There are two ways to be allowed: the verb `impersonate` on everything that is claimed, or, more narrowly, verbs that
//! name what is impersonated and what is done (KEP-5284): `impersonate-on:user-info:list` on the resource of the request
//! and `impersonate:user-info` on the claims.

use std::collections::BTreeMap;

use http::HeaderMap;
use percent_encoding::percent_decode_str;

use super::User;
use super::rbac::{self, Attributes};
use crate::request::RequestInfo;
use crate::reviews::service_account;
use crate::state::State;
use crate::status::{Answer, Status};

const EXTRA: &str = "impersonate-extra-";
const ACCOUNT: &str = "system:serviceaccount:";

/// Who a request claims to come from.
#[derive(Debug, Default)]
struct Claim {
    name: String,
    uid: String,
    groups: Vec<String>,
    extra: BTreeMap<String, Vec<String>>,
}

/// Takes a request to come from whom its headers name, if the user may do that.
pub(crate) fn impersonate(
    state: &State,
    user: User,
    headers: &HeaderMap,
    info: &RequestInfo,
) -> Answer<User> {
    let Some(claim) = Claim::read(headers)? else { return Ok(user) };
    check(state, &user, &claim, info)?;
    Ok(claim.user())
}

impl Claim {
    fn read(headers: &HeaderMap) -> Answer<Option<Self>> {
        let mut claim = Self::default();
        for (name, value) in headers {
            let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
            match name.as_str() {
                "impersonate-user" => claim.name = value,
                "impersonate-uid" => claim.uid = value,
                "impersonate-group" => claim.groups.push(value),
                name => {
                    if let Some(key) = name.strip_prefix(EXTRA) {
                        let key = percent_decode_str(key).decode_utf8_lossy().into_owned();
                        claim.extra.entry(key).or_default().push(value);
                    }
                }
            }
        }
        let nothing = claim.uid.is_empty() && claim.groups.is_empty() && claim.extra.is_empty();
        match (claim.name.is_empty(), nothing) {
            (true, true) => Ok(None),
            (true, false) => Err(Status::bad_request(format!(
                "requested {} without impersonating a user name",
                claim.printed()
            ))),
            (false, _) => Ok(Some(claim)),
        }
    }

    /// As Go prints it.
    fn printed(&self) -> String {
        let list = |items: &[String]| {
            let items: Vec<String> = items.iter().map(|item| format!("{item:?}")).collect();
            format!("{{{}}}", items.join(", "))
        };
        let groups = if self.groups.is_empty() { "(nil)".into() } else { list(&self.groups) };
        let extra = if self.extra.is_empty() {
            "(nil)".into()
        } else {
            let pairs: Vec<String> =
                self.extra.iter().map(|(key, values)| format!("{key:?}:[]string{}", list(values))).collect();
            format!("{{{}}}", pairs.join(", "))
        };
        format!(
            "&user.DefaultInfo{{Name:{:?}, UID:{:?}, Groups:[]string{groups}, Extra:map[string][]string{extra}}}",
            self.name, self.uid
        )
    }

    /// The account, if the name is that of one: namespace and name.
    fn account(&self) -> Option<(&str, &str)> {
        self.name.strip_prefix(ACCOUNT)?.split_once(':')
    }

    fn user(self) -> User {
        if self.name == "system:anonymous" {
            return User::anonymous();
        }
        let groups = match self.account() {
            Some((namespace, name)) if self.groups.is_empty() => service_account(namespace, name).groups,
            _ => self.groups,
        };
        let mut user = if groups.iter().any(|group| group == "system:unauthenticated") {
            User { groups, ..User::new(self.name, [""; 0]) }
        } else {
            User::new(self.name, groups)
        };
        user.uid = self.uid;
        user.extra = self.extra;
        user
    }

    /// What must be allowed with `verb`; `group` is the API group of users and their groups.
    fn parts(&self, verb: &str, group: &str) -> Vec<Attributes> {
        let part = |group: &str, resource: &str, subresource: &str, name: &str| Attributes {
            verb: verb.into(),
            group: group.into(),
            resource: resource.into(),
            subresource: subresource.into(),
            name: name.into(),
            ..Attributes::default()
        };
        const KIND: &str = "authentication.k8s.io";
        let mut parts = vec![match self.account() {
            Some((namespace, name)) => {
                Attributes { namespace: namespace.into(), ..part(group, "serviceaccounts", "", name) }
            }
            None => part(group, "users", "", &self.name),
        }];
        parts.extend(self.groups.iter().map(|name| part(group, "groups", "", name)));
        if !self.uid.is_empty() {
            parts.push(part(KIND, "uids", "", &self.uid));
        }
        for (key, values) in &self.extra {
            parts.extend(values.iter().map(|value| part(KIND, "userextras", key, value)));
        }
        parts
    }
}

fn check(state: &State, user: &User, claim: &Claim, info: &RequestInfo) -> Answer<()> {
    let refused = |attributes: &Attributes| rbac::allowed(state, user, attributes).is_none();
    let parts = claim.parts("impersonate", "");
    let Some(first) = parts.iter().find(|part| refused(part)) else { return Ok(()) };
    // Who may impersonate the name, but not the rest of the claim, is told so.
    if !refused(&parts[0]) {
        return Err(rbac::forbidden(user, first));
    }
    let mode = if claim.account().is_some() { "serviceaccount" } else { "user-info" };
    let on = Attributes { verb: format!("impersonate-on:{mode}:{}", info.verb), ..Attributes::of(info) };
    let narrow = claim.parts(&format!("impersonate:{mode}"), "authentication.k8s.io");
    match std::iter::once(&on).chain(&narrow).find(|part| refused(part)) {
        Some(part) => Err(rbac::forbidden(user, part)),
        None => Ok(()),
    }
}
