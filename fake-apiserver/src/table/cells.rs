//! Cells that are the same for many kinds, and the few that take more than one field of one kind.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::age;

pub(super) const NONE: &str = "<none>";
const UNKNOWN: &str = "<unknown>";
pub(super) const UNSET: &str = "<unset>";

/// How many elements a cell shows before it only counts them.
const FEW: usize = 3;

pub(super) fn text(value: &Value, none: &str) -> String {
    match value {
        Value::Null => none.to_owned(),
        Value::String(text) if text.is_empty() => none.to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

pub(super) fn at<'a>(object: &'a Value, pointer: &str) -> &'a Value {
    object.pointer(pointer).unwrap_or(&Value::Null)
}

pub(super) fn number(object: &Value, pointer: &str) -> i64 {
    at(object, pointer).as_i64().unwrap_or(0)
}

pub(super) fn list<'a>(object: &'a Value, pointer: &str) -> impl Iterator<Item = &'a Value> {
    at(object, pointer).as_array().into_iter().flatten()
}

pub(super) fn size(value: &Value) -> usize {
    value.as_array().map(Vec::len).or(value.as_object().map(Map::len)).unwrap_or(0)
}

pub(super) fn or_none(text: String, none: &str) -> String {
    if text.is_empty() { none.to_owned() } else { text }
}

pub(super) fn each(items: &Value, field: &str, none: &str) -> String {
    let items = items.as_array().into_iter().flatten();
    let texts: Vec<String> = items.map(|item| text(at(item, field), "")).collect();
    or_none(texts.join(","), none)
}

pub(super) fn labels(map: &Value) -> String {
    let mut pairs: Vec<String> = map
        .as_object()
        .into_iter()
        .flatten()
        .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()))
        .collect();
    pairs.sort();
    or_none(pairs.join(","), NONE)
}

/// A LabelSelector as it would be written on a command line.
pub(super) fn selector(selector: &Value) -> String {
    let equal = selector["matchLabels"].as_object().into_iter().flatten();
    let mut parts: Vec<(String, String)> = equal
        .map(|(key, value)| (key.clone(), format!("{key}={}", value.as_str().unwrap_or_default())))
        .collect();
    for expression in list(selector, "/matchExpressions") {
        let key = text(&expression["key"], "");
        let values = each(&expression["values"], "", "");
        let shown = match expression["operator"].as_str().unwrap_or_default() {
            "In" => format!("{key} in ({values})"),
            "NotIn" => format!("{key} notin ({values})"),
            "DoesNotExist" => format!("!{key}"),
            _ => key.clone(),
        };
        parts.push((key, shown));
    }
    parts.sort();
    let parts: Vec<String> = parts.into_iter().map(|(_, shown)| shown).collect();
    or_none(parts.join(","), NONE)
}

/// The first few, and how many more there are.
pub(super) fn few(texts: &[String], separator: &str, none: &str) -> String {
    let shown = texts.get(..FEW).unwrap_or(texts).join(separator);
    match texts.len().saturating_sub(FEW) {
        0 => or_none(shown, none),
        more => format!("{shown} + {more} more..."),
    }
}

fn holds(object: &Value, kind: &str) -> bool {
    list(object, "/status/conditions")
        .any(|condition| condition["type"] == kind && condition["status"] == "True")
}

pub(super) fn job_status(job: &Value, _: Timestamp) -> Value {
    let holds = |kind: &str| holds(job, kind);
    json!(if holds("Complete") {
        "Complete"
    } else if holds("Failed") {
        "Failed"
    } else if !job["metadata"]["deletionTimestamp"].is_null() {
        "Terminating"
    } else if holds("Suspended") {
        "Suspended"
    } else if holds("FailureTarget") {
        "FailureTarget"
    } else if holds("SuccessCriteriaMet") {
        "SuccessCriteriaMet"
    } else {
        "Running"
    })
}

pub(super) fn job_completions(job: &Value, _: Timestamp) -> Value {
    let done = number(job, "/status/succeeded");
    json!(match (job["spec"]["completions"].as_i64(), number(job, "/spec/parallelism")) {
        (Some(wanted), _) => format!("{done}/{wanted}"),
        (None, parallel) if parallel > 1 => format!("{done}/1 of {parallel}"),
        (None, _) => format!("{done}/1"),
    })
}

pub(super) fn job_duration(job: &Value, now: Timestamp) -> Value {
    let time = |pointer: &str| at(job, pointer).as_str().and_then(|text| text.parse().ok());
    let Some(start) = time("/status/startTime") else { return json!("") };
    let failed =
        list(job, "/status/conditions").find(|one| one["type"] == "Failed" && one["status"] == "True");
    let failed = failed.and_then(|one| one["lastTransitionTime"].as_str()?.parse().ok());
    json!(age::between(start, time("/status/completionTime").or(failed).unwrap_or(now)))
}

pub(super) fn cron_suspend(job: &Value, _: Timestamp) -> Value {
    json!(match job["spec"]["suspend"].as_bool() {
        Some(true) => "True",
        Some(false) => "False",
        None => UNSET,
    })
}

pub(super) fn cron_last(job: &Value, now: Timestamp) -> Value {
    let last = at(job, "/status/lastScheduleTime");
    json!(if last.is_null() { NONE.to_owned() } else { age::since(last, now) })
}

pub(super) fn node_status(node: &Value, _: Timestamp) -> Value {
    let ready = list(node, "/status/conditions").find(|condition| condition["type"] == "Ready");
    let mut shown = vec![match ready {
        Some(ready) if ready["status"] == "True" => "Ready",
        Some(_) => "NotReady",
        None => "Unknown",
    }];
    if node["spec"]["unschedulable"] == true {
        shown.push("SchedulingDisabled");
    }
    json!(shown.join(","))
}

pub(super) fn node_roles(node: &Value, _: Timestamp) -> Value {
    let labels = node["metadata"]["labels"].as_object().into_iter().flatten();
    let mut roles: Vec<String> = labels
        .filter_map(|(key, value)| match key.strip_prefix("node-role.kubernetes.io/") {
            None if key == "kubernetes.io/role" => value.as_str().map(str::to_owned),
            role => role.map(str::to_owned),
        })
        .filter(|role| !role.is_empty())
        .collect();
    roles.sort();
    roles.dedup();
    json!(or_none(roles.join(","), NONE))
}

fn node_address(node: &Value, kind: &str) -> Value {
    let found = list(node, "/status/addresses").find(|address| address["type"] == kind);
    json!(text(found.map_or(&Value::Null, |address| &address["address"]), NONE))
}

pub(super) fn node_internal_ip(node: &Value, _: Timestamp) -> Value {
    node_address(node, "InternalIP")
}

pub(super) fn node_external_ip(node: &Value, _: Timestamp) -> Value {
    node_address(node, "ExternalIP")
}

pub(super) fn role_ref(binding: &Value, _: Timestamp) -> Value {
    let role = &binding["roleRef"];
    json!(format!("{}/{}", text(&role["kind"], ""), text(&role["name"], "")))
}

fn subjects(binding: &Value, kind: &str) -> Value {
    let names = list(binding, "/subjects").filter(|subject| subject["kind"] == kind).map(|subject| {
        let name = text(&subject["name"], "");
        match subject["namespace"].as_str().filter(|_| kind == "ServiceAccount") {
            Some(namespace) => format!("{namespace}/{name}"),
            None => name,
        }
    });
    json!(names.collect::<Vec<_>>().join(", "))
}

pub(super) fn users(binding: &Value, _: Timestamp) -> Value {
    subjects(binding, "User")
}

pub(super) fn groups(binding: &Value, _: Timestamp) -> Value {
    subjects(binding, "Group")
}

pub(super) fn service_accounts(binding: &Value, _: Timestamp) -> Value {
    subjects(binding, "ServiceAccount")
}

pub(super) fn scale_target(autoscaler: &Value, _: Timestamp) -> Value {
    let target = &autoscaler["spec"]["scaleTargetRef"];
    json!(format!("{}/{}", text(&target["kind"], ""), text(&target["name"], "")))
}

pub(super) fn scale_metrics(autoscaler: &Value, _: Timestamp) -> Value {
    let statuses: Vec<&Value> = list(autoscaler, "/status/currentMetrics").collect();
    let metrics = list(autoscaler, "/spec/metrics").enumerate().map(|(index, metric)| {
        let kind = text(&metric["type"], "");
        let field = format!(
            "{}{}",
            kind.get(..1).unwrap_or_default().to_lowercase(),
            kind.get(1..).unwrap_or_default()
        );
        let current = statuses.get(index).map_or(&Value::Null, |status| &status[field.as_str()]["current"]);
        let target = &metric[field.as_str()]["target"];
        let show = |value: &Value, unknown: &str| match value["averageUtilization"].as_i64() {
            Some(percent) => format!("{percent}%"),
            None => text(&value["averageValue"], &text(&value["value"], unknown)),
        };
        let prefix = match metric[field.as_str()]["name"].as_str() {
            Some(name) => format!("{name}: "),
            None => String::new(),
        };
        format!("{prefix}{}/{}", show(current, UNKNOWN), show(target, "<auto>"))
    });
    let metrics: Vec<String> = metrics.collect();
    json!(match metrics.len() {
        0 => NONE.to_owned(),
        count if count > 2 => format!("{} + {} more...", metrics[..2].join(", "), count - 2),
        _ => metrics.join(", "),
    })
}

pub(super) fn api_service_target(service: &Value, _: Timestamp) -> Value {
    let target = &service["spec"]["service"];
    json!(match target.is_null() {
        true => "Local".to_owned(),
        false => format!("{}/{}", text(&target["namespace"], ""), text(&target["name"], "")),
    })
}

pub(super) fn api_service_available(service: &Value, _: Timestamp) -> Value {
    let found = list(service, "/status/conditions").find(|condition| condition["type"] == "Available");
    json!(match found {
        None => "Unknown".to_owned(),
        Some(condition) if condition["status"] == "True" => "True".to_owned(),
        Some(condition) => format!("{} ({})", text(&condition["status"], ""), text(&condition["reason"], "")),
    })
}

fn access_modes(modes: &Value) -> String {
    let modes = modes.as_array().into_iter().flatten().map(|mode| match mode.as_str().unwrap_or_default() {
        "ReadWriteOnce" => "RWO",
        "ReadOnlyMany" => "ROX",
        "ReadWriteMany" => "RWX",
        "ReadWriteOncePod" => "RWOP",
        _ => "",
    });
    modes.filter(|mode| !mode.is_empty()).collect::<Vec<_>>().join(",")
}

pub(super) fn volume_modes(volume: &Value, _: Timestamp) -> Value {
    json!(access_modes(&volume["spec"]["accessModes"]))
}

/// Only what is bound has modes and a size.
pub(super) fn claim_modes(claim: &Value, _: Timestamp) -> Value {
    json!(access_modes(&claim["status"]["accessModes"]))
}

/// A claim or volume that is being deleted says so.
pub(super) fn storage_phase(object: &Value, _: Timestamp) -> Value {
    let going = !object["metadata"]["deletionTimestamp"].is_null();
    json!(if going { "Terminating".to_owned() } else { text(&object["status"]["phase"], "") })
}

pub(super) fn volume_claim(volume: &Value, _: Timestamp) -> Value {
    let claim = &volume["spec"]["claimRef"];
    json!(match claim.is_null() {
        true => String::new(),
        false => format!("{}/{}", text(&claim["namespace"], ""), text(&claim["name"], "")),
    })
}

pub(super) fn storage_class_name(class: &Value, _: Timestamp) -> Value {
    let default = class["metadata"]["annotations"]["storageclass.kubernetes.io/is-default-class"] == "true";
    json!(format!("{}{}", text(&class["metadata"]["name"], ""), if default { " (default)" } else { "" }))
}

fn quota(quota: &Value, limits: bool) -> Value {
    let hard = at(quota, "/status/hard").as_object().into_iter().flatten();
    let shown = hard.filter(|(name, _)| name.starts_with("limits") == limits).map(|(name, hard)| {
        format!("{name}: {}/{}", text(&quota["status"]["used"][name.as_str()], "0"), text(hard, ""))
    });
    let mut shown: Vec<String> = shown.collect();
    shown.sort();
    json!(shown.join(", "))
}

pub(super) fn quota_requests(object: &Value, _: Timestamp) -> Value {
    quota(object, false)
}

pub(super) fn quota_limits(object: &Value, _: Timestamp) -> Value {
    quota(object, true)
}

pub(super) fn controller_of(object: &Value, _: Timestamp) -> Value {
    let owner = list(object, "/metadata/ownerReferences").find(|owner| owner["controller"] == true);
    let Some(owner) = owner else { return json!(NONE) };
    let (group, _) =
        owner["apiVersion"].as_str().and_then(|version| version.split_once('/')).unwrap_or_default();
    let dot = if group.is_empty() { "" } else { "." };
    json!(format!("{}{dot}{group}/{}", text(&owner["kind"], "").to_lowercase(), text(&owner["name"], "")))
}

pub(super) fn param_kind(policy: &Value, _: Timestamp) -> Value {
    let kind = &policy["spec"]["paramKind"];
    json!(match kind.is_null() {
        true => UNSET.to_owned(),
        false => format!("{}/{}", text(&kind["apiVersion"], ""), text(&kind["kind"], "")),
    })
}

pub(super) fn param_ref(binding: &Value, _: Timestamp) -> Value {
    let param = &binding["spec"]["paramRef"];
    json!(match (param["name"].as_str(), param["namespace"].as_str()) {
        _ if param.is_null() => UNSET.to_owned(),
        (Some(name), Some(namespace)) => format!("{namespace}/{name}"),
        (Some(name), None) => format!("*/{name}"),
        (None, _) => selector(&param["selector"]),
    })
}

pub(super) fn request_condition(request: &Value, _: Timestamp) -> Value {
    let holds = |kind: &str| list(request, "/status/conditions").any(|condition| condition["type"] == kind);
    let mut shown = if holds("Denied") {
        "Denied".to_owned()
    } else if holds("Approved") {
        "Approved".to_owned()
    } else {
        "Pending".to_owned()
    };
    if holds("Failed") {
        shown.push_str(",Failed");
    }
    if !at(request, "/status/certificate").is_null() {
        shown.push_str(",Issued");
    }
    json!(shown)
}

pub(super) fn request_duration(request: &Value, _: Timestamp) -> Value {
    let seconds = request["spec"]["expirationSeconds"].as_i64();
    let end = seconds.and_then(|seconds| Timestamp::from_second(seconds).ok());
    json!(end.map_or_else(|| NONE.to_owned(), |end| age::between(Timestamp::UNIX_EPOCH, end)))
}
