//! What a server warns of although it does as asked: what will not do what its author thinks, and what is going away
//! (`pkg/api/pod/warnings.go`, `pkg/api/service/warnings.go` and their like).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

/// Labels of nodes that have another name now.
const NODE_LABELS: [(&str, &str, &str); 6] = [
    ("beta.kubernetes.io/arch", "kubernetes.io/arch", "1.14"),
    ("beta.kubernetes.io/os", "kubernetes.io/os", "1.14"),
    ("failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region", "1.17"),
    ("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone", "1.17"),
    ("beta.kubernetes.io/instance-type", "node.kubernetes.io/instance-type", "1.17"),
    ("kubernetes.io/node-role", "node-role.kubernetes.io", "1.16"),
];

/// Characters that the warnings of one answer have together; with more, each is cut.
const MOST_TOGETHER: usize = 4 * 1024;
/// Characters that a warning is cut to.
const CUT_TO: usize = 256;

/// What is sent of some warnings: each once, and only so much, since clients bound the headers that they read.
pub(crate) fn bounded(warnings: &[String]) -> Vec<String> {
    let mut told = BTreeSet::new();
    let mut warnings: Vec<String> =
        warnings.iter().filter(|text| told.insert(text.as_str())).cloned().collect();
    let length = |text: &String| text.chars().count();
    if warnings.iter().map(length).sum::<usize>() > MOST_TOGETHER {
        let mut sent = 0;
        warnings.retain_mut(|text| {
            let fits = sent < MOST_TOGETHER;
            *text = text.chars().take(CUT_TO).collect();
            sent += length(text);
            fits
        });
    }
    warnings
}

/// The warnings about an object of a kind, told by its storage name.
pub(crate) fn of(id: &str, object: &Value) -> Vec<String> {
    let mut warnings = Vec::new();
    match id {
        "pods" => pod(&mut warnings, &object["spec"], "spec"),
        "deployments.apps"
        | "daemonsets.apps"
        | "replicasets.apps"
        | "statefulsets.apps"
        | "jobs.batch"
        | "replicationcontrollers" => {
            pod(&mut warnings, &object["spec"]["template"]["spec"], "spec.template.spec");
        }
        "cronjobs.batch" => {
            let at = "spec.jobTemplate.spec.template.spec";
            pod(&mut warnings, &object["spec"]["jobTemplate"]["spec"]["template"]["spec"], at);
        }
        "services" if list(&object["spec"]["externalIPs"]).next().is_some() => {
            let text = "spec.externalIPs is deprecated and may no longer be implemented in some clusters";
            warnings.push(text.into());
        }
        "secrets" if object["type"] == "kubernetes.io/tls" && !holds_pem(&object["data"]["tls.crt"]) => {
            warnings.push("tls: failed to find any PEM data in certificate input".into());
        }
        _ => {}
    }
    warnings
}

/// Removes references to owners that are named already, and warns of them.
pub(crate) fn drop_repeated_owners(metadata: &mut Map<String, Value>) -> Option<String> {
    let owners = metadata.get_mut("ownerReferences")?.as_array_mut()?;
    let (mut seen, mut repeated) = (Vec::new(), Vec::new());
    owners.retain(|owner| {
        let again = seen.contains(owner);
        if again {
            repeated.push(owner["uid"].as_str().unwrap_or_default().to_owned());
        }
        seen.push(owner.clone());
        !again
    });
    repeated.dedup();
    (!repeated.is_empty()).then(|| {
        format!(
            ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and may \
             reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {}",
            repeated.join(", ")
        )
    })
}

fn pod(warnings: &mut Vec<String>, spec: &Value, at: &str) {
    for key in spec["nodeSelector"].as_object().into_iter().flat_map(Map::keys) {
        if let Some((_, new, since)) = NODE_LABELS.iter().find(|(old, ..)| old == key) {
            warnings
                .push(format!("{at}.nodeSelector[{key}]: deprecated since v{since}; use \"{new}\" instead"));
        }
    }
    for group in ["initContainers", "containers"] {
        for (index, container) in list(&spec[group]).enumerate() {
            self::container(warnings, container, &format!("{at}.{group}[{index}]"));
        }
    }
}

fn container(warnings: &mut Vec<String>, container: &Value, at: &str) {
    let mut names = Vec::new();
    for (index, variable) in list(&container["env"]).enumerate() {
        let name = &variable["name"];
        if names.contains(&name) {
            warnings.push(format!(
                "{at}.env[{index}]: hides previous definition of {name}, which may be dropped when using apply"
            ));
        }
        names.push(name);
    }
    let mut ports = BTreeMap::new();
    for (index, port) in list(&container["ports"]).enumerate() {
        let key =
            (port["containerPort"].to_string(), port["protocol"].to_string(), port["hostPort"].to_string());
        match ports.get(&key) {
            Some(first) => warnings
                .push(format!("{at}.ports[{index}]: duplicate port definition with {at}.ports[{first}]")),
            None => drop(ports.insert(key, index)),
        }
    }
}

fn holds_pem(data: &Value) -> bool {
    use base64::Engine;
    let data = base64::engine::general_purpose::STANDARD.decode(data.as_str().unwrap_or_default());
    data.is_ok_and(|data| String::from_utf8_lossy(&data).contains("-----BEGIN "))
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_variable_that_hides_another_is_told() {
        let container = json!({"name": "a", "env": [{"name": "A"}, {"name": "B"}, {"name": "A"}]});
        let pod = json!({"spec": {"containers": [container]}});
        let expected = "spec.containers[0].env[2]: hides previous definition of \"A\", which may be dropped when using apply";
        assert_eq!(of("pods", &pod), [expected]);
    }

    #[test]
    fn an_owner_named_twice_counts_once() {
        let owner = json!({"uid": "u", "name": "a"});
        let mut metadata = json!({"ownerReferences": [owner, owner]});
        let warning = drop_repeated_owners(metadata.as_object_mut().unwrap()).unwrap();
        assert!(warning.ends_with("duplicate UID(s) observed: u"), "{warning}");
        assert_eq!(metadata["ownerReferences"], json!([owner]));
        assert_eq!(drop_repeated_owners(metadata.as_object_mut().unwrap()), None);
    }
}
