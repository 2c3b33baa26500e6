//! The part of `spec` that only `KnativeServing` has.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::crd::shape;

/// Fields that only `KnativeServing` has.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ServingSpec {
    /// A ConfigMap or Secret with certificates that the controller trusts in addition.
    #[serde(rename = "controller-custom-certs")]
    pub controller_custom_certs: Option<CustomCerts>,
    /// Which ingress plugins are installed; absent: istio.
    pub ingress: Option<Ingress>,
    /// The security-guard add-on.
    pub security: Option<Security>,
}

/// A ConfigMap or Secret with certificates.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("required" = ["name", "type"]))]
pub struct CustomCerts {
    /// `ConfigMap` or `Secret`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its name.
    pub name: String,
}

/// The ingress plugins.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Ingress {
    /// Istio.
    pub istio: Istio,
    /// Kourier.
    pub kourier: Kourier,
    /// Contour.
    pub contour: Plugin,
    /// Gateway API.
    #[serde(rename = "gateway-api")]
    pub gateway_api: Plugin,
}

/// An ingress plugin without settings.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Plugin {
    /// Whether it is installed.
    pub enabled: bool,
}

/// The istio plugin.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct Istio {
    /// Whether it is installed.
    pub enabled: bool,
    /// Changes of the Gateway for traffic from outside.
    pub knative_ingress_gateway: Option<Gateway>,
    /// Changes of the Gateway for traffic inside the cluster.
    pub knative_local_gateway: Option<Gateway>,
}

/// Changes of one Istio Gateway.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Gateway {
    /// Replaces the selector.
    pub selector: BTreeMap<String, String>,
    /// Replaces the servers.
    pub servers: Vec<Server>,
}

/// One server of an Istio Gateway.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct Server {
    /// The port it listens on.
    pub port: Option<ServerPort>,
    /// Address it binds to.
    pub bind: String,
    /// Hosts it serves.
    pub hosts: Vec<String>,
    /// Its name.
    pub name: String,
    /// Where traffic goes by default.
    pub default_endpoint: String,
    /// How it terminates TLS.
    pub tls: Option<ServerTls>,
}

/// Port of a server. `target_port` is written with an underscore for compatibility.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ServerPort {
    /// Port number.
    pub number: i32,
    /// Protocol, for instance `HTTPS`.
    pub protocol: String,
    /// Name of the port.
    pub name: String,
    /// Port number on the pods.
    pub target_port: i32,
}

/// TLS settings of a server.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ServerTls {
    /// Whether HTTP is answered with a redirect.
    pub https_redirect: bool,
    /// `PASSTHROUGH`, `SIMPLE`, `MUTUAL`, `AUTO_PASSTHROUGH` or `ISTIO_MUTUAL`.
    #[schemars(schema_with = "shape::tls_mode")]
    pub mode: String,
    /// File with the certificate.
    pub server_certificate: String,
    /// File with the private key.
    pub private_key: String,
    /// File with the certificates of accepted authorities.
    pub ca_certificates: String,
    /// Secret with key and certificates.
    pub credential_name: String,
    /// Accepted names of clients.
    pub subject_alt_names: Vec<String>,
    /// Accepted hashes of public keys.
    pub verify_certificate_spki: Vec<String>,
    /// Accepted hashes of certificates.
    pub verify_certificate_hash: Vec<String>,
    /// Lowest TLS version, a number of Istio's `TLSProtocol`.
    pub min_protocol_version: i32,
    /// Highest TLS version, a number of Istio's `TLSProtocol`.
    pub max_protocol_version: i32,
    /// Accepted cipher suites.
    pub cipher_suites: Vec<String>,
}

/// The kourier plugin.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct Kourier {
    /// Whether it is installed.
    pub enabled: bool,
    /// Type of the Service `kourier`.
    pub service_type: String,
    /// Load balancer address of the Service `kourier`.
    pub service_load_balancer_ip: String,
    /// Node port for HTTP; 0: not set.
    pub http_port: i32,
    /// Node port for HTTPS; 0: not set.
    pub https_port: i32,
    /// ConfigMap that the gateway boots from instead of the released one.
    pub bootstrap_configmap: String,
}

/// Security add-ons.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["securityGuard"]))]
pub struct Security {
    /// The security-guard add-on.
    pub security_guard: SecurityGuard,
}

/// The security-guard add-on.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("required" = ["enabled"]))]
pub struct SecurityGuard {
    /// Whether it is installed.
    pub enabled: bool,
}

/// An ingress plugin by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum IngressPlugin {
    /// Istio.
    Istio,
    /// Contour.
    Contour,
    /// Kourier.
    Kourier,
    /// Gateway API.
    GatewayApi,
}

impl IngressPlugin {
    /// Directory of the plugin below `ingress/<minor>`.
    pub const fn directory(self) -> &'static str {
        match self {
            Self::Istio => "istio",
            Self::Contour => "contour",
            Self::Kourier => "kourier",
            Self::GatewayApi => "gateway-api",
        }
    }
}

impl ServingSpec {
    /// The plugins to install, in the order they are loaded. Without `ingress` it is istio.
    pub fn ingress_plugins(&self) -> Vec<IngressPlugin> {
        let Some(ingress) = &self.ingress else { return vec![IngressPlugin::Istio] };
        [
            (IngressPlugin::Istio, ingress.istio.enabled),
            (IngressPlugin::Contour, ingress.contour.enabled),
            (IngressPlugin::Kourier, ingress.kourier.enabled),
            (IngressPlugin::GatewayApi, ingress.gateway_api.enabled),
        ]
        .into_iter()
        .filter_map(|(plugin, enabled)| enabled.then_some(plugin))
        .collect()
    }

    /// Whether the security-guard add-on is asked for.
    pub fn guard_enabled(&self) -> bool {
        self.security.as_ref().is_some_and(|security| security.security_guard.enabled)
    }
}
