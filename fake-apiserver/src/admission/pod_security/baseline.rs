//! The rules of the baseline level.

use serde_json::Value;

use super::standard::{Container, Pod, Violation, containers, items, plural, quoted, setters, sorted};

pub(super) fn app_armor(pod: &Pod<'_>, _: u32) -> Option<Violation> {
    let kind = |profile: &Value| profile["type"].as_str().map(str::to_owned);
    let bad = |profile: &Value| kind(profile).filter(|kind| kind != "RuntimeDefault" && kind != "Localhost");
    let own = bad(pod.security("appArmorProfile"));
    let names = pod.named(|container| bad(container.security("appArmorProfile")).is_some());
    let mut values: Vec<_> =
        pod.containers().filter_map(|container| bad(container.security("appArmorProfile"))).collect();
    values.extend(own.clone());
    let mut who = vec![setters(own.is_some(), &names)];
    let mut annotations = Vec::new();
    for (name, value) in pod.metadata["annotations"].as_object().into_iter().flatten() {
        let value = value.as_str().unwrap_or_default();
        let allowed = matches!(value, "" | "runtime/default") || value.starts_with("localhost/");
        if name.starts_with("container.apparmor.security.beta.kubernetes.io/") && !allowed {
            annotations.push(format!("{name}={value}"));
            values.push(value.to_owned());
        }
    }
    if !annotations.is_empty() {
        let word = plural("annotation", "annotations", annotations.len());
        who.push(format!("{word} {}", quoted(&annotations)));
    }
    who.retain(|who| !who.is_empty());
    let values = sorted(values);
    let reason = plural("forbidden AppArmor profile", "forbidden AppArmor profiles", values.len());
    let detail = format!("{} must not set AppArmor profile type to {}", who.join(" and "), quoted(&values));
    (!values.is_empty()).then(|| Violation::new(reason, detail))
}

/// Capabilities that container runtimes give by default.
const DEFAULT_CAPABILITIES: &[&str] = &[
    "AUDIT_WRITE",
    "CHOWN",
    "DAC_OVERRIDE",
    "FOWNER",
    "FSETID",
    "KILL",
    "MKNOD",
    "NET_BIND_SERVICE",
    "SETFCAP",
    "SETGID",
    "SETPCAP",
    "SETUID",
    "SYS_CHROOT",
];

/// Who adds capabilities beyond those allowed, and which.
pub(super) fn added<'a>(pod: &Pod<'a>, allowed: &[&str]) -> Option<(Vec<&'a str>, Vec<String>)> {
    let of = |container: &Container<'_>| -> Vec<String> {
        let all = items(&container.security("capabilities")["add"]).filter_map(Value::as_str);
        all.filter(|name| !allowed.contains(name)).map(str::to_owned).collect()
    };
    let names = pod.named(|container| !of(container).is_empty());
    let capabilities = sorted(pod.containers().flat_map(|container| of(&container)).collect());
    (!names.is_empty()).then_some((names, capabilities))
}

pub(super) fn capabilities(pod: &Pod<'_>, _: u32) -> Option<Violation> {
    let (names, capabilities) = added(pod, DEFAULT_CAPABILITIES)?;
    let detail = format!(
        "{} must not include {} in securityContext.capabilities.add",
        containers(&names),
        quoted(&capabilities)
    );
    Some(Violation::new("non-default capabilities", detail))
}

pub(super) fn host_namespaces(pod: &Pod<'_>, _: u32) -> Option<Violation> {
    let fields = ["hostNetwork", "hostPID", "hostIPC"].into_iter().filter(|field| pod.spec[*field] == true);
    let shared: Vec<_> = fields.map(|field| format!("{field}=true")).collect();
    (!shared.is_empty()).then(|| Violation::new("host namespaces", shared.join(", ")))
}

pub(super) fn host_path_volumes(pod: &Pod<'_>, _: u32) -> Option<Violation> {
    let volumes = items(&pod.spec["volumes"]).filter(|volume| !volume["hostPath"].is_null());
    let names: Vec<_> = volumes.filter_map(|volume| volume["name"].as_str()).collect();
    let detail = format!("{} {}", plural("volume", "volumes", names.len()), quoted(&names));
    (!names.is_empty()).then(|| Violation::new("hostPath volumes", detail))
}

pub(super) fn host_ports(pod: &Pod<'_>, _: u32) -> Option<Violation> {
    let of = |container: &Container<'_>| -> Vec<i64> {
        let ports = items(&container.value["ports"]).filter_map(|port| port["hostPort"].as_i64());
        ports.filter(|port| *port != 0).collect()
    };
    let names = pod.named(|container| !of(container).is_empty());
    let ports = pod.containers().flat_map(|container| of(&container));
    let ports = sorted(ports.map(|port| port.to_string()).collect());
    let word = plural("hostPort", "hostPorts", ports.len());
    let verb = plural("uses", "use", names.len());
    let detail = format!("{} {verb} {word} {}", containers(&names), ports.join(", "));
    (!names.is_empty()).then(|| Violation::new(word, detail))
}

/// Probes and lifecycle handlers reach other hosts in the name of the node.
pub(super) fn host_probes(pod: &Pod<'_>, _: u32) -> Option<Violation> {
    const HANDLERS: [&str; 5] =
        ["/livenessProbe", "/readinessProbe", "/startupProbe", "/lifecycle/postStart", "/lifecycle/preStop"];
    let of = |container: &Container<'_>| -> Vec<String> {
        let handlers = HANDLERS.iter().filter_map(|path| container.value.pointer(path));
        let hosts = handlers.flat_map(|handler| [&handler["httpGet"]["host"], &handler["tcpSocket"]["host"]]);
        hosts.filter_map(Value::as_str).filter(|host| !host.is_empty()).map(str::to_owned).collect()
    };
    let names = pod.named(|container| !of(container).is_empty());
    let hosts = sorted(pod.containers().flat_map(|container| of(&container)).collect());
    let word = plural("probe or lifecycle host", "probe or lifecycle hosts", hosts.len());
    let verb = plural("uses", "use", names.len());
    let detail = format!("{} {verb} {word} {}", containers(&names), quoted(&hosts));
    (!names.is_empty()).then(|| Violation::new("probe or lifecycle host", detail))
}

pub(super) fn privileged(pod: &Pod<'_>, _: u32) -> Option<Violation> {
    let names = pod.named(|container| *container.security("privileged") == true);
    let detail = format!("{} must not set securityContext.privileged=true", containers(&names));
    (!names.is_empty()).then(|| Violation::new("privileged", detail))
}

pub(super) fn proc_mount(pod: &Pod<'_>, minor: u32) -> Option<Violation> {
    // A Pod with users of its own sees no more than its own processes.
    if minor >= 35 && pod.spec["hostUsers"] == false {
        return None;
    }
    let of = |container: &Container<'_>| container.security("procMount").as_str().map(str::to_owned);
    let bad = |container: &Container<'_>| of(container).filter(|value| value != "Default");
    let names = pod.named(|container| bad(container).is_some());
    let values = sorted(pod.containers().filter_map(|container| bad(&container)).collect());
    let detail =
        format!("{} must not set securityContext.procMount to {}", containers(&names), quoted(&values));
    (!names.is_empty()).then(|| Violation::new("procMount", detail))
}

pub(super) fn se_linux(pod: &Pod<'_>, minor: u32) -> Option<Violation> {
    let text = |options: &Value, field: &str| options[field].as_str().unwrap_or_default().to_owned();
    let bad_type = |options: &Value| {
        let name = text(options, "type");
        let known = matches!(&*name, "" | "container_t" | "container_init_t" | "container_kvm_t")
            || (name == "container_engine_t" && minor >= 31);
        (!known).then_some(name)
    };
    let bad = |options: &Value| {
        bad_type(options).is_some() || !text(options, "user").is_empty() || !text(options, "role").is_empty()
    };
    let own = pod.security("seLinuxOptions");
    let names = pod.named(|container| bad(container.security("seLinuxOptions")));
    let all: Vec<Value> = std::iter::once(own.clone())
        .chain(pod.containers().map(|container| container.security("seLinuxOptions").clone()))
        .collect();
    let types = sorted(all.iter().filter_map(bad_type).collect());
    let mut wrong = Vec::new();
    if !types.is_empty() {
        wrong.push(format!("{} {}", plural("type", "types", types.len()), quoted(&types)));
    }
    for field in ["user", "role"] {
        if all.iter().any(|options| !text(options, field).is_empty()) {
            wrong.push(format!("{field} may not be set"));
        }
    }
    let who = setters(bad(own), &names);
    let detail = format!("{who} set forbidden securityContext.seLinuxOptions: {}", wrong.join("; "));
    (!wrong.is_empty()).then(|| Violation::new("seLinuxOptions", detail))
}

/// The type of a profile that is set and not allowed.
pub(super) fn unconfined(profile: &Value) -> Option<String> {
    let kind = profile["type"].as_str().filter(|kind| !matches!(*kind, "RuntimeDefault" | "Localhost"))?;
    Some(kind.to_owned())
}

pub(super) fn seccomp(pod: &Pod<'_>, _: u32) -> Option<Violation> {
    let own = unconfined(pod.security("seccompProfile"));
    let names = pod.named(|container| unconfined(container.security("seccompProfile")).is_some());
    let set = pod.containers().filter_map(|container| unconfined(container.security("seccompProfile")));
    let values = sorted(set.chain(own.clone()).collect());
    let who = setters(own.is_some(), &names);
    let detail = format!("{who} must not set securityContext.seccompProfile.type to {}", quoted(&values));
    (!values.is_empty()).then(|| Violation::new("seccompProfile", detail))
}

/// Kernel parameters that are the Pod's own, and from which minor version on they are allowed.
const SAFE_SYSCTLS: &[(&str, u32)] = &[
    ("kernel.shm_rmid_forced", 0),
    ("net.ipv4.ip_local_port_range", 0),
    ("net.ipv4.tcp_syncookies", 0),
    ("net.ipv4.ping_group_range", 0),
    ("net.ipv4.ip_unprivileged_port_start", 0),
    ("net.ipv4.ip_local_reserved_ports", 27),
    ("net.ipv4.tcp_keepalive_time", 29),
    ("net.ipv4.tcp_fin_timeout", 29),
    ("net.ipv4.tcp_keepalive_intvl", 29),
    ("net.ipv4.tcp_keepalive_probes", 29),
    ("net.ipv4.tcp_rmem", 32),
    ("net.ipv4.tcp_wmem", 32),
];

pub(super) fn sysctls(pod: &Pod<'_>, minor: u32) -> Option<Violation> {
    let safe = |name: &str| SAFE_SYSCTLS.iter().any(|(known, since)| *known == name && *since <= minor);
    let set = items(pod.security("sysctls")).filter_map(|sysctl| sysctl["name"].as_str());
    let names: Vec<_> = set.filter(|name| !safe(name)).collect();
    let reason = plural("forbidden sysctl", "forbidden sysctls", names.len());
    (!names.is_empty()).then(|| Violation::new(reason, names.join(", ")))
}

pub(super) fn windows_host_process(pod: &Pod<'_>, _: u32) -> Option<Violation> {
    let own = pod.security("windowsOptions")["hostProcess"] == true;
    let names = pod.named(|container| container.security("windowsOptions")["hostProcess"] == true);
    let detail =
        format!("{} must not set securityContext.windowsOptions.hostProcess=true", setters(own, &names));
    (own || !names.is_empty()).then(|| Violation::new("hostProcess", detail))
}
