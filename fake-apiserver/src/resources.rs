//! The amounts of resources that the containers of a Pod ask for and are limited to.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::schema::builtin::quantity::{nanos, of_nanos};

/// Amounts by resource.
pub(crate) type Amounts = BTreeMap<String, String>;

/// The amounts in a `requests` or `limits`.
pub(crate) fn amounts(list: &Value) -> Amounts {
    let members = list.as_object().into_iter().flatten();
    members
        .map(|(name, value)| (name.clone(), value.as_str().map_or_else(|| value.to_string(), str::to_owned)))
        .collect()
}

/// Sums by resource.
pub(crate) fn add(sum: &mut Amounts, more: &Amounts) {
    combine(sum, more, |one, other| one.saturating_add(other));
}

/// The greater of both by resource.
pub(crate) fn raise(sum: &mut Amounts, other: &Amounts) {
    combine(sum, other, i128::max);
}

fn combine(sum: &mut Amounts, more: &Amounts, with: fn(i128, i128) -> i128) {
    for (name, value) in more {
        let known = sum.get(name).and_then(|known| Some((nanos(known)?, known.clone())));
        let value = match (known, nanos(value)) {
            (Some((known, like)), Some(number)) => of_nanos(with(known, number), &like),
            _ => value.clone(),
        };
        sum.insert(name.clone(), value);
    }
}

/// Containers that are limited but say nothing of what they need are taken to need the limit.
pub(crate) fn request_the_limits(pod: &mut Value) {
    for group in ["/spec/containers", "/spec/initContainers"] {
        let containers = pod.pointer_mut(group).and_then(Value::as_array_mut);
        for container in containers.into_iter().flatten().filter(|container| container.is_object()) {
            let resources = &mut container["resources"];
            for (name, limit) in amounts(&resources["limits"]) {
                if resources["requests"].get(&name).is_none() {
                    resources["requests"][&name] = json!(limit);
                }
            }
        }
    }
}

/// The limits of a LimitRange for containers follow from one another where they are not given: the usual limit is the
/// most, and the usual request is the usual limit, or the least.
pub(crate) fn complete_limits(range: &mut Value) {
    let limits = range.pointer_mut("/spec/limits").and_then(Value::as_array_mut);
    for limit in limits.into_iter().flatten().filter(|limit| limit["type"] == "Container") {
        for (from, to) in [("max", "default"), ("default", "defaultRequest"), ("min", "defaultRequest")] {
            for (name, amount) in amounts(&limit[from]) {
                if limit[to].get(&name).is_none() {
                    limit[to][&name] = json!(amount);
                }
            }
        }
    }
}

/// What a whole Pod needs at once: `requests` or `limits`. Init containers run before the others, unless they are
/// restarted and so run beside them.
pub(crate) fn of_pod(pod: &Value, which: &str) -> Amounts {
    let spec = &pod["spec"];
    let mut sum = Amounts::new();
    for container in list(&spec["containers"]) {
        add(&mut sum, &amounts(&container["resources"][which]));
    }
    let (mut beside, mut highest) = (Amounts::new(), Amounts::new());
    for container in list(&spec["initContainers"]) {
        let own = amounts(&container["resources"][which]);
        let mut now = beside.clone();
        add(&mut now, &own);
        raise(&mut highest, &now);
        if container["restartPolicy"] == "Always" {
            beside = now;
            add(&mut sum, &own);
        }
    }
    raise(&mut sum, &highest);
    // What is said of the Pod as a whole counts in place of the sum.
    sum.extend(amounts(&spec["resources"][which]));
    add(&mut sum, &amounts(&spec["overhead"]));
    sum
}

/// The quality of service of a Pod (`k8s.io/component-helpers/../qos`): by processor and memory only.
pub(crate) fn qos_class(pod: &Value) -> &'static str {
    let spec = &pod["spec"];
    let whole = [&spec["resources"]];
    let containers = list(&spec["containers"]).chain(list(&spec["initContainers"]));
    let resources: Vec<&Value> = match spec["resources"].is_object() {
        true => whole.to_vec(),
        false => containers.map(|container| &container["resources"]).collect(),
    };
    let positive = |list: &Value| -> BTreeMap<String, i128> {
        let all = amounts(list).into_iter().filter(|(name, _)| name == "cpu" || name == "memory");
        all.filter_map(|(name, value)| Some((name, nanos(&value).filter(|value| *value > 0)?))).collect()
    };
    let pairs: Vec<_> =
        resources.iter().map(|one| (positive(&one["requests"]), positive(&one["limits"]))).collect();
    if pairs.iter().all(|(requests, limits)| requests.is_empty() && limits.is_empty()) {
        return "BestEffort";
    }
    let total = |all: Vec<&BTreeMap<String, i128>>| {
        let mut sum = BTreeMap::new();
        for (name, value) in all.into_iter().flatten() {
            *sum.entry(name.clone()).or_insert(0_i128) += value;
        }
        sum
    };
    let requested = total(pairs.iter().map(|(requests, _)| requests).collect());
    let allowed = total(pairs.iter().map(|(_, limits)| limits).collect());
    let limited = pairs.iter().all(|(_, limits)| limits.len() == 2);
    if limited && requested == allowed { "Guaranteed" } else { "Burstable" }
}

/// The elements of a list; none of anything else.
fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(containers: Value) -> Value {
        json!({ "spec": { "containers": containers } })
    }

    #[test]
    fn a_pod_is_served_by_what_its_containers_ask_for() {
        let both = json!({ "cpu": "1", "memory": "1Gi" });
        let class = |resources: Value| qos_class(&pod(json!([{ "resources": resources }])));
        assert_eq!(class(json!({})), "BestEffort");
        assert_eq!(class(json!({ "limits": { "example.com/gpu": "1" } })), "BestEffort");
        assert_eq!(class(json!({ "requests": { "cpu": "0" } })), "BestEffort");
        assert_eq!(class(json!({ "requests": { "cpu": "1" } })), "Burstable");
        assert_eq!(class(json!({ "limits": both, "requests": both })), "Guaranteed");
        assert_eq!(
            class(json!({ "limits": both, "requests": { "cpu": "500m", "memory": "1Gi" } })),
            "Burstable"
        );
        let one_is_free = pod(json!([{ "resources": { "limits": both, "requests": both } }, {}]));
        assert_eq!(qos_class(&one_is_free), "Burstable");
    }

    #[test]
    fn init_containers_count_where_they_need_more_than_the_others() {
        let resources = |cpu: &str| json!({ "requests": { "cpu": cpu } });
        let mut pod = pod(json!([{ "resources": resources("100m") }, { "resources": resources("200m") }]));
        pod["spec"]["initContainers"] = json!([
            { "resources": resources("50m"), "restartPolicy": "Always" },
            { "resources": resources("250m") },
        ]);
        assert_eq!(of_pod(&pod, "requests")["cpu"], "350m");
        pod["spec"]["initContainers"][1]["resources"] = resources("1");
        assert_eq!(of_pod(&pod, "requests")["cpu"], "1050m");
    }
}
