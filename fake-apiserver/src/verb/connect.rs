//! Connections into a Pod: logs, exec, attach, port-forward.
//!
//! A real server passes these on to the kubelet of the Pod's node (`pkg/registry/core/pod/strategy.go`). No kubelet runs
//! here, so every one of them ends in one of the refusals that the server gives when it finds none.

use super::get::find;
use crate::state::{Call, State};
use crate::status::{Answer, ResourceName, Status};

/// Port of a kubelet.
const KUBELET: u16 = 10250;

/// Whether a part of an object is a connection.
pub(crate) fn is_connection(subresource: &str) -> bool {
    matches!(subresource, "attach" | "exec" | "log" | "portforward")
}

/// Refuses, and says why the Pod cannot be connected to, looking in the order in which a server does. `container` is the one
/// that was asked for.
pub(crate) fn refuse<T>(state: &State, call: &Call, container: Option<&str>) -> Answer<T> {
    let pod = find(state, call)?;
    let name = &call.name;
    let spec = &pod.value["spec"];
    let named = |field: &str| -> Vec<&str> {
        spec[field]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|container| container["name"].as_str())
            .collect()
    };
    let containers = named("containers");
    match container {
        _ if call.subresource == "portforward" => {}
        Some(wanted) if !containers.contains(&wanted) && !named("initContainers").contains(&wanted) => {
            return Err(Status::bad_request(format!("container {wanted} is not valid for pod {name}")));
        }
        None if containers.len() > 1 => {
            return Err(Status::bad_request(format!(
                "a container name must be specified for pod {name}, choose one of: [{}]",
                containers.join(" ")
            )));
        }
        _ => {}
    }
    let Some(node) = spec["nodeName"].as_str().filter(|node| !node.is_empty()) else {
        return Err(Status::bad_request(format!("pod {name} does not have a host assigned")));
    };
    let Some(found) = state.storage.get("nodes", node) else {
        return Err(Status::not_found(&ResourceName { group: "", resource: "nodes" }, node));
    };
    let address = found.value["status"]["addresses"][0]["address"].as_str();
    let why = match address {
        Some(address) => {
            format!("error dialing backend: dial tcp {address}:{KUBELET}: connect: connection refused")
        }
        None => "no preferred addresses found; known addresses: []".into(),
    };
    Err(Status::internal(&why))
}
