//! Replicas, images, Jobs, environment, resources, probes.

use super::*;

fn autoscaler(name: &str, minimum: Value, maximum: Value) -> Value {
    let mut object = object("autoscaling/v2", "HorizontalPodAutoscaler", name);
    object["spec"] = json!({"minReplicas": minimum, "maxReplicas": maximum});
    object
}

#[test]
fn an_autoscaler_is_raised_and_never_lowered() {
    for ((minimum, maximum), replicas, expected) in
        [((1, 4), 2, (2, 5)), ((2, 5), 6, (6, 9)), ((2, 2), 3, (3, 3)), ((3, 5), 2, (3, 5))]
    {
        let spec = json!({"high-availability": {"replicas": replicas}});
        let result = serving(spec, autoscaler("any", json!(minimum), json!(maximum)));
        assert_eq!(result["spec"], json!({"minReplicas": expected.0, "maxReplicas": expected.1}));
    }
    let extreme = serving(
        json!({"high-availability": {"replicas": i32::MAX}}),
        autoscaler("any", json!(i64::MIN), json!(i64::MAX)),
    );
    assert_eq!(extreme["spec"]["maxReplicas"], json!(i64::MAX));
}

#[test]
fn high_availability_scales_deployments_that_nothing_else_scales() {
    let spec = json!({"high-availability": {"replicas": 3}, "workloads": [{"name": "own", "replicas": 5}]});
    let replicas =
        |name: &str| serving(spec.clone(), deployment(name, json!([])))["spec"]["replicas"].clone();
    assert_eq!(replicas("controller"), 3);
    assert_eq!(replicas("own"), 5);
    for name in
        ["activator", "webhook", "pingsource-mt-adapter", "mt-broker-filter", "kafka-source-dispatcher"]
    {
        assert_eq!(replicas(name), Value::Null, "{name}");
    }
    let mut set = object("apps/v1", "StatefulSet", "request-reply");
    set["spec"] = json!({"replicas": 1});
    assert_eq!(serving(spec, set)["spec"]["replicas"], 1);
}

#[test]
fn an_override_scales_a_workload_or_the_autoscaler_of_that_name() {
    let spec = json!({"workloads": [{"name": "mt-broker-ingress", "replicas": 3}, {"name": "eventing-webhook", "replicas": 2},
                                    {"name": "pingsource-mt-adapter", "replicas": 4}]});
    let scaled = eventing(spec.clone(), autoscaler("broker-ingress-hpa", json!(1), json!(10)));
    assert_eq!(scaled["spec"], json!({"minReplicas": 3, "maxReplicas": 12}));
    let scaled = eventing(spec.clone(), autoscaler("eventing-webhook", json!(1), json!(5)));
    assert_eq!(scaled["spec"], json!({"minReplicas": 2, "maxReplicas": 6}));
    let autoscaled = eventing(spec.clone(), deployment("eventing-webhook", json!([])));
    assert_eq!(autoscaled["spec"]["replicas"], Value::Null);
    assert_eq!(eventing(spec, deployment("pingsource-mt-adapter", json!([])))["spec"]["replicas"], 4);
}

#[test]
fn br49_replicas_of_an_autoscaled_deployment_reach_its_autoscaler() {
    let spec = json!({"deployments": [{"name": "webhook", "replicas": 3}]});
    let result = serving(spec.clone(), autoscaler("webhook", json!(1), json!(5)));
    assert_eq!(result["spec"], json!({"minReplicas": 3, "maxReplicas": 7}));
    assert_eq!(serving(spec, deployment("webhook", json!([])))["spec"]["replicas"], Value::Null);
}

#[test]
fn images_come_from_the_closest_override_then_from_the_template() {
    let spec = json!({"registry": {"default": "r.test/${NAME}:1", "override": {"a/c": "by-both", "c": "by-container"}}});
    let image = |workload: &str, name: &str, image: &str| {
        let released = deployment(workload, json!([{"name": name, "image": image}]));
        container(&serving(spec.clone(), released))["image"].clone()
    };
    assert_eq!(image("a", "c", "gcr.io/x/queue@sha256:1"), "by-both");
    assert_eq!(image("b", "c", "gcr.io/x/queue@sha256:1"), "by-container");
    assert_eq!(image("b", "d", "gcr.io/x/queue@sha256:1"), "r.test/queue:1");
    assert_eq!(image("b", "d", "badLink"), "r.test/d:1");
}

#[test]
fn image_variables_are_replaced_by_name_and_never_by_the_template() {
    let spec = json!({"registry": {"default": "r/${NAME}", "override": {"RA_IMAGE": "ra:1"}}});
    let env = json!([{"name": "RA_IMAGE", "valueFrom": {"x": 1}}, {"name": "OTHER", "value": "gcr.io/x/y"}]);
    let result = serving(spec, deployment("a", json!([{"name": "c", "image": "h/i", "env": env}])));
    assert_eq!(
        container(&result)["env"],
        json!([{"name": "RA_IMAGE", "value": "ra:1"}, {"name": "OTHER", "value": "gcr.io/x/y"}])
    );
}

#[test]
fn pull_secrets_are_appended_to_pods_and_cached_images() {
    let spec =
        json!({"registry": {"imagePullSecrets": [{"name": "s"}], "override": {"queue-proxy": "qp:1"}}});
    let mut released = deployment("a", json!([]));
    released["spec"]["template"]["spec"]["imagePullSecrets"] = json!([{"name": "first"}]);
    let result = serving(spec.clone(), released);
    assert_eq!(
        result["spec"]["template"]["spec"]["imagePullSecrets"],
        json!([{"name": "first"}, {"name": "s"}])
    );
    let mut cached = object("caching.internal.knative.dev/v1alpha1", "Image", "queue-proxy");
    cached["spec"] = json!({"image": "gcr.io/x/queue"});
    cached["status"] = json!({});
    let result = serving(spec, cached);
    assert_eq!(result["spec"], json!({"image": "qp:1", "imagePullSecrets": [{"name": "s"}]}));
    assert_eq!(result.get("status"), None);
}

#[test]
fn w39_jobs_are_named_after_the_release_and_matched_by_their_generated_name() {
    let mut job = object("batch/v1", "Job", "");
    job["metadata"] = json!({"generateName": "cleanup-serving-"});
    job["spec"] = json!({"template": {"spec": {"containers": [{"name": "cleanup", "image": "h/cleanup"}]}}});
    let spec = json!({
        "registry": {"override": {"cleanup-serving-/cleanup": "own:1"}},
        "workloads": [{"name": "cleanup-serving-", "nodeSelector": {"a": "b"}, "replicas": 3}],
    });
    let result = serving(spec, job.clone());
    assert_eq!(result["metadata"]["name"], "cleanup-serving-serving-1.23.0");
    assert_eq!(container(&result)["image"], "own:1");
    assert_eq!(result["spec"]["template"]["spec"]["nodeSelector"], json!({"a": "b"}));
    assert_eq!(result["spec"]["template"]["metadata"]["labels"], json!({"sidecar.istio.io/inject": "false"}));
    assert_eq!(result["spec"].get("replicas"), None);

    job["metadata"] = json!({"name": "kafka-controller-post-install"});
    job["spec"]["template"]["metadata"]["labels"]["sidecar.istio.io/inject"] = "true".into();
    let result = eventing(json!({}), job);
    assert_eq!(result["metadata"]["name"], "kafka-controller-post-install-eventing-1.23.0");
    assert_eq!(result["spec"]["template"]["metadata"]["labels"]["sidecar.istio.io/inject"], "true");
}

#[test]
fn the_minimum_version_reaches_all_containers_but_a_user_overrides_it() {
    let mut facts = facts();
    facts.kubernetes_min_version = Some("1.30".into());
    let mut released = deployment("a", json!([{"name": "c"}, {"name": "d"}]));
    released["spec"]["template"]["spec"]["initContainers"] = json!([{"name": "i"}]);
    let variable = |value: &str| json!([{"name": "KUBERNETES_MIN_VERSION", "value": value}]);
    let spec =
        json!({"workloads": [{"name": "a", "env": [{"container": "d", "envVars": variable("1.31")}]}]});
    let result = transform(&component("KnativeServing", spec), &facts, released).unwrap();
    let pod = &result["spec"]["template"]["spec"];
    assert_eq!(pod["containers"][0]["env"], variable("1.30"));
    assert_eq!(pod["containers"][1]["env"], variable("1.31"));
    assert_eq!(pod["initContainers"][0]["env"], variable("1.30"));
}

#[test]
fn resources_are_merged_from_the_first_entry_and_the_new_way_beats_the_old() {
    let released =
        || deployment("a", json!([{"name": "c", "resources": {"limits": {"cpu": "1", "memory": "1Gi"}}}]));
    let old = json!([{"container": "c", "limits": {"cpu": "2"}}, {"container": "c", "limits": {"cpu": "3"}}]);
    let result = serving(json!({"resources": old}), released());
    assert_eq!(container(&result)["resources"], json!({"limits": {"cpu": "2", "memory": "1Gi"}}));
    let workloads = json!([{"name": "a", "resources": [{"container": "c", "requests": {"cpu": "100m"}}]}]);
    let result = serving(json!({"resources": old, "workloads": workloads}), released());
    assert_eq!(
        container(&result)["resources"],
        json!({"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "100m"}})
    );
}

#[test]
fn variables_replace_all_of_their_name_or_are_appended() {
    let env = json!([{"name": "A", "value": "1"}, {"name": "B", "valueFrom": {"x": 1}}, {"name": "A", "value": "2"}]);
    let wanted =
        json!([{"name": "A", "value": "9"}, {"name": "C", "value": "x"}, {"name": "C", "value": "y"}]);
    let spec = json!({"workloads": [{"name": "a", "env": [{"container": "c", "envVars": wanted},
                                                           {"container": "c", "envVars": [{"name": "D"}]}]}]});
    let result = serving(spec.clone(), deployment("a", json!([{"name": "c", "env": env}])));
    assert_eq!(
        container(&result)["env"],
        json!([{"name": "A", "value": "9"}, {"name": "B", "valueFrom": {"x": 1}}, {"name": "A", "value": "9"},
               {"name": "C", "value": "y"}])
    );
    let result = serving(spec, deployment("a", json!([{"name": "c"}])));
    assert_eq!(container(&result)["env"], wanted);
}

#[test]
fn probes_change_by_number_vanish_without_any_and_never_lack_a_handler() {
    let released =
        || deployment("a", json!([{"name": "c", "readinessProbe": {"httpGet": {}, "periodSeconds": 5}}]));
    let with = |probe: Value| json!({"workloads": [{"name": "a", "readinessProbes": [probe]}]});
    let result = serving(with(json!({"container": "c", "timeoutSeconds": 3})), released());
    assert_eq!(
        container(&result)["readinessProbe"],
        json!({"httpGet": {}, "periodSeconds": 5, "timeoutSeconds": 3})
    );
    let result = serving(with(json!({"container": "c", "periodSeconds": 0})), released());
    assert_eq!(container(&result).get("readinessProbe"), None);
    let liveness =
        json!({"workloads": [{"name": "a", "livenessProbes": [{"container": "c", "periodSeconds": 3}]}]});
    assert_eq!(container(&serving(liveness, released())).get("livenessProbe"), None, "w40");
}

#[test]
fn pod_fields_replace_and_the_host_network_brings_its_dns_policy() {
    let mut released = deployment("a", json!([]));
    released["spec"]["template"]["spec"]["tolerations"] = json!([{"key": "old"}]);
    let overrides = json!([
        {"name": "a", "tolerations": [{"key": "new"}], "affinity": {"x": 1}, "hostNetwork": true, "labels": {"l": "1"}},
        {"name": "a", "tolerations": [], "labels": {"l": "2"}},
    ]);
    let result =
        serving(json!({"deployments": [overrides[0]], "workloads": [overrides[1]]}), released.clone());
    let pod = &result["spec"]["template"]["spec"];
    assert_eq!(pod["tolerations"], json!([{"key": "new"}]));
    assert_eq!((&pod["hostNetwork"], &pod["dnsPolicy"]), (&json!(true), &json!("ClusterFirstWithHostNet")));
    assert_eq!(result["metadata"]["labels"]["l"], "2");
    assert_eq!(result["spec"]["template"]["metadata"]["labels"], json!({"l": "2"}));
    let off = serving(json!({"workloads": [{"name": "a", "hostNetwork": false}]}), released);
    assert_eq!(off["spec"]["template"]["spec"].get("dnsPolicy"), None);
    assert!(off["spec"]["template"]["spec"]["hostNetwork"].is_null(), "absence means the same");
}
