//! Which kind a path names, and which methods it has.

use http::header;

use super::{Incoming, text_header};
use crate::options::WriteOptions;
use crate::registry::{Registry, Served, Unknown};
use crate::request::RequestInfo;
use crate::state::{Call, State};
use crate::status::{Answer, Status};
use crate::verb::connect;

impl Incoming<'_> {
    /// Finds the kind a path names and checks that the path has the right shape.
    pub(super) fn route(&self, state: &State) -> Answer<Call> {
        let info = self.info;
        let served = match state.registry.resolve(&info.group, &info.version, &info.resource) {
            Ok(served) => served,
            Err(Unknown::Resource) => return Err(Status::no_such_resource()),
            Err(Unknown::Group) => return Err(Status::page_not_found()),
        };
        let resource = &served.resource;
        let namespace = if resource.namespaced { info.namespace.clone() } else { String::new() };
        let misplaced = if resource.namespaced {
            namespace.is_empty() && !info.name.is_empty()
        } else {
            !info.namespace.is_empty() && !resource.is("namespaces")
        };
        let unknown_part = !info.subresource.is_empty() && !served.version().has(&info.subresource);
        if misplaced || unknown_part {
            // Paths of custom resources are nobody's unless they name one exactly.
            let custom = resource.traits.custom;
            return Err(if custom { Status::page_not_found() } else { Status::no_such_resource() });
        }
        check_verb(&served, info)?;
        let agent = text_header(&self.parts.headers, header::USER_AGENT);
        let agent = agent.split('/').next().filter(|agent| !agent.is_empty()).unwrap_or("unknown");
        let manager = info.query.get("fieldManager").filter(|manager| !manager.is_empty()).unwrap_or(agent);
        let mut warnings = Vec::new();
        warnings.extend(served.version().deprecation.clone());
        Ok(Call {
            namespace,
            name: info.name.clone(),
            subresource: info.subresource.clone(),
            now: self.cluster.now(),
            user: self.user.clone(),
            manager: manager.chars().take(128).collect(),
            options: WriteOptions::default(),
            warnings,
            exchange: Some(self.exchange.clone()),
            objections: Vec::new(),
            served,
        })
    }

    /// Under a custom group nobody but the definitions knows the path; elsewhere the group does.
    pub(super) fn unknown_path(&self) -> Box<Status> {
        let known = self.info.path.starts_with("/api/") || Registry::is_builtin_group(&self.info.group);
        if known && !self.info.version.is_empty() {
            Status::no_such_resource()
        } else {
            Status::page_not_found()
        }
    }
}

/// Refuses methods that a path does not have.
fn check_verb(served: &Served, info: &RequestInfo) -> Answer<()> {
    let resource = &served.resource;
    let across = resource.namespaced && info.namespace.is_empty();
    let named = !info.name.is_empty();
    let plain = info.subresource.is_empty();
    let creates_below = matches!(info.subresource.as_str(), "token" | "eviction" | "binding");
    let allowed = match info.verb.as_str() {
        "create" if resource.traits.read_only => false,
        "create" if plain && across && resource.traits.custom => return Err(Status::page_not_found()),
        "create" if plain => !named && !across,
        "create" if info.subresource == "log" => false,
        "create" => creates_below || connect::is_connection(&info.subresource),
        _ if resource.traits.virtual_resource => false,
        "update" | "patch" if connect::is_connection(&info.subresource) => false,
        verb if resource.traits.read_only => matches!(verb, "get" | "list"),
        "update" => named && !creates_below,
        "get" | "patch" => named && !creates_below && (info.subresource != "finalize"),
        "delete" => plain,
        "deletecollection" => plain && !across && !resource.traits.no_delete_collection,
        _ => true,
    };
    match allowed {
        true => Ok(()),
        false if resource.traits.custom => Err(Status::method_not_supported(&resource.name(), &info.verb)),
        false => Err(Status::method_not_allowed()),
    }
}
