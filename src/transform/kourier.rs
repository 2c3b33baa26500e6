//! The kourier ingress plugin.

use serde_json::{Value, json};

use super::{Context, TransformError, pods, tree};
use crate::api::{IngressPlugin, Kourier};
use crate::manifest::Object;

/// ConfigMap that the gateway boots from.
const BOOTSTRAP: &str = "kourier-bootstrap";

/// Applies the settings of `spec.ingress.kourier` and makes kourier find itself in the component's namespace.
pub(super) fn set(context: &Context<'_>, object: &mut Object) -> Result<(), TransformError> {
    let Some(serving) = context.component.serving() else { return Ok(()) };
    let Some(ingress) = &serving.ingress else { return Ok(()) };
    if !serving.ingress_plugins().contains(&IngressPlugin::Kourier) {
        return Ok(());
    }
    match (object.group(), object.kind(), object.name()) {
        ("apps", "Deployment", "net-kourier-controller" | "3scale-kourier-control") => {
            follow_namespace(object)
        }
        ("apps", "Deployment", "3scale-kourier-gateway") => set_bootstrap(&ingress.kourier, object),
        ("", "ConfigMap", BOOTSTRAP) => rewrite_bootstrap(object),
        ("", "Service", "kourier") => return set_service(&ingress.kourier, object),
        _ => {}
    }
    Ok(())
}

fn follow_namespace(object: &mut Object) {
    let namespace = object.namespace().to_owned();
    for container in pods::containers(object) {
        for variable in pods::variables(container) {
            if pods::name(variable) == "KOURIER_GATEWAY_NAMESPACE" {
                variable.remove("valueFrom");
                variable.insert("value".into(), namespace.as_str().into());
            }
        }
    }
}

/// The bootstrap configuration has the address of the control plane, with the released namespace in it.
fn rewrite_bootstrap(object: &mut Object) {
    let namespace = object.namespace().to_owned();
    if let Some(Value::String(text)) = tree::value(object.value_mut(), &["data", "envoy-bootstrap.yaml"]) {
        *text = text.replace("knative-serving", &namespace);
    }
}

fn set_bootstrap(kourier: &Kourier, object: &mut Object) {
    if kourier.bootstrap_configmap.is_empty() {
        return;
    }
    for volume in tree::elements(object.value_mut(), &["spec", "template", "spec", "volumes"]) {
        let is_bootstrap =
            tree::map(volume, &["configMap"]).is_some_and(|source| pods::name(source) == BOOTSTRAP);
        if is_bootstrap && let Some(volume) = volume.as_object_mut() {
            volume.insert("configMap".into(), json!({"name": kourier.bootstrap_configmap}));
        }
    }
}

fn set_service(kourier: &Kourier, object: &mut Object) -> Result<(), TransformError> {
    let Some(spec) = tree::make_map(object.value_mut(), &["spec"]) else { return Ok(()) };
    match kourier.service_type.as_str() {
        "" => {}
        known @ ("ClusterIP" | "LoadBalancer" | "NodePort") => {
            spec.insert("type".into(), known.into());
        }
        "ExternalName" => return Err(TransformError::UnsupportedServiceType("ExternalName".into())),
        other => return Err(TransformError::UnknownServiceType(other.into())),
    }
    let service_type = tree::text(spec, "type").to_owned();
    if !kourier.service_load_balancer_ip.is_empty() {
        if service_type != "LoadBalancer" {
            return Err(TransformError::NoLoadBalancer(service_type));
        }
        spec.insert("loadBalancerIP".into(), kourier.service_load_balancer_ip.as_str().into());
    }
    if kourier.http_port > 0 || kourier.https_port > 0 {
        if service_type != "NodePort" {
            return Err(TransformError::NoNodePorts(service_type));
        }
        for port in tree::elements(object.value_mut(), &["spec", "ports"]).filter_map(Value::as_object_mut) {
            let number = if pods::name(port) == "https" { kourier.https_port } else { kourier.http_port };
            if number > 0 {
                port.insert("nodePort".into(), number.into());
            }
        }
    }
    Ok(())
}
