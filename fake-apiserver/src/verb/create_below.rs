//! Creates below an object: tokens of a ServiceAccount, evictions and bindings of a Pod.

use serde_json::{Value, json};

use super::delete::{admit, delete_admitted};
use super::get::find;
use super::token;
use super::update::{Origin, update};
use crate::clock::rfc3339;
use crate::controllers::set_condition;
use crate::options::DeleteOptions;
use crate::request::Query;
use crate::selector::LabelSelector;
use crate::state::{Call, State};
use crate::status::{Answer, ResourceName, Status};
use crate::storage::Stored;

/// Answers the create of a subresource: tokens, evictions, bindings.
pub(crate) fn create_below(state: &mut State, call: &mut Call, body: &Value) -> Answer<Value> {
    match call.subresource.as_str() {
        "token" => token::request(state, call, body),
        "eviction" => evict(state, call, body),
        "binding" => bind(state, call, body),
        _ => Err(Status::method_not_allowed()),
    }
}

/// Deletes a Pod if its disruption budget allows it.
fn evict(state: &mut State, call: &mut Call, body: &Value) -> Answer<Value> {
    let mut options = DeleteOptions::parse(&Query::default(), &body["deleteOptions"])?;
    options.dry_run |= call.options.dry_run;
    call.subresource.clear();
    let pod = admit(state, call, &options)?;
    // A Pod that does not run disturbs nobody by going.
    let idle = matches!(pod.value["status"]["phase"].as_str(), Some("Pending" | "Succeeded" | "Failed"));
    if !idle && pod.metadata()["deletionTimestamp"].is_null() {
        use_budget(state, call, &pod, options.dry_run)?;
    }
    delete_admitted(state, call, &pod, &options)?;
    Ok(created())
}

fn created() -> Value {
    json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201 })
}

const BUDGETS: &str = "poddisruptionbudgets.policy";

/// Takes one disruption from the budget of a Pod, if it has one and needs to.
fn use_budget(state: &mut State, call: &Call, pod: &Stored, dry_run: bool) -> Answer<()> {
    let prefix = format!("{}/", call.namespace);
    let objects = state.storage.objects(BUDGETS);
    let mut budgets = objects.iter().filter(|(key, budget)| {
        let selector = LabelSelector::from_object(&budget.value["spec"]["selector"]);
        key.starts_with(&prefix) && selector.matches(&pod.metadata()["labels"])
    });
    let Some((key, budget)) = budgets.next() else { return Ok(()) };
    if budgets.next().is_some() {
        let why = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.";
        return Err(Status::internal_plain(why));
    }
    let count = |field: &str| budget.value["status"][field].as_i64().unwrap_or(0);
    let mut conditions = pod.value["status"]["conditions"].as_array().into_iter().flatten();
    let ready = conditions.any(|one| one["type"] == "Ready" && one["status"] == "True");
    let healthy = count("desiredHealthy") > 0 && count("currentHealthy") >= count("desiredHealthy");
    // What does not work may go as long as enough does.
    if !ready && (healthy || budget.value["spec"]["unhealthyPodEvictionPolicy"] == "AlwaysAllow") {
        return Ok(());
    }
    let observed = count("observedGeneration") >= budget.metadata()["generation"].as_i64().unwrap_or(0);
    if !observed || count("disruptionsAllowed") <= 0 {
        return Err(eviction_refusal(&budget.value, observed));
    }
    if !dry_run {
        let mut used = (*budget.value).clone();
        let left = count("disruptionsAllowed") - 1;
        used["status"]["disruptionsAllowed"] = json!(left);
        used["status"]["disruptedPods"][call.name.as_str()] = json!(rfc3339(call.now));
        if left == 0 {
            let status = &mut used["status"];
            set_condition(status, "DisruptionAllowed", false, "InsufficientPods", "", &rfc3339(call.now));
        }
        state.storage.put(&BUDGETS.into(), key, used);
    }
    Ok(())
}

fn eviction_refusal(budget: &Value, observed: bool) -> Box<Status> {
    let name = budget["metadata"]["name"].as_str().unwrap_or_default();
    let message = "Cannot evict pod as it would violate the pod's disruption budget.";
    let mut status = Status::new(429, "TooManyRequests", message);
    status.details = Some(if observed {
        let count = |field: &str| budget["status"][field].as_i64().unwrap_or(0);
        let cause = format!(
            "The disruption budget {name} needs {} healthy pods and has {} currently",
            count("desiredHealthy"),
            count("currentHealthy")
        );
        json!({ "causes": [{ "reason": "DisruptionBudget", "message": cause }] })
    } else {
        let cause = format!("The disruption budget {name} is still being processed by the server.");
        json!({ "causes": [{ "reason": "DisruptionBudget", "message": cause }], "retryAfterSeconds": 10 })
    });
    status
}

/// Puts a Pod on a node.
fn bind(state: &mut State, call: &mut Call, body: &Value) -> Answer<Value> {
    let pod = find(state, call)?.clone();
    if let Some(node) = pod.value["spec"]["nodeName"].as_str().filter(|node| !node.is_empty()) {
        let who = ResourceName { group: "", resource: "pods/binding" };
        let why = format!("pod {} is already assigned to node \"{node}\"", call.name);
        return Err(Status::conflict(&who, &call.name, &why));
    }
    let mut bound = (*pod.value).clone();
    bound["spec"]["nodeName"] = body["target"]["name"].clone();
    let scheduled = json!({
        "type": "PodScheduled",
        "status": "True",
        "lastProbeTime": null,
        "lastTransitionTime": rfc3339(call.now),
    });
    match bound["status"]["conditions"].as_array_mut() {
        Some(conditions) => {
            conditions.retain(|condition| condition["type"] != "PodScheduled");
            conditions.push(scheduled);
        }
        None => bound["status"]["conditions"] = json!([scheduled]),
    }
    update(state, call, &pod, bound, Origin::Patch)?;
    Ok(created())
}
