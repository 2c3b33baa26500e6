//! HorizontalPodAutoscalers: `autoscaling/v1` has one target for the CPU, and keeps what else `v2` says in annotations
//! (`pkg/apis/autoscaling/v1/conversion.go` of Kubernetes).

use serde_json::{Map, Value, json};

const METRICS: &str = "autoscaling.alpha.kubernetes.io/metrics";
const CURRENT_METRICS: &str = "autoscaling.alpha.kubernetes.io/current-metrics";
const CONDITIONS: &str = "autoscaling.alpha.kubernetes.io/conditions";
const BEHAVIOR: &str = "autoscaling.alpha.kubernetes.io/behavior";

/// Turns an autoscaler of `v2` into one of `v1`.
pub(super) fn to_v1(object: &mut Value) {
    let mut annotations = Vec::new();
    let metrics = take(object, "/spec", "metrics");
    let (cpu, others): (Vec<_>, Vec<_>) = items(&metrics).partition(|metric| is_cpu_utilization(metric));
    if let Some(metric) = cpu.last() {
        object["spec"]["targetCPUUtilizationPercentage"] =
            metric["resource"]["target"]["averageUtilization"].clone();
    }
    if !others.is_empty() {
        annotations.push((METRICS, array(others.into_iter().map(|metric| metric_v1(metric, "target")))));
    }
    let current = take(object, "/status", "currentMetrics");
    if items(&current).next().is_some() {
        annotations
            .push((CURRENT_METRICS, array(items(&current).map(|metric| metric_v1(metric, "current")))));
    }
    let cpu =
        items(&current).filter(|metric| metric["type"] == "Resource" && metric["resource"]["name"] == "cpu");
    if let Some(value) = cpu.map(|metric| &metric["resource"]["current"]["averageUtilization"]).last()
        && !value.is_null()
    {
        object["status"]["currentCPUUtilizationPercentage"] = value.clone();
    }
    let conditions = take(object, "/status", "conditions");
    if items(&conditions).next().is_some() {
        let order = ["type", "status", "lastTransitionTime", "reason", "message"];
        let text =
            array(items(&conditions).map(|condition| members(condition, order.map(|name| (name, name)))));
        annotations.push((CONDITIONS, text));
    }
    let behavior = take(object, "/spec", "behavior");
    if behavior.is_object() {
        annotations.push((BEHAVIOR, behavior_text(&behavior)));
    }
    for (name, text) in annotations {
        object["metadata"]["annotations"][name] = json!(text);
    }
}

/// Turns an autoscaler of `v1` into one of `v2`. Annotations that cannot be read are dropped.
pub(super) fn to_v2(object: &mut Value) {
    let mut kept = |name: &str| -> Value {
        let text = take(object, "/metadata/annotations", name);
        text.as_str().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
    };
    let (metrics, current) = (kept(METRICS), kept(CURRENT_METRICS));
    let (conditions, behavior) = (kept(CONDITIONS), kept(BEHAVIOR));
    if object["metadata"]["annotations"].as_object().is_some_and(Map::is_empty) {
        take(object, "/metadata", "annotations");
    }
    let mut specs: Vec<Value> = items(&metrics).map(|metric| metric_v2(metric, "target")).collect();
    let cpu = take(object, "/spec", "targetCPUUtilizationPercentage");
    if !cpu.is_null() {
        let target = json!({"type": "Utilization", "averageUtilization": cpu});
        specs.insert(0, json!({"type": "Resource", "resource": {"name": "cpu", "target": target}}));
    }
    if !specs.is_empty() {
        object["spec"]["metrics"] = json!(specs);
    }
    let cpu = take(object, "/status", "currentCPUUtilizationPercentage");
    let mut seen: Vec<Value> = items(&current).map(|metric| metric_v2(metric, "current")).collect();
    if !cpu.is_null() && seen.is_empty() {
        let current = json!({"averageUtilization": cpu});
        seen.push(json!({"type": "Resource", "resource": {"name": "cpu", "current": current}}));
    }
    if !seen.is_empty() {
        object["status"]["currentMetrics"] = json!(seen);
    }
    if conditions.is_array() {
        object["status"]["conditions"] = conditions;
    }
    if behavior.is_object() {
        object["spec"]["behavior"] = behavior_v2(behavior);
    }
}

fn is_cpu_utilization(metric: &Value) -> bool {
    let resource = &metric["resource"];
    metric["type"] == "Resource"
        && resource["name"] == "cpu"
        && !resource["target"]["averageUtilization"].is_null()
}

/// Sources of metrics by type, with the names of their members in `v1` and where `v2` has them; `@` stands for
/// `target` or `current`.
const SOURCES: [(&str, &[(&str, &str)]); 5] = [
    (
        "object",
        &[
            ("target", "/describedObject"),
            ("metricName", "/metric/name"),
            ("@Value", "/@/value"),
            ("selector", "/metric/selector"),
            ("averageValue", "/@/averageValue"),
        ],
    ),
    (
        "pods",
        &[
            ("metricName", "/metric/name"),
            ("@AverageValue", "/@/averageValue"),
            ("selector", "/metric/selector"),
        ],
    ),
    (
        "resource",
        &[
            ("name", "/name"),
            ("@AverageUtilization", "/@/averageUtilization"),
            ("@AverageValue", "/@/averageValue"),
        ],
    ),
    (
        "containerResource",
        &[
            ("name", "/name"),
            ("@AverageUtilization", "/@/averageUtilization"),
            ("@AverageValue", "/@/averageValue"),
            ("container", "/container"),
        ],
    ),
    (
        "external",
        &[
            ("metricName", "/metric/name"),
            ("metricSelector", "/metric/selector"),
            ("@Value", "/@/value"),
            ("@AverageValue", "/@/averageValue"),
        ],
    ),
];

/// The text of a metric (`part` is `target`) or of its state (`current`) as `v1` has it.
fn metric_v1(metric: &Value, part: &str) -> String {
    let mut text = vec![("type", metric["type"].to_string())];
    for (source, fields) in SOURCES {
        let Some(given) = metric.get(source).filter(|given| given.is_object()) else { continue };
        let fields = fields.iter().filter_map(|(old, new)| {
            let value = given.pointer(&new.replace('@', part)).filter(|value| !value.is_null())?;
            Some((old.replace('@', part), value.to_string()))
        });
        text.push((source, braces(fields)));
    }
    braces(text)
}

fn metric_v2(metric: &Value, part: &str) -> Value {
    let mut new = json!({"type": metric["type"]});
    for (source, fields) in SOURCES {
        let Some(given) = metric.get(source).filter(|given| given.is_object()) else { continue };
        for (old, place) in fields {
            let Some(value) = given.get(old.replace('@', part)) else { continue };
            let place = place.replace('@', part);
            let at = place.split('/').skip(1).fold(&mut new[source], |at, name| &mut at[name]);
            *at = value.clone();
        }
        if part == "target" {
            let target = &mut new[source]["target"];
            let kinds =
                [("averageUtilization", "Utilization"), ("averageValue", "AverageValue"), ("value", "Value")];
            let kind = kinds.iter().find(|(field, _)| !target[*field].is_null()).map(|(_, kind)| *kind);
            if let Some(kind) = kind {
                target["type"] = json!(kind);
            }
            if let Some(target) = target.as_object_mut() {
                target.retain(|_, value| !value.is_null());
            }
        }
    }
    new
}

/// The rules of scaling, in the names and the order of the fields inside the server.
const RULES: [(&str, &str); 4] = [
    ("StabilizationWindowSeconds", "stabilizationWindowSeconds"),
    ("SelectPolicy", "selectPolicy"),
    ("Policies", "policies"),
    ("Tolerance", "tolerance"),
];
const POLICY: [(&str, &str); 3] = [("Type", "type"), ("Value", "value"), ("PeriodSeconds", "periodSeconds")];

fn behavior_text(behavior: &Value) -> String {
    let rules = |rules: &Value| {
        if rules.is_null() {
            return "null".to_owned();
        }
        braces(RULES.map(|(inner, name)| {
            let value = &rules[name];
            let text = match value.as_array() {
                Some(policies) => array(policies.iter().map(|policy| members(policy, POLICY))),
                None => value.to_string(),
            };
            (inner, text)
        }))
    };
    braces([("ScaleUp", rules(&behavior["scaleUp"])), ("ScaleDown", rules(&behavior["scaleDown"]))])
}

fn behavior_v2(mut behavior: Value) -> Value {
    let mut new = json!({});
    for (inner, name) in [("ScaleUp", "scaleUp"), ("ScaleDown", "scaleDown")] {
        let mut rules = renamed(&mut behavior[inner], &RULES);
        if let Some(policies) = rules.get_mut("policies").and_then(Value::as_array_mut) {
            policies.iter_mut().for_each(|policy| *policy = renamed(policy, &POLICY));
        }
        if rules.as_object().is_some_and(|rules| !rules.is_empty()) {
            new[name] = rules;
        }
    }
    new
}

fn renamed(object: &mut Value, names: &[(&str, &str)]) -> Value {
    let members = names.iter().map(|(inner, name)| ((*name).to_owned(), object[*inner].take()));
    Value::Object(members.filter(|(_, value)| !value.is_null()).collect())
}

/// Takes a member out of the object at a pointer; null if there is none.
fn take(object: &mut Value, pointer: &str, member: &str) -> Value {
    let at = object.pointer_mut(pointer).and_then(Value::as_object_mut);
    at.and_then(|members| members.remove(member)).unwrap_or_default()
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

/// JSON text of members in a given order, which is that of the fields of Go's types.
fn braces<N: AsRef<str>>(members: impl IntoIterator<Item = (N, String)>) -> String {
    let members = members.into_iter().map(|(name, text)| format!("\"{}\":{text}", name.as_ref()));
    format!("{{{}}}", members.collect::<Vec<_>>().join(","))
}

fn members<const N: usize>(object: &Value, names: [(&str, &str); N]) -> String {
    braces(names.iter().filter_map(|(shown, name)| Some((*shown, object.get(name)?.to_string()))))
}

fn array(items: impl Iterator<Item = String>) -> String {
    format!("[{}]", items.collect::<Vec<_>>().join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_v1_cannot_say_survives_in_annotations() {
        let before = json!({
            "metadata": {"name": "a"},
            "spec": {
                "metrics": [
                    {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 70}}},
                    {"type": "Pods", "pods": {
                        "metric": {"name": "rps", "selector": {"matchLabels": {"a": "b"}}},
                        "target": {"type": "AverageValue", "averageValue": "10"},
                    }},
                    {"type": "Object", "object": {
                        "describedObject": {"kind": "Service", "name": "s", "apiVersion": "v1"},
                        "metric": {"name": "q"}, "target": {"type": "Value", "value": "3"},
                    }},
                ],
                "behavior": {"scaleDown": {"selectPolicy": "Max", "policies": [{"type": "Pods", "value": 1, "periodSeconds": 9}]}},
            },
            "status": {"conditions": [{"type": "AbleToScale", "status": "True"}]},
        });
        let mut object = before.clone();
        to_v1(&mut object);
        assert_eq!(object["spec"], json!({"targetCPUUtilizationPercentage": 70}));
        assert_eq!(object["status"], json!({}));
        to_v2(&mut object);
        assert_eq!(object, before);
    }
}
