//! What only one component or one plugin has.

use super::*;

#[test]
fn custom_certs_are_mounted_into_the_first_container_of_the_controller() {
    let spec = json!({"controller-custom-certs": {"type": "Secret", "name": "ca"}});
    let result =
        serving(spec.clone(), deployment("controller", json!([{"name": "a", "env": []}, {"name": "b"}])));
    assert_eq!(
        result["spec"]["template"]["spec"],
        json!({
            "containers": [
                {"name": "a", "env": [{"name": "SSL_CERT_DIR", "value": "/custom-certs"}],
                 "volumeMounts": [{"name": "custom-certs-ca", "mountPath": "/custom-certs"}]},
                {"name": "b"},
            ],
            "volumes": [{"name": "custom-certs-ca", "secret": {"secretName": "ca"}}],
        })
    );
    let other = deployment("activator", json!([{"name": "a"}]));
    assert_eq!(serving(spec.clone(), other.clone())["spec"], other["spec"]);
    serving(spec, deployment("controller", json!([])));
    let refused = |kind: &str, name: &str| {
        let spec = json!({"controller-custom-certs": {"type": kind, "name": name}});
        refused("KnativeServing", spec, deployment("controller", json!([])))
    };
    assert_eq!(refused("Disk", "x"), "unknown CustomCerts type: Disk");
    assert_eq!(refused("Secret", ""), "the CustomCerts name for Secret is required");
    serving(json!({"controller-custom-certs": {}}), deployment("controller", json!([])));
}

#[test]
fn the_local_gateway_service_stands_beside_istio_and_has_no_owner() {
    let placed = |config: Value| {
        let spec = json!({"config": {"istio": config}});
        let mut service = object("v1", "Service", "knative-local-gateway");
        service["metadata"]["ownerReferences"] = json!([{"name": "x"}]);
        let result = serving(spec, service);
        assert_eq!(result["metadata"].get("ownerReferences"), None);
        result["metadata"]["namespace"].as_str().unwrap().to_owned()
    };
    assert_eq!(placed(json!({})), "istio-system");
    let list =
        "- {name: other, namespace: a}\n- {name: knative-local-gateway, namespace: mesh, service: x}\n";
    assert_eq!(placed(json!({"local-gateways": list})), "mesh");
    assert_eq!(placed(json!({"local-gateways": "{{ no yaml"})), "istio-system");
    assert_eq!(placed(json!({"local-gateways": "text"})), "istio-system");
    assert_eq!(
        placed(json!({"local-gateway.ns.knative-local-gateway": "svc.edge.svc.cluster.local"})),
        "edge"
    );
    assert_eq!(placed(json!({"local-gateway.ns.knative-local-gateway": "short"})), "istio-system");
    assert_eq!(
        placed(json!({
            "local-gateways": "- {name: other, namespace: a}",
            "local-gateway.ns.knative-local-gateway": "svc.edge.svc.cluster.local",
        })),
        "edge",
        "a list without the gateway says nothing"
    );
}

#[test]
fn istio_gateways_take_selector_and_servers() {
    let gateway = |name: &str| {
        let mut gateway = object("networking.istio.io/v1beta1", "Gateway", name);
        gateway["spec"] = json!({"selector": {"istio": "released"}, "servers": []});
        gateway
    };
    let server = json!({"hosts": ["*"], "port": {"number": 443, "name": "https", "protocol": "HTTPS", "target_port": 8443},
                        "tls": {"mode": "PASSTHROUGH", "minProtocolVersion": 3}});
    let spec = json!({"ingress": {"istio": {"enabled": true,
        "knative-ingress-gateway": {"servers": [server]}, "knative-local-gateway": {"selector": {"istio": "own"}}}}});
    let result = serving(spec.clone(), gateway("knative-ingress-gateway"));
    assert_eq!(
        result["spec"],
        json!({"selector": {"istio": "released"}, "servers": [{
            "hosts": ["*"], "tls": {"minProtocolVersion": "TLSV1_2"},
            "port": {"number": 443, "name": "https", "protocol": "HTTPS", "targetPort": 8443},
        }]})
    );
    for name in ["knative-local-gateway", "cluster-local-gateway"] {
        assert_eq!(serving(spec.clone(), gateway(name))["spec"]["selector"], json!({"istio": "own"}));
    }
    let bad = json!({"ingress": {"istio": {"enabled": true,
        "knative-local-gateway": {"servers": [{"tls": {"mode": "simple"}}]}}}});
    assert_eq!(
        refused("KnativeServing", bad, gateway("knative-local-gateway")),
        "failed to convert servers override for gateway \"knative-local-gateway\": unknown TLS mode \"simple\": \
         must be one of PASSTHROUGH, SIMPLE, MUTUAL, AUTO_PASSTHROUGH, ISTIO_MUTUAL"
    );
}

fn kourier(settings: Value) -> Value {
    let mut kourier = json!({"enabled": true});
    kourier.as_object_mut().unwrap().extend(settings.as_object().unwrap().clone());
    json!({"ingress": {"kourier": kourier}})
}

fn kourier_service() -> Value {
    let mut service = object("v1", "Service", "kourier");
    service["spec"] = json!({"type": "LoadBalancer", "ports": [{"name": "http2"}, {"name": "https"}]});
    service
}

#[test]
fn the_kourier_service_takes_type_address_and_ports_that_fit_together() {
    let result =
        serving(kourier(json!({"service-type": "NodePort", "https-port": 30443})), kourier_service());
    assert_eq!(
        result["spec"],
        json!({"type": "NodePort", "ports": [{"name": "http2"}, {"name": "https", "nodePort": 30443}]})
    );
    for (settings, expected) in [
        (json!({"service-type": "ExternalName"}), "unsupported service type \"ExternalName\""),
        (json!({"service-type": "Odd"}), "unknown service type \"Odd\""),
        (
            json!({"service-type": "ClusterIP", "service-load-balancer-ip": "198.51.100.7"}),
            "cannot configure LoadBalancerIP for service type \"ClusterIP\"",
        ),
        (json!({"http-port": 30080}), "cannot configure HTTP(S)Port for service type \"LoadBalancer\""),
    ] {
        assert_eq!(refused("KnativeServing", kourier(settings), kourier_service()), expected);
    }
    let unused = json!({"ingress": {"kourier": {"enabled": false, "service-type": "Odd"}}});
    assert_eq!(serving(unused, kourier_service())["spec"], kourier_service()["spec"]);
}

#[test]
fn kourier_finds_itself_in_the_components_namespace() {
    let env = json!([{"name": "KOURIER_GATEWAY_NAMESPACE", "value": "kourier-system"}]);
    let controller = deployment("net-kourier-controller", json!([{"name": "c", "env": env}]));
    assert_eq!(container(&serving(kourier(json!({})), controller))["env"][0]["value"], "ns");
    let text = "net-kourier-controller.knative-serving.svc, knative-serving";
    let bootstrap = config_map("kourier-bootstrap", json!({"envoy-bootstrap.yaml": text}));
    assert_eq!(
        serving(kourier(json!({})), bootstrap)["data"]["envoy-bootstrap.yaml"],
        "net-kourier-controller.ns.svc, ns"
    );
}

#[test]
fn w26_another_bootstrap_config_replaces_only_its_volume() {
    let mut gateway = deployment("3scale-kourier-gateway", json!([]));
    gateway["spec"]["template"]["spec"]["volumes"] = json!([
        {"name": "a", "configMap": {"name": "kourier-bootstrap", "items": [1]}}, {"name": "b", "emptyDir": {}},
        {"name": "c", "configMap": {"name": "other"}}, null, 7
    ]);
    let result = serving(kourier(json!({"bootstrap-configmap": "mine"})), gateway);
    assert_eq!(
        result["spec"]["template"]["spec"]["volumes"],
        json!([{"name": "a", "configMap": {"name": "mine"}}, {"name": "b", "emptyDir": {}},
               {"name": "c", "configMap": {"name": "other"}}, null, 7])
    );
}

#[test]
fn the_guard_allows_pod_info_whatever_the_user_says() {
    let spec = json!({"security": {"securityGuard": {"enabled": true}},
                      "config": {"features": {"queueproxy.mount-podinfo": "disabled"}}});
    let result = serving(spec, config_map("config-features", json!({})));
    assert_eq!(result["data"]["queueproxy.mount-podinfo"], "allowed");
}

fn broker_defaults(text: &str) -> Value {
    config_map("config-br-defaults", json!({"default-br-config": text}))
}

#[test]
fn the_broker_class_is_set_unless_the_user_wrote_one() {
    let text = |spec: Value, released: &str| {
        eventing(spec, broker_defaults(released))["data"]["default-br-config"].as_str().unwrap().to_owned()
    };
    let released = "clusterDefault:\n  brokerClass: Old\n  name: x\n";
    assert_eq!(
        text(json!({}), released),
        "clusterDefault:\n  brokerClass: MTChannelBasedBroker\n  name: x\n"
    );
    assert_eq!(
        text(json!({"defaultBrokerClass": "Kafka"}), released),
        "clusterDefault:\n  brokerClass: Kafka\n  name: x\n"
    );
    let own = "clusterDefault: {brokerClass: Mine}";
    let spec = json!({"defaultBrokerClass": "Kafka", "config": {"br-defaults": {"default-br-config": own}}});
    assert_eq!(text(spec, released), own);
}

#[test]
fn w26_broker_defaults_without_a_cluster_default_are_completed() {
    let own = json!({"config": {"br-defaults": {"default-br-config": "namespaceDefaults: {}"}}});
    let result = eventing(own, broker_defaults("x: y"));
    assert_eq!(
        result["data"]["default-br-config"],
        "clusterDefault:\n  brokerClass: MTChannelBasedBroker\nnamespaceDefaults: {}\n"
    );
    let empty = "ConfigMap is missing (or empty) key: \"default-br-config\"";
    assert_eq!(refused("KnativeEventing", json!({}), broker_defaults("")), empty);
    assert_eq!(refused("KnativeEventing", json!({}), config_map("config-br-defaults", json!(null))), empty);
    for malformed in ["[", "text", "clusterDefault: 3"] {
        assert!(refused("KnativeEventing", json!({}), broker_defaults(malformed)).contains("malformed"));
    }
}

#[test]
fn w43_the_default_channel_follows_the_components_namespace() {
    let result = eventing(json!({}), broker_defaults("clusterDefault: {namespace: knative-eventing}"));
    assert!(result["data"]["default-br-config"].as_str().unwrap().contains("namespace: ns\n"));
    let result = eventing(json!({}), broker_defaults("clusterDefault: {namespace: elsewhere}"));
    assert!(result["data"]["default-br-config"].as_str().unwrap().contains("namespace: elsewhere\n"));
}

#[test]
fn the_sink_binding_mode_comes_from_the_field_then_an_override_then_the_default() {
    let mode = |spec: Value| {
        let result = eventing(spec, deployment("eventing-webhook", json!([{"name": "eventing-webhook"}])));
        container(&result)["env"].as_array().unwrap().last().unwrap()["value"].as_str().unwrap().to_owned()
    };
    let with = |value: &str| {
        let variable = json!([{"name": "SINK_BINDING_SELECTION_MODE", "value": value}]);
        json!([{"name": "eventing-webhook", "env": [{"container": "eventing-webhook", "envVars": variable}]}])
    };
    assert_eq!(mode(json!({})), "exclusion");
    assert_eq!(mode(json!({"workloads": with("w"), "deployments": with("d")})), "w");
    assert_eq!(mode(json!({"deployments": with("d")})), "d");
    assert_eq!(mode(json!({"workloads": with("w"), "sinkBindingSelectionMode": "inclusion"})), "inclusion");
}

#[test]
fn w41_the_ping_source_adapter_keeps_what_its_controller_set() {
    let released = || {
        let env = json!([{"name": "K_OBSERVABILITY_CONFIG", "value": "{}"}, {"name": "NEW", "value": "1"}]);
        let mut object = deployment("pingsource-mt-adapter", json!([{"name": "dispatcher", "env": env}]));
        object["spec"]["replicas"] = 0.into();
        object
    };
    let env = json!([{"name": "OLD", "value": "x"}, {"name": "K_OBSERVABILITY_CONFIG", "value": "live"},
                     {"name": "K_SINK_TIMEOUT", "value": "-1"}]);
    let mut live =
        deployment("pingsource-mt-adapter", json!([{"name": "dispatcher", "env": env}, {"name": "x"}]));
    live["spec"]["replicas"] = 1.into();
    let facts = Facts { pingsource_adapter: Some(Object::try_from(live).unwrap()), ..facts() };
    let spec = json!({"workloads": [{"name": "pingsource-mt-adapter", "replicas": 3}]});
    let result = transform(&component("KnativeEventing", spec), &facts, released()).unwrap();
    assert_eq!(result["spec"]["replicas"], 1);
    assert_eq!(
        container(&result)["env"],
        json!([{"name": "K_OBSERVABILITY_CONFIG", "value": "live"}, {"name": "K_SINK_TIMEOUT", "value": "-1"},
               {"name": "NEW", "value": "1"}])
    );
    assert_eq!(eventing(json!({}), released())["spec"]["replicas"], 0);
}
