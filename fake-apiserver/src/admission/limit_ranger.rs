//! LimitRanges: what containers ask for when they say nothing, and how much they, whole Pods and volume claims may ask
//! for (`plugin/pkg/admission/limitranger`).

use serde_json::{Value, json};

use super::Change;
use crate::resources::{Amounts, amounts, of_pod};
use crate::schema::builtin::quantity::nanos;
use crate::state::{Call, State};
use crate::status::{Answer, Status};

const ANNOTATION: &str = "kubernetes.io/limit-ranger";

/// The limits that hold in the namespace, of one type.
fn limits(state: &State, namespace: &str, kind: &str) -> Vec<Value> {
    let ranges = state.storage.objects("limitranges");
    ranges
        .values()
        .filter(|range| range.metadata()["namespace"] == namespace)
        .flat_map(|range| range.value["spec"]["limits"].as_array().cloned().unwrap_or_default())
        .filter(|limit| limit["type"] == kind)
        .collect()
}

/// Gives the containers of a new Pod what they do not ask for themselves.
pub(super) fn fill(state: &State, call: &Call, pod: &mut Value) {
    if !call.resource().is("pods") || !call.subresource.is_empty() {
        return;
    }
    let mut told = Vec::new();
    for limit in limits(state, &call.namespace, "Container") {
        for (group, word) in [("/spec/containers", "container"), ("/spec/initContainers", "init container")] {
            let containers = pod.pointer_mut(group).and_then(Value::as_array_mut);
            for container in containers.into_iter().flatten() {
                let name = container["name"].as_str().unwrap_or_default().to_owned();
                for (from, to, what) in
                    [("defaultRequest", "requests", "request"), ("default", "limits", "limit")]
                {
                    let set = merge(&mut container["resources"], to, &amounts(&limit[from]));
                    if !set.is_empty() {
                        told.push(format!("{} {what} for {word} {name}", set.join(", ")));
                    }
                }
            }
        }
    }
    if !told.is_empty() {
        let text = format!("LimitRanger plugin set: {}", told.join("; "));
        pod["metadata"]["annotations"][ANNOTATION] = json!(text);
    }
}

/// Adds the amounts that are missing; which these were.
fn merge(resources: &mut Value, list: &str, wanted: &Amounts) -> Vec<String> {
    let mut set = Vec::new();
    for (name, amount) in wanted {
        if resources[list].get(name).is_none() {
            resources[list][name] = json!(amount);
            set.push(name.clone());
        }
    }
    set
}

/// Refuses what asks for too little or too much.
pub(super) fn check(state: &State, call: &Call, change: Change<'_>) -> Answer<()> {
    let Some(object) = change.object else { return Ok(()) };
    let resource = call.resource();
    let problems = match &*resource.id {
        // What a Pod asks for does not change, except by a resize.
        "pods" if change.old.is_none() || call.subresource == "resize" => pod_problems(state, call, object),
        "persistentvolumeclaims" if call.subresource.is_empty() => claim_problems(state, call, object),
        _ => Vec::new(),
    };
    let why = match problems.as_slice() {
        [] => return Ok(()),
        [one] => one.clone(),
        several => format!("[{}]", several.join(", ")),
    };
    Err(Status::forbidden(&resource.name(), &call.name, &why))
}

fn pod_problems(state: &State, call: &Call, pod: &Value) -> Vec<String> {
    let mut problems = Vec::new();
    for limit in limits(state, &call.namespace, "Container") {
        for group in ["containers", "initContainers"] {
            for container in pod["spec"][group].as_array().into_iter().flatten() {
                let of = |which: &str| amounts(&container["resources"][which]);
                Asked { requests: of("requests"), limits: of("limits") }.judge(&limit, &mut problems);
            }
        }
    }
    for limit in limits(state, &call.namespace, "Pod") {
        let asked = Asked { requests: of_pod(pod, "requests"), limits: of_pod(pod, "limits") };
        asked.judge(&limit, &mut problems);
    }
    problems
}

fn claim_problems(state: &State, call: &Call, claim: &Value) -> Vec<String> {
    const KIND: &str = "PersistentVolumeClaim";
    let requests = amounts(&claim["spec"]["resources"]["requests"]);
    let mut problems = Vec::new();
    for limit in limits(state, &call.namespace, KIND) {
        for (bound, most) in [("min", false), ("max", true)] {
            for (name, bar) in amounts(&limit[bound]) {
                let word = if most { "maximum" } else { "minimum" };
                let start = format!("{word} {name} usage per {KIND} is {bar}");
                match requests.get(&name) {
                    None => problems.push(format!("{start}.  No request is specified")),
                    Some(value) if beyond(value, &bar, most) => {
                        problems.push(format!("{start}, but request is {value}"));
                    }
                    Some(_) => {}
                }
            }
        }
    }
    problems
}

/// Whether the value is above what is the most, or below what is the least.
fn beyond(value: &str, bar: &str, most: bool) -> bool {
    let (value, bar) = (nanos(value).unwrap_or(0), nanos(bar).unwrap_or(0));
    if most { value > bar } else { value < bar }
}

/// What a container or a Pod asks for.
struct Asked {
    requests: Amounts,
    limits: Amounts,
}

impl Asked {
    fn judge(&self, limit: &Value, problems: &mut Vec<String>) {
        let kind = limit["type"].as_str().unwrap_or_default();
        for (name, bar) in amounts(&limit["min"]) {
            let start = format!("minimum {name} usage per {kind} is {bar}");
            problems.extend(self.bound(&name, &bar, &start, false));
        }
        for (name, bar) in amounts(&limit["max"]) {
            let start = format!("maximum {name} usage per {kind} is {bar}");
            problems.extend(self.bound(&name, &bar, &start, true));
        }
        for (name, bar) in amounts(&limit["maxLimitRequestRatio"]) {
            let start = format!("{name} max limit to request ratio per {kind} is {bar}, but");
            problems.extend(self.ratio(&name, &bar, &start));
        }
    }

    /// One of the two must be there: the request for the least, the limit for the most.
    fn bound(&self, name: &str, bar: &str, start: &str, most: bool) -> Option<String> {
        let request = ("request", self.requests.get(name));
        let limit = ("limit", self.limits.get(name));
        let [first, second] = if most { [limit, request] } else { [request, limit] };
        let Some(value) = first.1 else { return Some(format!("{start}.  No {} is specified", first.0)) };
        if beyond(value, bar, most) {
            return Some(format!("{start}, but {} is {value}", first.0));
        }
        let value = second.1.filter(|value| beyond(value, bar, most))?;
        Some(format!("{start}, but {} is {value}", second.0))
    }

    fn ratio(&self, name: &str, bar: &str, start: &str) -> Option<String> {
        let value =
            |amounts: &Amounts| amounts.get(name).and_then(|text| nanos(text)).filter(|value| *value != 0);
        let Some(request) = value(&self.requests) else {
            return Some(format!("{start} no request is specified or request is 0"));
        };
        let Some(limit) = value(&self.limits) else {
            return Some(format!("{start} no limit is specified or limit is 0"));
        };
        #[expect(clippy::cast_precision_loss, reason = "the ratio is shown with six digits")]
        let (ratio, most) = (limit as f64 / request as f64, nanos(bar)? as f64 / 1e9);
        (ratio > most).then(|| format!("{start} provided ratio is {ratio:.6}"))
    }
}
