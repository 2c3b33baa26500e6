//! The cells of Pods: what its containers make of it.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::age;
use super::cells::{NONE, text};

fn statuses<'a>(pod: &'a Value, field: &str) -> Vec<&'a Value> {
    pod["status"][field].as_array().into_iter().flatten().collect()
}

fn ready_condition(pod: &Value) -> bool {
    let conditions = pod["status"]["conditions"].as_array().into_iter().flatten();
    conditions.into_iter().any(|condition| condition["type"] == "Ready" && condition["status"] == "True")
}

/// Why a container that ended did.
fn ended(terminated: &Value) -> String {
    let why = text(&terminated["reason"], "");
    match (why.is_empty(), terminated["signal"].as_i64().unwrap_or(0)) {
        (false, _) => why,
        (true, 0) => format!("ExitCode:{}", terminated["exitCode"].as_i64().unwrap_or(0)),
        (true, signal) => format!("Signal:{signal}"),
    }
}

/// Ready containers of all.
pub(super) fn ready(pod: &Value, _: Timestamp) -> Value {
    let ready = statuses(pod, "containerStatuses").iter().filter(|status| status["ready"] == true).count();
    let all = pod["spec"]["containers"].as_array().map_or(0, Vec::len);
    json!(format!("{ready}/{all}"))
}

/// The word for the state of a Pod.
pub(super) fn status(pod: &Value, _: Timestamp) -> Value {
    let phase = text(&pod["status"]["phase"], "");
    let mut shown = text(&pod["status"]["reason"], &phase);
    let gated = pod["status"]["conditions"].as_array().into_iter().flatten();
    if gated.into_iter().any(|one| one["type"] == "PodScheduled" && one["reason"] == "SchedulingGated") {
        shown = "SchedulingGated".into();
    }
    match initializing(pod) {
        Some(state) => shown = state,
        None => shown = running(pod, shown),
    }
    let terminal = matches!(phase.as_str(), "Succeeded" | "Failed");
    if !pod["metadata"]["deletionTimestamp"].is_null() && !terminal {
        shown = if pod["status"]["reason"] == "NodeLost" { "Unknown".into() } else { "Terminating".into() };
    }
    json!(shown)
}

/// The first init container that is not done, if there is one.
fn initializing(pod: &Value) -> Option<String> {
    let all = pod["spec"]["initContainers"].as_array().map_or(0, Vec::len);
    for (index, status) in statuses(pod, "initContainerStatuses").into_iter().enumerate() {
        let (terminated, waiting) = (&status["state"]["terminated"], &status["state"]["waiting"]);
        if terminated["exitCode"] == 0 || status["started"] == true {
            continue;
        }
        let why = text(&waiting["reason"], "");
        return Some(if !terminated.is_null() {
            format!("Init:{}", ended(terminated))
        } else if !why.is_empty() && why != "PodInitializing" {
            format!("Init:{why}")
        } else {
            format!("Init:{index}/{all}")
        });
    }
    None
}

fn running(pod: &Value, mut shown: String) -> String {
    let mut runs = false;
    // The first container has the last word.
    for status in statuses(pod, "containerStatuses").into_iter().rev() {
        let state = &status["state"];
        let why = text(&state["waiting"]["reason"], "");
        if !why.is_empty() {
            shown = why;
        } else if !state["terminated"].is_null() {
            shown = ended(&state["terminated"]);
        } else if status["ready"] == true && !state["running"].is_null() {
            runs = true;
        }
    }
    match shown == "Completed" && runs {
        true if ready_condition(pod) => "Running".into(),
        true => "NotReady".into(),
        false => shown,
    }
}

/// How often containers were restarted, and when last.
pub(super) fn restarts(pod: &Value, now: Timestamp) -> Value {
    let all = statuses(pod, "containerStatuses");
    let count: i64 = all.iter().map(|status| status["restartCount"].as_i64().unwrap_or(0)).sum();
    let last = all.iter().filter_map(|status| status.pointer("/lastState/terminated/finishedAt"));
    // Times of one form sort as text.
    let last = last.max_by_key(|time| time.as_str().unwrap_or_default().to_owned());
    json!(match last {
        Some(last) if count > 0 => format!("{count} ({} ago)", age::since(last, now)),
        _ => count.to_string(),
    })
}

/// Its address.
pub(super) fn ip(pod: &Value, _: Timestamp) -> Value {
    let first = pod["status"]["podIPs"].as_array().and_then(|all| all.first()).map(|one| &one["ip"]);
    json!(text(first.unwrap_or(&pod["status"]["podIP"]), NONE))
}

/// Readiness gates that are open.
pub(super) fn gates(pod: &Value, _: Timestamp) -> Value {
    let gates: Vec<&Value> = pod["spec"]["readinessGates"].as_array().into_iter().flatten().collect();
    let open = |gate: &&&Value| {
        let conditions = pod["status"]["conditions"].as_array().into_iter().flatten();
        conditions.into_iter().any(|one| one["type"] == gate["conditionType"] && one["status"] == "True")
    };
    json!(match gates.len() {
        0 => NONE.to_owned(),
        all => format!("{}/{all}", gates.iter().filter(open).count()),
    })
}
