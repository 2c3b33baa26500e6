//! Namespace lifecycle: nothing is created in a namespace that is absent or going away, and some namespaces
//! stay for ever.

use serde_json::Value;

use crate::state::{Call, State};
use crate::status::{Answer, ResourceName, Status};
use crate::storage::object_key;

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

/// Refuses Pods of a ServiceAccount that does not exist. The account `default` is made by a controller, which may be
/// late or absent.
pub(crate) fn check_account(state: &State, call: &Call, object: &Value) -> Answer<()> {
    let name = object["spec"]["serviceAccountName"].as_str().unwrap_or_default();
    if !call.resource().is("pods") || matches!(name, "" | "default") {
        return Ok(());
    }
    let namespace = &call.namespace;
    if state.storage.get("serviceaccounts", &object_key(namespace, name)).is_some() {
        return Ok(());
    }
    let why =
        format!("error looking up service account {namespace}/{name}: serviceaccount \"{name}\" not found");
    Err(Status::forbidden(&call.resource().name(), &call.name, &why))
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
