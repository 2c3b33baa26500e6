//! What makes release data hard. Each trait is counted, so that nobody can tidy it away.

use std::collections::BTreeMap;

use serde_json::json;

use super::*;
use crate::manifest::ObjectKey;

fn named<'a>(objects: &'a [Object], kind: &str, name: &str) -> &'a Object {
    objects
        .iter()
        .find(|o| o.kind() == kind && o.name() == name)
        .unwrap_or_else(|| panic!("no {kind} {name}"))
}

fn of_kind<'a>(objects: &'a [Object], kind: &'a str) -> impl Iterator<Item = &'a Object> {
    objects.iter().filter(move |o| o.kind() == kind)
}

fn pod_spec<'a>(objects: &'a [Object], kind: &str, name: &str) -> &'a Value {
    &named(objects, kind, name).value()["spec"]["template"]["spec"]
}

fn keys(objects: &[Object]) -> BTreeSet<ObjectKey> {
    objects.iter().map(Object::key).collect()
}

/// Identities that are in `left` and not in `right`.
fn only(left: &[Object], right: &[Object]) -> Vec<String> {
    keys(left).difference(&keys(right)).map(ToString::to_string).collect()
}

#[test]
fn each_package_has_the_expected_number_of_objects_and_identities() {
    let counts = [
        ("knative-serving/1.22.0", 49, 45),
        ("knative-serving/1.23.0", 50, 45),
        ("knative-eventing/1.22.0", 62, 59),
        ("knative-eventing/1.23.0", 66, 63),
        ("ingress/1.22/kourier", 12, 12),
        ("ingress/1.23/kourier", 13, 13),
        ("ingress/1.22/istio", 13, 13),
        ("ingress/1.23/istio", 13, 13),
        ("ingress/1.22/contour", 4, 4),
        ("ingress/1.23/contour", 4, 4),
        ("ingress/1.22/gateway-api", 4, 4),
        ("ingress/1.23/gateway-api", 4, 4),
        ("security-guard/0.6", 6, 6),
        ("eventing-source/1.22/github", 15, 15),
        ("eventing-source/1.23/github", 16, 16),
    ];
    for (directory, total, identities) in counts {
        let objects = objects(directory);
        // Jobs have no name yet; what they generate names from tells them apart.
        let distinct: BTreeSet<_> = objects.iter().map(|o| (o.key(), o.generate_name())).collect();
        assert_eq!((objects.len(), distinct.len()), (total, identities), "{directory}");
    }
}

#[test]
fn custom_resource_definitions_come_twice_with_identical_content() {
    for (directory, count) in [("knative-serving/1.23.0", 5), ("knative-eventing/1.23.0", 3)] {
        let objects = objects(directory);
        let mut copies: BTreeMap<ObjectKey, Vec<&Object>> = BTreeMap::new();
        for object in objects.iter().filter(|o| !o.name().is_empty()) {
            copies.entry(object.key()).or_default().push(object);
        }
        copies.retain(|_, objects| objects.len() > 1);
        assert_eq!(copies.len(), count, "{directory}");
        for (key, objects) in copies {
            assert_eq!(key.kind.kind, "CustomResourceDefinition");
            assert_eq!(objects.len(), 2, "{key}");
            assert_eq!(objects[0], objects[1], "{key}");
        }
    }
}

#[test]
fn the_github_source_ships_config_maps_of_eventing_with_other_content() {
    let (core, source) = (objects("knative-eventing/1.23.0"), objects("eventing-source/1.23/github"));
    for name in ["config-logging", "config-observability"] {
        let (ours, theirs) = (named(&core, "ConfigMap", name), named(&source, "ConfigMap", name));
        assert_ne!(ours.value()["data"], theirs.value()["data"], "{name}");
    }
    let ours = &named(&core, "ConfigMap", "config-logging").value()["data"];
    let theirs = &named(&source, "ConfigMap", "config-logging").value()["data"];
    assert!(
        ours["klog-verbosity"].is_string() && theirs["klog-verbosity"].is_null(),
        "a key of the core only"
    );
    assert_ne!(ours["loglevel.webhook"], theirs["loglevel.webhook"], "a key of both");
}

#[test]
fn the_guard_ships_a_config_map_of_serving_and_objects_without_a_namespace() {
    let (core, guard) = (objects("knative-serving/1.23.0"), objects("security-guard/0.6"));
    let name = "config-deployment";
    let (ours, theirs) = (named(&core, "ConfigMap", name), named(&guard, "ConfigMap", name));
    assert_ne!(ours.value()["data"]["queue-sidecar-image"], theirs.value()["data"]["queue-sidecar-image"]);
    assert_eq!(named(&guard, "ServiceAccount", "guard-service-account").namespace(), "");
}

#[test]
fn namespaces_of_one_component_differ_and_one_service_lives_elsewhere() {
    let [serving, eventing] = releases(NEW);
    let namespaces = |objects: &[Object]| -> BTreeSet<String> {
        objects.iter().map(|o| o.namespace().to_owned()).filter(|n| !n.is_empty()).collect()
    };
    assert_eq!(
        namespaces(&serving),
        ["istio-system", "knative-serving", "kourier-system"].map(str::to_owned).into()
    );
    assert_eq!(namespaces(&eventing), ["knative-eventing", "knative-sources"].map(str::to_owned).into());
    let elsewhere: Vec<String> =
        serving.iter().filter(|o| o.namespace() == "istio-system").map(|o| o.key().to_string()).collect();
    assert_eq!(elsewhere, ["Service istio-system/knative-local-gateway"]);
    assert_eq!(of_kind(&serving, "Namespace").chain(of_kind(&eventing, "Namespace")).count(), 4);
}

#[test]
fn some_webhooks_fail_closed_with_rules_and_one_ignores_failures() {
    let [serving, eventing] = releases(NEW);
    let webhooks: Vec<(&str, &Value)> = serving
        .iter()
        .chain(&eventing)
        .filter(|o| o.group() == "admissionregistration.k8s.io")
        .map(|o| (o.name(), &o.value()["webhooks"][0]))
        .collect();
    assert_eq!(webhooks.len(), 11);
    let names = |keep: fn(&Value) -> bool| -> BTreeSet<&str> {
        webhooks.iter().filter(|(_, webhook)| keep(webhook)).map(|(name, _)| *name).collect()
    };
    assert_eq!(
        names(|webhook| webhook["failurePolicy"] == "Fail" && webhook["rules"].is_array()),
        ["validation.webhook.serving.knative.dev", "webhook.serving.knative.dev"].into(),
    );
    assert_eq!(
        names(|webhook| webhook["failurePolicy"] == "Ignore"),
        ["config.webhook.eventing.knative.dev"].into()
    );
    assert_eq!(
        names(|webhook| !webhook["clientConfig"]["caBundle"].is_null()),
        [].into(),
        "operands fill in the CA"
    );
}

#[test]
fn jobs_have_only_a_generate_name() {
    let jobs: Vec<Object> = every_release().flatten().filter(|o| o.kind() == "Job").collect();
    assert_eq!(jobs.len(), 5);
    for job in &jobs {
        assert!(job.name().is_empty() && job.generate_name().ends_with('-'), "{}", job.generate_name());
        assert_eq!(job.value()["spec"]["ttlSecondsAfterFinished"], 600);
    }
}

#[test]
fn one_definition_converts_through_a_webhook() {
    for directory in ["knative-eventing/1.22.0", "knative-eventing/1.23.0"] {
        let objects = objects(directory);
        let converting: Vec<&Object> = of_kind(&objects, "CustomResourceDefinition")
            .filter(|o| o.value()["spec"]["conversion"]["strategy"] == "Webhook")
            .collect();
        assert_eq!(converting.len(), 2, "the definition and its copy");
        assert_eq!(converting[0].name(), "pingsources.sources.knative.dev");
        let versions = converting[0].value()["spec"]["versions"].as_array().expect("versions");
        assert_eq!(versions.len(), 2);
        assert_eq!(versions[0]["schema"], versions[1]["schema"], "shared through an anchor and a merge key");
    }
}

#[test]
fn the_text_uses_anchors_merge_keys_redefined_anchors_and_octal_numbers() {
    let count = |needle: &str| FILES.iter().map(|(_, text)| text.matches(needle).count()).sum::<usize>();
    assert!(count("<<: [*selector, *labels]") >= 30, "a list of aliases is merged");
    assert!(count("<<: *probe") >= 4, "one alias is merged and partly overridden");
    assert!(count("<<: &shape") >= 4, "a merged map is an anchor itself");
    let documents = FILES.iter().flat_map(|(_, text)| text.split("\n---\n"));
    assert_eq!(documents.filter(|document| document.matches(": &probe\n").count() == 2).count(), 2);
    assert_eq!(count("defaultMode: 0444"), 2);

    let github = objects("eventing-source/1.23/github");
    let containers = &pod_spec(&github, "Deployment", "github-webhook")["containers"];
    assert_eq!(containers[0]["livenessProbe"]["httpGet"]["port"], 8443);
    assert_eq!(
        containers[1]["livenessProbe"]["httpGet"]["port"], 9443,
        "the later definition counts from there on"
    );

    let serving = objects("knative-serving/1.23.0");
    let webhook = &pod_spec(&serving, "Deployment", "webhook")["containers"][0];
    assert_eq!(webhook["readinessProbe"]["periodSeconds"], 1);
    assert_eq!(webhook["livenessProbe"]["periodSeconds"], 10, "an explicit key beats a merged one");
    assert_eq!(webhook["livenessProbe"]["httpGet"], json!({"scheme": "HTTPS", "port": 8443}));

    let kourier = objects("ingress/1.23/kourier");
    let volumes = &pod_spec(&kourier, "Deployment", "3scale-kourier-gateway")["volumes"];
    assert_eq!(volumes[0]["configMap"]["defaultMode"], 0o444);
}

#[test]
fn there_are_aggregated_roles_autoscalers_budgets_and_pods_of_several_containers() {
    for release in every_release() {
        assert!(of_kind(&release, "ClusterRole").any(|o| o.value()["aggregationRule"].is_object()));
        assert!(of_kind(&release, "HorizontalPodAutoscaler").count() >= 3);
        assert!(of_kind(&release, "PodDisruptionBudget").count() >= 1);
        let containers =
            |o: &Object| o.value()["spec"]["template"]["spec"]["containers"].as_array().map_or(0, Vec::len);
        assert!(of_kind(&release, "Deployment").any(|o| containers(o) > 1));
    }
    let gateway = objects("ingress/1.23/kourier");
    assert!(pod_spec(&gateway, "Deployment", "3scale-kourier-gateway")["initContainers"][0].is_object());
    let eventing = objects("knative-eventing/1.23.0");
    assert_eq!(named(&eventing, "Deployment", "pingsource-mt-adapter").value()["spec"]["replicas"], 0);
    assert_eq!(of_kind(&eventing, "StatefulSet").count(), 1);
}

#[test]
fn objects_are_present_whose_kinds_come_from_elsewhere() {
    let groups = |directory: &str, kind: &str| -> Vec<String> {
        of_kind(&objects(directory), kind).map(|o| o.group().to_owned()).collect()
    };
    assert_eq!(groups("knative-serving/1.23.0", "Certificate"), ["networking.internal.knative.dev"]);
    assert_eq!(groups("knative-serving/1.23.0", "Image"), ["caching.internal.knative.dev"]);
    assert_eq!(groups("knative-eventing/1.23.0", "Certificate"), ["cert-manager.io"; 3]);
    assert_eq!(groups("ingress/1.23/istio", "Gateway"), ["networking.istio.io"; 2]);
}

#[test]
fn the_gateway_configuration_names_the_namespace_of_serving_more_than_once() {
    let kourier = objects("ingress/1.23/kourier");
    let text = &named(&kourier, "ConfigMap", "kourier-bootstrap").value()["data"]["envoy-bootstrap.yaml"];
    assert_eq!(text.as_str().map(|text| text.matches("knative-serving").count()), Some(2));
}

#[test]
fn an_upgrade_of_serving_adds_removes_and_changes_objects() {
    let (old, new) = (objects("knative-serving/1.22.0"), objects("knative-serving/1.23.0"));
    let removed = [
        "ConfigMap knative-serving/config-tracing",
        "Deployment.apps knative-serving/domain-mapping",
        "ClusterRole.rbac.authorization.k8s.io knative-serving-podspecable-binding",
    ];
    assert_eq!(only(&old, &new), removed);
    let added = [
        "ConfigMap knative-serving/config-certmanager",
        "CustomResourceDefinition.apiextensions.k8s.io domainmappings.serving.knative.dev",
    ];
    assert_eq!(only(&new, &old), added);

    let data = |objects: &[Object]| named(objects, "ConfigMap", "config-autoscaler").value()["data"].clone();
    assert!(
        data(&old)["enable-graceful-scaledown"].is_string()
            && data(&new)["enable-graceful-scaledown"].is_null()
    );
    assert_ne!(data(&old)["stable-window"], data(&new)["stable-window"]);

    let image = |objects: &[Object], name: &str| {
        pod_spec(objects, "Deployment", name)["containers"][0]["image"].clone()
    };
    assert_ne!(image(&old, "controller"), image(&new, "controller"));
    let [old, new] = ["ingress/1.22/kourier", "ingress/1.23/kourier"].map(objects);
    assert_eq!(
        image(&old, "3scale-kourier-gateway"),
        image(&new, "3scale-kourier-gateway"),
        "one image stays"
    );
}

#[test]
fn an_upgrade_of_eventing_adds_and_removes_objects() {
    let (old, new) = (objects("knative-eventing/1.22.0"), objects("knative-eventing/1.23.0"));
    assert_eq!(only(&old, &new), ["ConfigMap knative-eventing/config-sugar"]);
    let added = only(&new, &old);
    assert_eq!(added.len(), 5, "{added:?}");
    assert!(added.contains(&"Deployment.apps knative-eventing/job-sink".to_owned()), "{added:?}");
}
