//! Namespace lifecycle: nothing is created in a namespace that is absent or going away, and some namespaces
//! stay for ever.

use crate::state::{Call, State};
use crate::status::{Answer, ResourceName, Status};

/// Refuses creates where the namespace does not allow them, and creates of custom resources whose definition
/// is being deleted.
pub(crate) fn check_create(state: &State, call: &Call) -> Answer<()> {
    let resource = call.resource();
    if resource.traits.terminating {
        let why = "create not allowed while custom resource definition is terminating";
        return Err(Status::forbidden(&resource.name(), &call.name, why));
    }
    if !resource.namespaced {
        return Ok(());
    }
    let namespace = &call.namespace;
    let Some(found) = state.storage.get("namespaces", namespace) else {
        return Err(Status::not_found(&ResourceName { group: "", resource: "namespaces" }, namespace));
    };
    if found.metadata()["deletionTimestamp"].is_null() {
        return Ok(());
    }
    let why = format!("unable to create new content in namespace {namespace} because it is being terminated");
    let cause = format!("namespace {namespace} is being terminated");
    Err(Status::forbidden(&resource.name(), &call.name, &why).with_cause(
        "NamespaceTerminating",
        &cause,
        "metadata.namespace",
    ))
}

/// Refuses the deletion of namespaces that a cluster cannot do without.
pub(crate) fn check_delete(call: &Call) -> Answer<()> {
    let immortal = matches!(call.name.as_str(), "default" | "kube-system" | "kube-public");
    if call.resource().is("namespaces") && immortal {
        let why = "this namespace may not be deleted";
        return Err(Status::forbidden(&call.resource().name(), &call.name, why));
    }
    Ok(())
}
