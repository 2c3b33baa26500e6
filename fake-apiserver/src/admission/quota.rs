//! ResourceQuotas: how much a namespace may hold (`plugin/pkg/admission/resourcequota`).
//!
//! What is used is read from the status of the quota and added to there. Nobody takes away from it when objects go, nor
//! fills in the status of a new quota: that is the work of a controller, which this cluster does not have.

use serde_json::{Value, json};

use super::Change;
use crate::resources::{Amounts, add, amounts, of_pod};
use crate::schema::builtin::quantity::{nanos, of_nanos};
use crate::state::{Call, State};
use crate::status::{Answer, Status};

const QUOTAS: &str = "resourcequotas";

/// Kinds that count under their own name, beside `count/`.
const COUNTED: &[&str] = &[
    "configmaps",
    "persistentvolumeclaims",
    "pods",
    "replicationcontrollers",
    "resourcequotas",
    "secrets",
    "services",
];

/// Refuses what a quota of the namespace has no room for; otherwise it counts as used.
pub(super) fn charge(state: &mut State, call: &Call, change: Change<'_>) -> Answer<()> {
    let Some(object) = change.object.filter(|_| call.subresource.is_empty()) else { return Ok(()) };
    let (new, old) = (usage(call, object), change.old.map(|old| usage(call, old)).unwrap_or_default());
    let mut charged = Vec::new();
    for (key, quota) in &state.storage.objects(QUOTAS) {
        let here = quota.metadata()["namespace"] == call.namespace.as_str();
        if !here || !in_scopes(&quota.value["spec"], call, object) {
            continue;
        }
        let quota = &quota.value;
        let relevant = |all: &Amounts| -> Amounts {
            let hard = quota["spec"]["hard"].as_object();
            let limited = |name: &String| hard.is_some_and(|hard| hard.contains_key(name));
            all.iter()
                .filter(|(name, _)| limited(name))
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect()
        };
        let name = quota["metadata"]["name"].as_str().unwrap_or_default();
        let refuse = |why: String| Status::forbidden(&call.resource().name(), &call.name, &why);
        if change.old.is_none() {
            let missing = unspecified(call, object, &quota["spec"]["hard"]);
            if !missing.is_empty() {
                return Err(refuse(format!("failed quota: {name}: must specify {}", missing.join("; "))));
            }
        }
        let requested = growth(&relevant(&new), &old);
        if requested.is_empty() {
            continue;
        }
        let (hard, used) = (amounts(&quota["status"]["hard"]), amounts(&quota["status"]["used"]));
        let known = |name: &&String| hard.contains_key(*name) && used.contains_key(*name);
        let unknown: Vec<_> = requested.keys().filter(|name| !known(name)).cloned().collect();
        if !unknown.is_empty() {
            return Err(refuse(format!(
                "status unknown for quota: {name}, resources: {}",
                unknown.join(",")
            )));
        }
        let mut total = used.clone();
        add(&mut total, &requested);
        let over = |name: &&String| nanos(&total[*name]) > nanos(&hard[*name]);
        let exceeded: Vec<_> = requested.keys().filter(over).collect();
        if !exceeded.is_empty() {
            let list = |of: &Amounts| {
                let pairs = exceeded.iter().map(|name| format!("{name}={}", of[*name]));
                pairs.collect::<Vec<_>>().join(",")
            };
            return Err(refuse(format!(
                "exceeded quota: {name}, requested: {}, used: {}, limited: {}",
                list(&requested),
                list(&used),
                list(&hard)
            )));
        }
        let mut quota = (**quota).clone();
        quota["status"]["used"] = json!(total);
        charged.push((key.clone(), quota));
    }
    if !call.options.dry_run {
        let id = QUOTAS.into();
        for (key, quota) in charged {
            state.storage.put(&id, &key, quota);
        }
    }
    Ok(())
}

/// What an object takes, under all the names a quota may use.
fn usage(call: &Call, object: &Value) -> Amounts {
    let resource = call.resource();
    let mut usage = Amounts::new();
    let mut count = |name: &str, number: usize| usage.insert(name.to_owned(), number.to_string());
    let plural = &resource.plural;
    count(&format!("count/{}", resource.id), 1);
    if resource.group.is_empty() && COUNTED.contains(&plural.as_str()) {
        count(plural, 1);
    }
    let spec = &object["spec"];
    match &*resource.id {
        "services" => {
            let ports = spec["ports"].as_array().map_or(0, Vec::len);
            let balanced = spec["type"] == "LoadBalancer";
            let open = balanced && spec["allocateLoadBalancerNodePorts"] != false;
            count("services.nodeports", if open || spec["type"] == "NodePort" { ports } else { 0 });
            count("services.loadbalancers", balanced.into());
        }
        "persistentvolumeclaims" => {
            let storage = amounts(&spec["resources"]["requests"]);
            if let Some(storage) = storage.get("storage") {
                usage.insert("requests.storage".into(), storage.clone());
            }
        }
        // Pods that have ended take nothing.
        "pods" if !matches!(object["status"]["phase"].as_str(), Some("Succeeded" | "Failed")) => {
            for (name, amount) in of_pod(object, "requests") {
                usage.insert(format!("requests.{name}"), amount.clone());
                usage.insert(name, amount);
            }
            let limits = of_pod(object, "limits").into_iter();
            usage.extend(limits.map(|(name, amount)| (format!("limits.{name}"), amount)));
        }
        "pods" => usage.clear(),
        _ => {}
    }
    usage
}

/// How much more is taken than before.
fn growth(new: &Amounts, old: &Amounts) -> Amounts {
    let more = |(name, value): (&String, &String)| {
        let before = old.get(name).and_then(|value| nanos(value)).unwrap_or(0);
        let rise = nanos(value)?.checked_sub(before).filter(|rise| *rise > 0)?;
        Some((name.clone(), of_nanos(rise, value)))
    };
    new.iter().filter_map(more).collect()
}

/// Processor and memory that a quota limits must be told for every container: `limits.cpu for: main`.
fn unspecified(call: &Call, pod: &Value, hard: &Value) -> Vec<String> {
    if !call.resource().is("pods") {
        return Vec::new();
    }
    let mut missing = Vec::new();
    for name in hard.as_object().into_iter().flatten().map(|(name, _)| name) {
        let (list, short) = match name.split_once('.') {
            Some(("limits", short)) => ("limits", short),
            Some(("requests", short)) => ("requests", short),
            _ => ("requests", name.as_str()),
        };
        if !matches!(short, "cpu" | "memory") || amounts(&pod["spec"]["resources"][list]).contains_key(short)
        {
            continue;
        }
        let silent = ["initContainers", "containers"]
            .into_iter()
            .flat_map(|group| pod["spec"][group].as_array().into_iter().flatten())
            .filter(|container| container["resources"][list].get(short).is_none());
        let mut names: Vec<_> = silent.filter_map(|container| container["name"].as_str()).collect();
        names.sort_unstable();
        if !names.is_empty() {
            missing.push(format!("{name} for: {}", names.join(",")));
        }
    }
    missing
}

/// Whether a quota is about an object at all.
fn in_scopes(spec: &Value, call: &Call, object: &Value) -> bool {
    let scopes = spec["scopes"].as_array().into_iter().flatten();
    let pod = call.resource().is("pods");
    let mut all = scopes.filter_map(Value::as_str).map(|scope| {
        let deadline = !object["spec"]["activeDeadlineSeconds"].is_null();
        let best_effort = crate::resources::qos_class(object) == "BestEffort";
        pod && match scope {
            "Terminating" => deadline,
            "NotTerminating" => !deadline,
            "BestEffort" => best_effort,
            "NotBestEffort" => !best_effort,
            "PriorityClass" => object["spec"]["priorityClassName"].is_string(),
            _ => false,
        }
    });
    all.all(|holds| holds)
}
