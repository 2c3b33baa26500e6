//! Guarded owner references (`OwnerReferencesPermissionEnforcement`), where a cluster asks for that: who makes an object
//! depend on another must be allowed to delete the one, and to hold up the deletion of the other.

use serde_json::Value;

use super::Change;
use crate::auth::rbac::{Attributes, allowed};
use crate::state::{Call, State};
use crate::status::{Answer, Status};

/// Refuses owner references that the user could not have made good.
pub(super) fn check(state: &State, call: &Call, change: Change<'_>) -> Answer<()> {
    let Some(object) = change.object.filter(|_| state.guarded_owners) else { return Ok(()) };
    let owners =
        |object: &Value| object["metadata"]["ownerReferences"].as_array().cloned().unwrap_or_default();
    let (new, old) = (owners(object), change.old.map(owners).unwrap_or_default());
    let resource = call.resource();
    let refuse = |why: &str| {
        Err(Status::forbidden(&resource.name(), &call.name, &format!("cannot set {why}: , <nil>")))
    };
    if change.old.is_some() && new != old {
        let attributes = Attributes {
            verb: "delete".into(),
            group: resource.group.clone(),
            resource: resource.plural.clone(),
            namespace: call.namespace.clone(),
            name: call.name.clone(),
            ..Attributes::default()
        };
        if allowed(state, &call.user, &attributes).is_none() {
            return refuse("an ownerRef on a resource you can't delete");
        }
    }
    let blocks = |owner: &&Value| owner["blockOwnerDeletion"] == true;
    let known = |owner: &&Value| old.iter().filter(blocks).any(|other| other["uid"] == owner["uid"]);
    for owner in new.iter().filter(blocks).filter(|owner| !known(owner)) {
        let text = |field: &str| owner[field].as_str().unwrap_or_default();
        let (group, _) = text("apiVersion").split_once('/').unwrap_or_default();
        let Some(kind) = state.registry.by_kind(group, text("kind")) else { continue };
        let attributes = Attributes {
            verb: "update".into(),
            group: kind.group.clone(),
            resource: kind.plural.clone(),
            subresource: "finalizers".into(),
            namespace: if kind.namespaced { call.namespace.clone() } else { String::new() },
            name: text("name").into(),
            ..Attributes::default()
        };
        if allowed(state, &call.user, &attributes).is_none() {
            return refuse(
                "blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on",
            );
        }
    }
    Ok(())
}
