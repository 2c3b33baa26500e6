//! The rules that the restricted level adds.

use serde_json::Value;

use super::baseline::{added, unconfined};
use super::standard::{Pod, Violation, containers, items, plural, quoted, setters, sorted};

/// From this minor version on, what only Linux has is not asked of Pods for Windows.
const WINDOWS_EXEMPT: u32 = 25;

fn exempt(pod: &Pod<'_>, minor: u32) -> bool {
    minor >= WINDOWS_EXEMPT && pod.is_windows()
}

pub(super) fn privilege_escalation(pod: &Pod<'_>, minor: u32) -> Option<Violation> {
    let names = pod.named(|container| *container.security("allowPrivilegeEscalation") != false);
    let detail = format!("{} must set securityContext.allowPrivilegeEscalation=false", containers(&names));
    (!names.is_empty() && !exempt(pod, minor))
        .then(|| Violation::new("allowPrivilegeEscalation != false", detail))
}

pub(super) fn capabilities(pod: &Pod<'_>, minor: u32) -> Option<Violation> {
    if exempt(pod, minor) {
        return None;
    }
    let keeping =
        pod.named(|container| !items(&container.security("capabilities")["drop"]).any(|name| name == "ALL"));
    let mut details = Vec::new();
    if !keeping.is_empty() {
        let who = containers(&keeping);
        details.push(format!("{who} must set securityContext.capabilities.drop=[\"ALL\"]"));
    }
    if let Some((names, capabilities)) = added(pod, &["NET_BIND_SERVICE"]) {
        let (who, what) = (containers(&names), quoted(&capabilities));
        details.push(format!("{who} must not include {what} in securityContext.capabilities.add"));
    }
    (!details.is_empty()).then(|| Violation::new("unrestricted capabilities", details.join("; ")))
}

const ALLOWED_VOLUMES: &[&str] = &[
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "image",
    "persistentVolumeClaim",
    "projected",
    "secret",
];

pub(super) fn volumes(pod: &Pod<'_>, _: u32) -> Option<Violation> {
    let mut names = Vec::new();
    let mut kinds = Vec::new();
    for volume in items(&pod.spec["volumes"]) {
        let kind = volume.as_object().into_iter().flatten().map(|(name, _)| name.as_str());
        let kind = kind.into_iter().find(|name| *name != "name").unwrap_or("unknown");
        if !ALLOWED_VOLUMES.contains(&kind) {
            names.push(volume["name"].as_str().unwrap_or_default());
            kinds.push(kind.to_owned());
        }
    }
    let kinds = sorted(kinds);
    let detail = format!(
        "{} {} {} {} {}",
        plural("volume", "volumes", names.len()),
        quoted(&names),
        plural("uses", "use", names.len()),
        plural("restricted volume type", "restricted volume types", kinds.len()),
        quoted(&kinds)
    );
    (!names.is_empty()).then(|| Violation::new("restricted volume types", detail))
}

pub(super) fn non_root(pod: &Pod<'_>, minor: u32) -> Option<Violation> {
    // Root inside a user namespace is nobody outside.
    if minor >= 35 && pod.spec["hostUsers"] == false {
        return None;
    }
    let own = pod.security("runAsNonRoot");
    let explicit = pod.named(|container| *container.security("runAsNonRoot") == false);
    let implicit = pod.named(|container| container.security("runAsNonRoot").is_null() && *own != true);
    let detail = if *own == false || !explicit.is_empty() {
        let who = setters(*own == false, &explicit);
        format!("{who} must not set securityContext.runAsNonRoot=false")
    } else if implicit.is_empty() {
        return None;
    } else {
        format!("pod or {} must set securityContext.runAsNonRoot=true", containers(&implicit))
    };
    Some(Violation::new("runAsNonRoot != true", detail))
}

pub(super) fn root_user(pod: &Pod<'_>, minor: u32) -> Option<Violation> {
    if minor >= 35 && pod.spec["hostUsers"] == false {
        return None;
    }
    let zero = |value: &Value| value.as_i64() == Some(0);
    let own = zero(pod.security("runAsUser"));
    let names = pod.named(|container| zero(container.security("runAsUser")));
    let detail = format!("{} must not set runAsUser=0", setters(own, &names));
    (own || !names.is_empty()).then(|| Violation::new("runAsUser=0", detail))
}

pub(super) fn seccomp(pod: &Pod<'_>, minor: u32) -> Option<Violation> {
    if exempt(pod, minor) {
        return None;
    }
    let own = pod.security("seccompProfile");
    let explicit = pod.named(|container| unconfined(container.security("seccompProfile")).is_some());
    let implicit = pod
        .named(|container| container.security("seccompProfile")["type"].is_null() && own["type"].is_null());
    let set = pod.containers().filter_map(|container| unconfined(container.security("seccompProfile")));
    let values = sorted(set.chain(unconfined(own)).collect());
    let detail = if !values.is_empty() {
        let who = setters(unconfined(own).is_some(), &explicit);
        format!("{who} must not set securityContext.seccompProfile.type to {}", quoted(&values))
    } else if implicit.is_empty() {
        return None;
    } else {
        let wanted = "must set securityContext.seccompProfile.type to \"RuntimeDefault\" or \"Localhost\"";
        format!("pod or {} {wanted}", containers(&implicit))
    };
    Some(Violation::new("seccompProfile", detail))
}
