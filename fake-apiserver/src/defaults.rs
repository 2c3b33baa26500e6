//! Defaults of built-in kinds: the values a real server fills in, for the kinds an operator meets
//! (`pkg/apis/*/v*/defaults.go` of Kubernetes).

use serde_json::{Value, json};

use crate::resources;

/// Fills in the defaults of a kind, told by its storage name.
pub(crate) fn fill(id: &str, object: &mut Value) {
    match id {
        "deployments.apps" => deployment(object),
        "statefulsets.apps" => stateful_set(object),
        "daemonsets.apps" => daemon_set(object),
        "replicasets.apps" => {
            set(object, "spec.replicas", json!(1));
            pod_template(&mut object["spec"]["template"]);
        }
        "jobs.batch" => job(&mut object["spec"]),
        "cronjobs.batch" => cron_job(object),
        "pods" => pod(object),
        "limitranges" => resources::complete_limits(object),
        "services" => service(&mut object["spec"]),
        "configmaps" => drop_empty(object, &["data", "binaryData"]),
        "secrets" => {
            secret(object);
            drop_empty(object, &["data"]);
        }
        "events" => event(object),
        "namespaces" => {
            let name = object["metadata"]["name"].clone();
            object["metadata"]["labels"]["kubernetes.io/metadata.name"] = name;
        }
        "persistentvolumeclaims" => {
            set(object, "metadata.finalizers", json!(["kubernetes.io/pvc-protection"]))
        }
        "horizontalpodautoscalers.autoscaling" => autoscaler(object),
        "validatingwebhookconfigurations.admissionregistration.k8s.io" => webhooks(object, false),
        "mutatingwebhookconfigurations.admissionregistration.k8s.io" => webhooks(object, true),
        "customresourcedefinitions.apiextensions.k8s.io" => definition(object),
        "validatingadmissionpolicies.admissionregistration.k8s.io" => {
            set(object, "spec.failurePolicy", json!("Fail"));
            if let Some(constraints) = object.pointer_mut("/spec/matchConstraints") {
                match_resources(constraints);
            }
        }
        "validatingadmissionpolicybindings.admissionregistration.k8s.io" => {
            if let Some(within) = object.pointer_mut("/spec/matchResources") {
                match_resources(within);
            }
        }
        // A typed round trip turns an empty list of rules into null.
        "roles.rbac.authorization.k8s.io" | "clusterroles.rbac.authorization.k8s.io"
            if object["rules"].as_array().is_none_or(Vec::is_empty) =>
        {
            object["rules"] = Value::Null;
        }
        "rolebindings.rbac.authorization.k8s.io" | "clusterrolebindings.rbac.authorization.k8s.io" => {
            set(object, "roleRef.apiGroup", json!("rbac.authorization.k8s.io"));
            for subject in items(&mut object["subjects"]) {
                if subject["kind"] == "User" || subject["kind"] == "Group" {
                    set(subject, "apiGroup", json!("rbac.authorization.k8s.io"));
                }
            }
        }
        "storageclasses.storage.k8s.io" => {
            set(object, "reclaimPolicy", json!("Delete"));
            set(object, "volumeBindingMode", json!("Immediate"));
        }
        "networkpolicies.networking.k8s.io" => {
            let egress = !object["spec"]["egress"].is_null();
            let types = if egress { json!(["Ingress", "Egress"]) } else { json!(["Ingress"]) };
            set(object, "spec.policyTypes", types);
            set(object, "spec.podSelector", json!({}));
        }
        "priorityclasses.scheduling.k8s.io" => set(object, "preemptionPolicy", json!("PreemptLowerPriority")),
        _ => {}
    }
}

/// Sets the member at a dotted path when it is absent or null; makes objects on the way.
fn set(object: &mut Value, path: &str, value: Value) {
    let mut at = object;
    for part in path.split('.') {
        if !at.is_object() {
            *at = json!({});
        }
        at = &mut at[part];
    }
    if at.is_null() {
        *at = value;
    }
}

/// Removes members that say nothing, as a typed round trip does.
fn drop_empty(object: &mut Value, members: &[&str]) {
    let Some(object) = object.as_object_mut() else { return };
    for member in members {
        if object
            .get(*member)
            .is_some_and(|value| value.is_null() || value.as_object().is_some_and(|map| map.is_empty()))
        {
            object.remove(*member);
        }
    }
}

/// Events show these members even when they say nothing.
fn event(object: &mut Value) {
    for member in ["eventTime", "firstTimestamp", "lastTimestamp"] {
        let value = object[member].take();
        object[member] = value;
    }
    set(object, "source", json!({}));
    set(object, "reportingComponent", json!(""));
    set(object, "reportingInstance", json!(""));
}

fn items(list: &mut Value) -> impl Iterator<Item = &mut Value> {
    list.as_array_mut().into_iter().flatten().filter(|item| item.is_object())
}

fn deployment(object: &mut Value) {
    set(object, "spec.replicas", json!(1));
    set(object, "spec.progressDeadlineSeconds", json!(600));
    set(object, "spec.revisionHistoryLimit", json!(10));
    set(object, "spec.strategy.type", json!("RollingUpdate"));
    if object["spec"]["strategy"]["type"] == "RollingUpdate" {
        set(object, "spec.strategy.rollingUpdate.maxSurge", json!("25%"));
        set(object, "spec.strategy.rollingUpdate.maxUnavailable", json!("25%"));
    }
    pod_template(&mut object["spec"]["template"]);
}

fn stateful_set(object: &mut Value) {
    set(object, "spec.replicas", json!(1));
    set(object, "spec.revisionHistoryLimit", json!(10));
    set(object, "spec.podManagementPolicy", json!("OrderedReady"));
    set(object, "spec.updateStrategy.type", json!("RollingUpdate"));
    if object["spec"]["updateStrategy"]["type"] == "RollingUpdate" {
        set(object, "spec.updateStrategy.rollingUpdate.partition", json!(0));
    }
    set(object, "spec.persistentVolumeClaimRetentionPolicy.whenDeleted", json!("Retain"));
    set(object, "spec.persistentVolumeClaimRetentionPolicy.whenScaled", json!("Retain"));
    pod_template(&mut object["spec"]["template"]);
}

fn daemon_set(object: &mut Value) {
    set(object, "spec.revisionHistoryLimit", json!(10));
    set(object, "spec.updateStrategy.type", json!("RollingUpdate"));
    if object["spec"]["updateStrategy"]["type"] == "RollingUpdate" {
        set(object, "spec.updateStrategy.rollingUpdate.maxSurge", json!(0));
        set(object, "spec.updateStrategy.rollingUpdate.maxUnavailable", json!(1));
    }
    pod_template(&mut object["spec"]["template"]);
}

fn job(spec: &mut Value) {
    if spec["completions"].is_null() && spec["parallelism"].is_null() {
        set(spec, "completions", json!(1));
    }
    for (field, value) in [
        ("parallelism", json!(1)),
        ("backoffLimit", json!(6)),
        ("completionMode", json!("NonIndexed")),
        ("suspend", json!(false)),
        ("manualSelector", json!(false)),
        ("podReplacementPolicy", json!("TerminatingOrFailed")),
    ] {
        set(spec, field, value);
    }
    pod_template(&mut spec["template"]);
}

fn cron_job(object: &mut Value) {
    set(object, "spec.concurrencyPolicy", json!("Allow"));
    set(object, "spec.suspend", json!(false));
    set(object, "spec.successfulJobsHistoryLimit", json!(3));
    set(object, "spec.failedJobsHistoryLimit", json!(1));
    set(object, "spec.jobTemplate.metadata", json!({}));
    set(object, "spec.jobTemplate.spec.template.metadata", json!({}));
    pod_template(&mut object["spec"]["jobTemplate"]["spec"]["template"]);
}

fn pod_template(template: &mut Value) {
    if template["spec"].is_object() {
        set(template, "metadata", json!({}));
        pod_spec(&mut template["spec"]);
    }
}

/// Pods by themselves also have what admission gives them.
fn pod(object: &mut Value) {
    set(object, "spec.enableServiceLinks", json!(true));
    set(object, "spec.priority", json!(0));
    set(object, "spec.preemptionPolicy", json!("PreemptLowerPriority"));
    tolerate_short_outages(&mut object["spec"]);
    pod_spec(&mut object["spec"]);
    resources::request_the_limits(object);
    let address = object["status"]["podIP"].clone();
    if address.as_str().is_some_and(|address| !address.is_empty()) {
        set(object, "status.podIPs", json!([{ "ip": address }]));
    }
}

/// Pods outlive a node that is away for five minutes.
fn tolerate_short_outages(spec: &mut Value) {
    if spec["tolerations"].is_null() {
        spec["tolerations"] = json!([]);
    }
    let Some(tolerations) = spec["tolerations"].as_array_mut() else { return };
    for key in ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"] {
        let tolerated = |toleration: &Value| {
            let any = |field: &str| toleration[field].as_str().unwrap_or_default().is_empty();
            (any("key") || toleration["key"] == key) && (any("effect") || toleration["effect"] == "NoExecute")
        };
        if !tolerations.iter().any(tolerated) {
            tolerations.push(json!({
                "key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300,
            }));
        }
    }
}

fn pod_spec(spec: &mut Value) {
    for (field, value) in [
        ("dnsPolicy", json!("ClusterFirst")),
        ("restartPolicy", json!("Always")),
        ("schedulerName", json!("default-scheduler")),
        ("securityContext", json!({})),
        ("terminationGracePeriodSeconds", json!(30)),
    ] {
        set(spec, field, value);
    }
    // The old name of the same field follows the new one.
    if let Some(name) = spec["serviceAccountName"].as_str().map(str::to_owned) {
        set(spec, "serviceAccount", json!(name));
    } else if let Some(name) = spec["serviceAccount"].as_str().map(str::to_owned) {
        set(spec, "serviceAccountName", json!(name));
    }
    for list in ["initContainers", "containers"] {
        items(&mut spec[list]).for_each(container);
    }
    for list in ["initContainers", "containers", "volumes"] {
        if spec[list].is_null() {
            spec.as_object_mut().map(|members| members.remove(list));
        }
    }
    items(&mut spec["volumes"]).for_each(volume);
    if spec["volumes"].is_null() {
        spec.as_object_mut().map(|members| members.remove("volumes"));
    }
}

fn container(container: &mut Value) {
    let image = container["image"].as_str().unwrap_or_default();
    let name = image.rsplit('/').next().unwrap_or_default();
    let latest = !name.contains('@') && name.split_once(':').is_none_or(|(_, tag)| tag == "latest");
    let policy = if latest { "Always" } else { "IfNotPresent" };
    set(container, "imagePullPolicy", json!(policy));
    set(container, "resources", json!({}));
    set(container, "terminationMessagePath", json!("/dev/termination-log"));
    set(container, "terminationMessagePolicy", json!("File"));
    if let Some(ports) = container.get_mut("ports") {
        items(ports).for_each(|port| set(port, "protocol", json!("TCP")));
    }
    for probe in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if let Some(probe) = container.get_mut(probe).filter(|probe| probe.is_object()) {
            set(probe, "failureThreshold", json!(3));
            set(probe, "periodSeconds", json!(10));
            set(probe, "successThreshold", json!(1));
            set(probe, "timeoutSeconds", json!(1));
            handler(probe);
        }
    }
    for hook in ["preStop", "postStart"] {
        let lifecycle = container.get_mut("lifecycle").and_then(|lifecycle| lifecycle.get_mut(hook));
        lifecycle.into_iter().for_each(handler);
    }
    if let Some(env) = container.get_mut("env") {
        for variable in items(env) {
            let Some(source) = variable.get_mut("valueFrom") else { continue };
            if let Some(field) = source.get_mut("fieldRef") {
                set(field, "apiVersion", json!("v1"));
            }
            if let Some(field) = source.get_mut("resourceFieldRef") {
                set(field, "divisor", json!("0"));
            }
        }
    }
}

fn handler(handler: &mut Value) {
    if let Some(get) = handler.get_mut("httpGet") {
        set(get, "path", json!("/"));
        set(get, "scheme", json!("HTTP"));
    }
    if let Some(grpc) = handler.get_mut("grpc") {
        set(grpc, "service", json!(""));
    }
}

fn volume(volume: &mut Value) {
    // A volume without a source is an empty directory.
    if volume
        .as_object()
        .is_some_and(|volume| volume.iter().all(|(name, value)| name == "name" || value.is_null()))
    {
        set(volume, "emptyDir", json!({}));
    }
    for source in ["configMap", "secret", "projected", "downwardAPI"] {
        if let Some(source) = volume.get_mut(source).filter(|source| source.is_object()) {
            set(source, "defaultMode", json!(420));
        }
    }
    let projected = volume.get_mut("projected").and_then(|projected| projected.get_mut("sources"));
    for source in projected.into_iter().flat_map(items) {
        if let Some(source) = source.get_mut("downwardAPI") {
            field_references(source);
        }
    }
    if let Some(source) = volume.get_mut("downwardAPI") {
        field_references(source);
    }
    if let Some(path) = volume.get_mut("hostPath") {
        set(path, "type", json!(""));
    }
    if let Some(sources) = volume.get_mut("projected").and_then(|projected| projected.get_mut("sources")) {
        for source in items(sources) {
            if let Some(token) = source.get_mut("serviceAccountToken") {
                set(token, "expirationSeconds", json!(3600));
            }
        }
    }
}

fn field_references(source: &mut Value) {
    for item in source.get_mut("items").into_iter().flat_map(items) {
        if let Some(field) = item.get_mut("fieldRef") {
            set(field, "apiVersion", json!("v1"));
        }
    }
}

fn service(spec: &mut Value) {
    set(spec, "sessionAffinity", json!("None"));
    set(spec, "type", json!("ClusterIP"));
    for port in items(&mut spec["ports"]) {
        set(port, "protocol", json!("TCP"));
        let number = port["port"].clone();
        set(port, "targetPort", number);
    }
    if spec["ports"].is_null() {
        spec.as_object_mut().map(|members| members.remove("ports"));
    }
    if spec["sessionAffinity"] == "ClientIP" {
        set(spec, "sessionAffinityConfig.clientIP.timeoutSeconds", json!(10_800));
    }
    if spec["type"] == "ExternalName" {
        return;
    }
    set(spec, "internalTrafficPolicy", json!("Cluster"));
    set(spec, "ipFamilies", json!(["IPv4"]));
    set(spec, "ipFamilyPolicy", json!("SingleStack"));
    let reached_from_outside = spec["externalIPs"].as_array().is_some_and(|addresses| !addresses.is_empty());
    if spec["type"] == "NodePort" || spec["type"] == "LoadBalancer" || reached_from_outside {
        set(spec, "externalTrafficPolicy", json!("Cluster"));
    }
    if spec["type"] == "LoadBalancer" {
        set(spec, "allocateLoadBalancerNodePorts", json!(true));
    }
}

fn secret(object: &mut Value) {
    use base64::Engine;
    set(object, "type", json!("Opaque"));
    // Plain text is a way to write data only.
    let Some(Value::Object(plain)) = object.as_object_mut().and_then(|members| members.remove("stringData"))
    else {
        return;
    };
    for (key, value) in plain {
        let text = value.as_str().unwrap_or_default();
        object["data"][key] = json!(base64::engine::general_purpose::STANDARD.encode(text));
    }
}

fn autoscaler(object: &mut Value) {
    set(object, "spec.minReplicas", json!(1));
    if object["apiVersion"] == "autoscaling/v1" {
        return;
    }
    let spec = &mut object["spec"];
    if spec["metrics"].as_array().is_none_or(Vec::is_empty) {
        let target = json!({ "type": "Utilization", "averageUtilization": 80 });
        spec["metrics"] = json!([{ "type": "Resource", "resource": { "name": "cpu", "target": target } }]);
    }
    if spec["behavior"].is_object() {
        let percent = json!({ "type": "Percent", "value": 100, "periodSeconds": 15 });
        let pods = json!({ "type": "Pods", "value": 4, "periodSeconds": 15 });
        set(spec, "behavior.scaleUp.stabilizationWindowSeconds", json!(0));
        set(spec, "behavior.scaleUp.selectPolicy", json!("Max"));
        set(spec, "behavior.scaleUp.policies", json!([pods, percent]));
        set(spec, "behavior.scaleDown.selectPolicy", json!("Max"));
        set(spec, "behavior.scaleDown.policies", json!([percent]));
    }
}

fn webhooks(object: &mut Value, mutating: bool) {
    let Some(list) = object.get_mut("webhooks") else { return };
    for webhook in items(list) {
        for (field, value) in [
            ("failurePolicy", json!("Fail")),
            ("matchPolicy", json!("Equivalent")),
            ("namespaceSelector", json!({})),
            ("objectSelector", json!({})),
            ("timeoutSeconds", json!(10)),
        ] {
            set(webhook, field, value);
        }
        if mutating {
            set(webhook, "reinvocationPolicy", json!("Never"));
        }
        if webhook["clientConfig"]["service"].is_object() {
            set(webhook, "clientConfig.service.port", json!(443));
        }
        if let Some(rules) = webhook.get_mut("rules") {
            items(rules).for_each(|rule| set(rule, "scope", json!("*")));
        }
    }
}

fn match_resources(resources: &mut Value) {
    if !resources.is_object() {
        return;
    }
    set(resources, "matchPolicy", json!("Equivalent"));
    set(resources, "namespaceSelector", json!({}));
    set(resources, "objectSelector", json!({}));
    for field in ["resourceRules", "excludeResourceRules"] {
        if let Some(rules) = resources.get_mut(field) {
            items(rules).for_each(|rule| set(rule, "scope", json!("*")));
        }
    }
}

fn definition(object: &mut Value) {
    set(object, "spec.conversion.strategy", json!("None"));
    if let Some(service) = object.pointer_mut("/spec/conversion/webhook/clientConfig/service") {
        set(service, "port", json!(443));
    }
    let kind = object["spec"]["names"]["kind"].as_str().unwrap_or_default().to_owned();
    if !kind.is_empty() {
        set(object, "spec.names.singular", json!(kind.to_lowercase()));
        set(object, "spec.names.listKind", json!(format!("{kind}List")));
    }
    // Something is always stored in some version.
    if object["status"]["storedVersions"].as_array().is_some_and(Vec::is_empty) {
        let versions = object["spec"]["versions"].as_array();
        let storage = versions.into_iter().flatten().find(|version| version["storage"] == true);
        object["status"]["storedVersions"] =
            storage.map(|version| json!([version["name"]])).unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_with_a_tag_is_pulled_only_if_it_is_missing() {
        for (image, policy) in [
            ("r:5000/a", "Always"),
            ("a:1", "IfNotPresent"),
            ("a:latest", "Always"),
            ("a@sha256:0", "IfNotPresent"),
        ] {
            let mut spec = json!({"containers": [{"image": image}]});
            pod_spec(&mut spec);
            assert_eq!(spec["containers"][0]["imagePullPolicy"], policy, "{image}");
        }
    }

    #[test]
    fn defaults_do_not_overwrite_what_is_there() {
        let mut object =
            json!({"spec": {"replicas": 0, "strategy": {"type": "Recreate"}, "template": {"spec": {}}}});
        deployment(&mut object);
        assert_eq!(object["spec"]["replicas"], 0);
        assert!(object["spec"]["strategy"].get("rollingUpdate").is_none());
    }

    #[test]
    fn plain_text_of_a_secret_becomes_data() {
        let mut object = json!({"stringData": {"a": "b"}});
        secret(&mut object);
        assert_eq!(object, json!({"type": "Opaque", "data": {"a": "Yg=="}}));
    }
}
