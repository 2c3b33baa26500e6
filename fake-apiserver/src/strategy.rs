//! What the kinds of the system do differently on create, update and delete: which parts a request may set,
//! when generation counts, when an object may go (`pkg/registry/*/strategy.go` of Kubernetes).

use serde_json::{Map, Value, json};

use crate::clock::rfc3339;
use crate::resources::qos_class;
use crate::schema::FieldError;
use crate::state::{Call, State};
use crate::status::{Answer, Status};

/// The finalizer under which a CustomResourceDefinition waits for its objects.
pub(crate) const CRD_CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

/// Settles namespace and name of a request body against the path.
pub(crate) fn place(call: &Call, metadata: &mut Map<String, Value>) -> Answer<()> {
    let text = |metadata: &Map<String, Value>, key: &str| {
        metadata.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    if call.resource().namespaced {
        let namespace = text(metadata, "namespace");
        if !namespace.is_empty() && namespace != call.namespace {
            return Err(Status::bad_request(
                "the namespace of the provided object does not match the namespace sent on the request",
            ));
        }
        metadata.insert("namespace".into(), json!(call.namespace));
    } else {
        metadata.remove("namespace");
    }
    let name = text(metadata, "name");
    if !call.name.is_empty() && !name.is_empty() && name != call.name {
        let message =
            format!("the name of the object ({name}) does not match the name on the URL ({})", call.name);
        return Err(Status::bad_request(message));
    }
    Ok(())
}

/// Sets what the server sets on a new object and clears what a client may not.
pub(crate) fn prepare_create(state: &mut State, call: &Call, object: &mut Value) {
    let uid = state.ids.uid();
    let resource = call.resource();
    let metadata = &mut object["metadata"];
    metadata["uid"] = json!(uid);
    metadata["creationTimestamp"] = json!(rfc3339(call.now));
    if let Some(metadata) = metadata.as_object_mut() {
        for field in ["deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "resourceVersion"] {
            metadata.remove(field);
        }
    }
    if resource.traits.generation {
        metadata["generation"] = json!(1);
    }
    if has_own_status(call) {
        clear_status(call, object);
    }
    match &*resource.id {
        "namespaces" => {
            let finalizers = object["spec"]["finalizers"].as_array().cloned().unwrap_or_default();
            let mut finalizers: Vec<Value> =
                finalizers.into_iter().filter(|name| name != "kubernetes").collect();
            finalizers.push(json!("kubernetes"));
            object["spec"]["finalizers"] = json!(finalizers);
        }
        "services" => allocate_addresses(state, object),
        "jobs.batch" => label_job(&uid, &call.name, object),
        "customresourcedefinitions.apiextensions.k8s.io" => {
            object["status"] = json!({
                "conditions": null,
                "acceptedNames": { "plural": "", "kind": "" },
                "storedVersions": null,
            });
            note_storage_version(object);
        }
        _ => {}
    }
}

/// Adds the storage version of a definition to those that objects may be stored in.
fn note_storage_version(definition: &mut Value) {
    let versions = definition["spec"]["versions"].as_array();
    let storage = versions.into_iter().flatten().find(|version| version["storage"] == true);
    let Some(name) = storage.map(|version| version["name"].clone()) else { return };
    match definition["status"]["storedVersions"].as_array_mut() {
        Some(stored) if stored.contains(&name) => {}
        Some(stored) => stored.push(name),
        None => definition["status"]["storedVersions"] = json!([name]),
    }
}

/// Whether what a client says about the status of a new object does not count.
fn has_own_status(call: &Call) -> bool {
    call.version().has("status") && !call.resource().is("nodes")
}

/// The status that an object has before anybody reports one.
fn clear_status(call: &Call, object: &mut Value) {
    let initial = match &*call.resource().id {
        "namespaces" => json!({ "phase": "Active" }),
        "services" => json!({ "loadBalancer": {} }),
        "pods" => json!({ "phase": "Pending", "qosClass": qos_class(object) }),
        "persistentvolumeclaims" | "persistentvolumes" => json!({ "phase": "Pending" }),
        "daemonsets.apps" => json!({
            "currentNumberScheduled": 0, "numberMisscheduled": 0, "desiredNumberScheduled": 0, "numberReady": 0,
        }),
        "replicasets.apps" | "replicationcontrollers" => json!({ "replicas": 0 }),
        "statefulsets.apps" => json!({ "replicas": 0, "availableReplicas": 0 }),
        "horizontalpodautoscalers.autoscaling" => json!({ "desiredReplicas": 0, "currentMetrics": null }),
        "ingresses.networking.k8s.io" => json!({ "loadBalancer": {} }),
        "poddisruptionbudgets.policy" => json!({
            "disruptionsAllowed": 0, "currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 0,
        }),
        _ if call.resource().traits.custom => Value::Null,
        _ => json!({}),
    };
    match object.as_object_mut() {
        Some(members) if initial.is_null() => drop(members.remove("status")),
        Some(members) => drop(members.insert("status".into(), initial)),
        None => {}
    }
}

/// Every Service that wants one gets an address of its own (10.96.0.0/12, as kubeadm clusters have).
pub(crate) fn allocate_addresses(state: &mut State, object: &mut Value) {
    let spec = &mut object["spec"];
    if spec["type"] == "ExternalName" {
        return;
    }
    if spec["clusterIP"].as_str().unwrap_or_default().is_empty() {
        state.addresses += 1;
        let [_, b, c, d] = (state.addresses & 0x000f_ffff).to_be_bytes();
        spec["clusterIP"] = json!(format!("10.{}.{c}.{d}", 96 + b));
    }
    spec["clusterIPs"] = json!([spec["clusterIP"]]);
    let wants_node_ports = spec["type"] == "NodePort"
        || (spec["type"] == "LoadBalancer" && spec["allocateLoadBalancerNodePorts"] != false);
    if wants_node_ports {
        for port in spec["ports"].as_array_mut().into_iter().flatten().filter(|port| port.is_object()) {
            if port["nodePort"].as_i64().unwrap_or(0) == 0 {
                state.addresses += 1;
                port["nodePort"] = json!(30_000 + state.addresses % 2_768);
            }
        }
    }
    let checked = spec["type"] == "LoadBalancer" && spec["externalTrafficPolicy"] == "Local";
    if checked && spec["healthCheckNodePort"].is_null() {
        state.addresses += 1;
        spec["healthCheckNodePort"] = json!(30_000 + state.addresses % 2_768);
    }
}

/// A Job without a selector of its own is told apart by its UID.
fn label_job(uid: &str, name: &str, object: &mut Value) {
    let unlabelled = object["metadata"]["labels"].as_object().is_none_or(Map::is_empty);
    if unlabelled {
        object["metadata"]["labels"] = object["spec"]["template"]["metadata"]["labels"].clone();
    }
    if object["spec"]["manualSelector"] == true {
        return;
    }
    let labels = [
        ("batch.kubernetes.io/controller-uid", uid),
        ("batch.kubernetes.io/job-name", name),
        ("controller-uid", uid),
        ("job-name", name),
    ];
    if !object["spec"]["selector"].is_object() {
        object["spec"]["selector"] = json!({});
    }
    object["spec"]["selector"]["matchLabels"]["batch.kubernetes.io/controller-uid"] = json!(uid);
    let mut merged =
        object["spec"]["template"]["metadata"]["labels"].as_object().cloned().unwrap_or_default();
    merged.extend(labels.iter().map(|(key, value)| ((*key).to_owned(), json!(value))));
    object["spec"]["template"]["metadata"]["labels"] = json!(merged);
    if unlabelled {
        object["metadata"]["labels"] = json!(merged);
    }
}

/// Drops what a new object says that nobody may say, and so nobody owns: its status.
pub(crate) fn reset_new(call: &Call, object: &mut Value) {
    if has_own_status(call)
        && let Some(members) = object.as_object_mut()
    {
        members.remove("status");
    }
}

/// Puts back what an endpoint resets, before owners are recorded: nobody comes to own it by sending it.
pub(crate) fn reset(call: &Call, old: &Value, new: &mut Value) {
    let resource = call.resource();
    match call.subresource.as_str() {
        // Says itself what it changes.
        "binding" => {}
        "" | "scale" => {
            if call.version().has("status") {
                copy_member(old, new, "status");
            }
        }
        "finalize" => {
            let finalizers = new["spec"]["finalizers"].clone();
            *new = keep_managed_fields(old, new);
            new["spec"] = match finalizers.as_array().is_some_and(|list| !list.is_empty()) {
                true => json!({ "finalizers": finalizers }),
                false => json!({}),
            };
        }
        // Status, and the other subresources that report something.
        _ => {
            let status = new.get("status").cloned();
            let mut kept = keep_managed_fields(old, new);
            if !resource.traits.custom {
                for field in ["annotations", "finalizers", "ownerReferences"] {
                    kept["metadata"][field] = new["metadata"][field].clone();
                }
            }
            *new = kept;
            match (status, new.as_object_mut()) {
                (Some(status), Some(members)) => drop(members.insert("status".into(), status)),
                (None, Some(members)) => drop(members.remove("status")),
                _ => {}
            }
        }
    }
}

/// Puts back what an update may not change. Who sent another value owns it nevertheless.
pub(crate) fn prepare_update(call: &Call, old: &Value, new: &mut Value) {
    if matches!(call.subresource.as_str(), "" | "scale") {
        match &*call.resource().id {
            "namespaces" => copy_member(old, new, "spec"),
            "customresourcedefinitions.apiextensions.k8s.io" => note_storage_version(new),
            _ => {}
        }
    }
    for field in [
        "uid",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "generation",
        "resourceVersion",
        "name",
        "namespace",
        "generateName",
    ] {
        if field != "generateName" || !old["metadata"][field].is_null() {
            copy_member(&old["metadata"], &mut new["metadata"], field);
        }
    }
}

fn keep_managed_fields(old: &Value, new: &Value) -> Value {
    let mut kept = old.clone();
    kept["metadata"]["managedFields"] = new["metadata"]["managedFields"].clone();
    kept
}

fn copy_member(old: &Value, new: &mut Value, member: &str) {
    let Some(members) = new.as_object_mut() else { return };
    match old.get(member) {
        Some(value) => drop(members.insert(member.to_owned(), value.clone())),
        None => drop(members.remove(member)),
    }
}

/// Values that the server allocated stay when an update leaves them out.
pub(crate) fn carry_over(id: &str, old: &Value, new: &mut Value) {
    match id {
        "services" => {
            let external = new["spec"]["type"] == "ExternalName";
            for field in ["clusterIP", "clusterIPs", "healthCheckNodePort"] {
                let gone = new["spec"].get(field).is_none_or(|value| value == "" || value.is_null());
                if gone && !external && !old["spec"][field].is_null() {
                    new["spec"][field] = old["spec"][field].clone();
                }
            }
            if new["spec"]["type"] == "ClusterIP" && old["spec"]["type"] != "ClusterIP" {
                drop_node_ports(old, new);
            }
            let ports = old["spec"]["ports"].as_array().cloned().unwrap_or_default();
            let exposed = new["spec"]["type"] == "NodePort" || new["spec"]["type"] == "LoadBalancer";
            let ports_now = new["spec"]["ports"].as_array_mut().into_iter().flatten();
            for port in ports_now.filter(|port| exposed && port.is_object()) {
                let same = ports
                    .iter()
                    .find(|old| old["port"] == port["port"] && old["protocol"] == port["protocol"]);
                if let Some(same) =
                    same.filter(|same| port["nodePort"].is_null() && !same["nodePort"].is_null())
                {
                    port["nodePort"] = same["nodePort"].clone();
                }
            }
        }
        "jobs.batch" if new["spec"]["selector"].is_null() => {
            new["spec"]["selector"] = old["spec"]["selector"].clone();
            new["spec"]["template"]["metadata"] = old["spec"]["template"]["metadata"].clone();
        }
        _ => {}
    }
}

/// Ports that only the old type of a Service had go when the new one does not use them.
fn drop_node_ports(old: &Value, new: &mut Value) {
    let given: Vec<Value> =
        old["spec"]["ports"].as_array().into_iter().flatten().map(|port| port["nodePort"].clone()).collect();
    for port in new["spec"]["ports"].as_array_mut().into_iter().flatten() {
        if given.contains(&port["nodePort"])
            && let Some(port) = port.as_object_mut()
        {
            port.remove("nodePort");
        }
    }
    if let Some(spec) = new["spec"].as_object_mut() {
        for field in ["externalTrafficPolicy", "allocateLoadBalancerNodePorts", "healthCheckNodePort"] {
            spec.remove(field);
        }
    }
}

/// Counts a change of what is wanted.
pub(crate) fn bump_generation(call: &Call, old: &Value, new: &mut Value) {
    if !call.resource().traits.generation
        || matches!(call.subresource.as_str(), "status" | "finalize" | "binding")
    {
        return;
    }
    let wanted = |object: &Value| -> Vec<(String, Value)> {
        let members = object.as_object().into_iter().flatten();
        let relevant = members.filter(|(key, _)| {
            !matches!(key.as_str(), "metadata" | "apiVersion" | "kind")
                && (key.as_str() != "status"
                    || !call.version().has("status") && call.resource().traits.custom)
        });
        relevant.map(|(key, value)| (key.clone(), value.clone())).collect()
    };
    // Deployments count their annotations too: some of them direct a rollout.
    let annotated = call.resource().is("deployments.apps")
        && old["metadata"].get("annotations") != new["metadata"].get("annotations");
    if wanted(old) != wanted(new) || annotated {
        let generation = old["metadata"]["generation"].as_i64().unwrap_or(0);
        new["metadata"]["generation"] = json!(generation + 1);
    }
}

/// Finalizers that a kind adds when its deletion starts.
pub(crate) fn deletion_finalizer(call: &Call, present: &[String]) -> Option<String> {
    let crd = call.resource().is("customresourcedefinitions.apiextensions.k8s.io");
    (crd && !present.iter().any(|name| name == CRD_CLEANUP)).then(|| CRD_CLEANUP.to_owned())
}

/// Marks an object whose deletion starts now.
pub(crate) fn start_deletion(call: &Call, object: &mut Value, now: &str) {
    match &*call.resource().id {
        "namespaces" => {
            object["status"]["phase"] = json!("Terminating");
        }
        "customresourcedefinitions.apiextensions.k8s.io" => {
            let terminating = json!({
                "type": "Terminating",
                "status": "True",
                "lastTransitionTime": now,
                "reason": "InstanceDeletionPending",
                "message": "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
            });
            match object["status"]["conditions"].as_array_mut() {
                Some(conditions) => conditions.push(terminating),
                None => object["status"]["conditions"] = json!([terminating]),
            }
        }
        _ => {
            object["metadata"]["deletionGracePeriodSeconds"] = json!(0);
            if let Some(generation) = object["metadata"]["generation"].as_i64() {
                object["metadata"]["generation"] = json!(generation + 1);
            }
        }
    }
}

/// Whether nothing holds an object whose deletion was asked for.
pub(crate) fn may_go(id: &str, object: &Value) -> bool {
    let empty = |list: &Value| list.as_array().is_none_or(Vec::is_empty);
    empty(&object["metadata"]["finalizers"]) && (id != "namespaces" || empty(&object["spec"]["finalizers"]))
}

/// Whether an object being deleted has lost its last finalizer, and its time is not still running.
pub(crate) fn is_released(id: &str, object: &Value) -> bool {
    let metadata = &object["metadata"];
    let graceful = metadata["deletionGracePeriodSeconds"].as_i64().unwrap_or(0) > 0;
    !metadata["deletionTimestamp"].is_null() && !graceful && may_go(id, object)
}

/// Rules of single kinds for new objects.
pub(crate) fn create_errors(state: &State, call: &Call, object: &Value) -> Vec<FieldError> {
    crate::kinds::create_errors(state, call, object)
}

/// Rules of single kinds for changed objects.
pub(crate) fn update_errors(call: &Call, old: &Value, new: &Value) -> Vec<FieldError> {
    crate::kinds::update_errors(call, old, new)
}
