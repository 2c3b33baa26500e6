//! The istio ingress plugin: its Gateways, and the Service that must stand beside Istio's own.

use serde_json::{Map, Value, json};

use super::{Context, TransformError, tree};
use crate::api::{Gateway, Istio, Server, ServerTls};
use crate::manifest::{Object, parse};

/// The gateway for traffic inside the cluster, and its Service.
const LOCAL: &str = "knative-local-gateway";

/// The gateway for traffic from outside.
const INGRESS: &str = "knative-ingress-gateway";

/// Historical name of [`LOCAL`].
const OLD_LOCAL: &str = "cluster-local-gateway";

/// The modes of Istio's `ServerTLSSettings`.
const TLS_MODES: [&str; 5] = ["PASSTHROUGH", "SIMPLE", "MUTUAL", "AUTO_PASSTHROUGH", "ISTIO_MUTUAL"];

fn settings<'a>(context: &Context<'a>) -> Option<&'a Istio> {
    context.component.serving()?.ingress.as_ref().map(|ingress| &ingress.istio)
}

/// Replaces selector and servers of the Gateways.
pub(super) fn set_gateway(context: &Context<'_>, object: &mut Object) -> Result<(), TransformError> {
    if !object.is("networking.istio.io", "Gateway") {
        return Ok(());
    }
    let Some(istio) = settings(context).filter(|istio| istio.enabled) else { return Ok(()) };
    let wanted = match object.name() {
        INGRESS => &istio.knative_ingress_gateway,
        LOCAL | OLD_LOCAL => &istio.knative_local_gateway,
        _ => return Ok(()),
    };
    let Some(Gateway { selector, servers }) = wanted else { return Ok(()) };
    let name = object.name().to_owned();
    let Some(spec) = tree::make_map(object.value_mut(), &["spec"]) else { return Ok(()) };
    if !selector.is_empty() {
        spec.insert("selector".into(), json!(selector));
    }
    if !servers.is_empty() {
        let servers: Result<Vec<_>, _> = servers.iter().map(|server| istio_server(server, &name)).collect();
        spec.insert("servers".into(), servers?.into());
    }
    Ok(())
}

/// The server with Istio's field names; empty fields are left out.
fn istio_server(server: &Server, gateway: &str) -> Result<Value, TransformError> {
    let mut fields = Fields::default();
    if let Some(port) = &server.port {
        let mut out = Fields::default();
        out.set("number", port.number, port.number != 0);
        out.text("protocol", &port.protocol);
        out.text("name", &port.name);
        out.set("targetPort", port.target_port, port.target_port != 0);
        fields.set("port", out.0, true);
    }
    fields.text("bind", &server.bind);
    fields.list("hosts", &server.hosts);
    fields.text("name", &server.name);
    fields.text("defaultEndpoint", &server.default_endpoint);
    if let Some(tls) = &server.tls {
        fields.set("tls", istio_tls(tls, gateway)?, true);
    }
    Ok(fields.0.into())
}

fn istio_tls(tls: &ServerTls, gateway: &str) -> Result<Value, TransformError> {
    if !tls.mode.is_empty() && !TLS_MODES.contains(&tls.mode.as_str()) {
        return Err(TransformError::UnknownTlsMode { gateway: gateway.into(), mode: tls.mode.clone() });
    }
    let protocol = |number: i32| match number {
        0 => Value::Null,
        1 => "TLSV1_0".into(),
        2 => "TLSV1_1".into(),
        3 => "TLSV1_2".into(),
        4 => "TLSV1_3".into(),
        other => other.into(),
    };
    let mut fields = Fields::default();
    fields.set("httpsRedirect", true, tls.https_redirect);
    // PASSTHROUGH is the zero of Istio's enumeration and therefore not written.
    fields.set("mode", tls.mode.as_str(), !tls.mode.is_empty() && tls.mode != "PASSTHROUGH");
    fields.text("serverCertificate", &tls.server_certificate);
    fields.text("privateKey", &tls.private_key);
    fields.text("caCertificates", &tls.ca_certificates);
    fields.text("credentialName", &tls.credential_name);
    fields.list("subjectAltNames", &tls.subject_alt_names);
    fields.list("verifyCertificateSpki", &tls.verify_certificate_spki);
    fields.list("verifyCertificateHash", &tls.verify_certificate_hash);
    fields.set("minProtocolVersion", protocol(tls.min_protocol_version), tls.min_protocol_version != 0);
    fields.set("maxProtocolVersion", protocol(tls.max_protocol_version), tls.max_protocol_version != 0);
    fields.list("cipherSuites", &tls.cipher_suites);
    Ok(fields.0.into())
}

/// A map that is written without its empty fields, as protobuf's JSON is.
#[derive(Default)]
struct Fields(Map<String, Value>);

impl Fields {
    fn set(&mut self, field: &str, value: impl Into<Value>, given: bool) {
        if given {
            self.0.insert(field.into(), value.into());
        }
    }

    fn text(&mut self, field: &str, text: &str) {
        self.set(field, text, !text.is_empty());
    }

    fn list(&mut self, field: &str, list: &[String]) {
        self.set(field, list.to_vec(), !list.is_empty());
    }
}

/// Puts the local gateway's Service beside Istio's gateway, where the ConfigMap `config-istio` expects it, and sets
/// the selectors of both gateway Services. Always done: the Service may come from an additional manifest.
pub(super) fn place_service(context: &Context<'_>, object: &mut Object) -> Result<(), TransformError> {
    if !object.is("", "Service") {
        return Ok(());
    }
    let istio = settings(context);
    let gateway = match object.name() {
        LOCAL => {
            let namespace = local_gateway_namespace(context).unwrap_or_else(|| "istio-system".into());
            object.metadata_mut().insert("namespace".into(), namespace.into());
            istio.and_then(|istio| istio.knative_local_gateway.as_ref())
        }
        INGRESS => istio.and_then(|istio| istio.knative_ingress_gateway.as_ref()),
        _ => return Ok(()),
    };
    if let Some(gateway) = gateway.filter(|gateway| !gateway.selector.is_empty())
        && let Some(spec) = tree::make_map(object.value_mut(), &["spec"])
    {
        spec.insert("selector".into(), json!(gateway.selector));
    }
    Ok(())
}

/// The namespace of the local gateway's Service in the user's `config-istio`: in its list of gateways, else in the old
/// notation.
fn local_gateway_namespace(context: &Context<'_>) -> Option<String> {
    let config = context.component.spec.common.config_of("config-istio")?;
    let listed = config.get("local-gateways").and_then(|text| listed_namespace(text));
    let namespace = listed.or_else(|| {
        let address = config.get(&format!("local-gateway.{}.{LOCAL}", context.facts.namespace))?;
        address.split('.').nth(1).map(Into::into)
    });
    namespace.filter(|namespace| !namespace.is_empty())
}

/// The namespace of the local gateway in a list of gateways.
fn listed_namespace(text: &str) -> Option<String> {
    let gateways = parse::parse_documents(text.as_bytes()).ok()?.into_iter().next()?;
    let gateway = gateways.as_array()?.iter().find(|gateway| gateway.get("name") == Some(&LOCAL.into()))?;
    gateway.get("namespace")?.as_str().map(Into::into)
}
