//! `ClusterProfile` of `multicluster.x-k8s.io/v1alpha1` as we read it. Whatever is missing or odd reads as absent.
//!
//! We never write it. Certificates and settings are handed on as they are; judging them is the reader's task.

use serde_json::Value;

/// Condition that says whether the cluster's control plane works.
pub const CONTROL_PLANE_HEALTHY: &str = "ControlPlaneHealthy";

/// The description of a cluster that custom resources can be installed to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClusterProfile {
    /// Name.
    pub name: String,
    /// Namespace.
    pub namespace: String,
    /// UID.
    pub uid: String,
    /// Version of the object on the hub.
    pub resource_version: String,
    /// Whether it is being deleted.
    pub deleting: bool,
    /// The condition `ControlPlaneHealthy`; none when it is absent.
    pub control_plane_healthy: Option<Health>,
    /// Kubernetes version, for instance `v1.33.2`; empty when absent.
    pub kubernetes_version: String,
    /// How to connect, by provider name: `credentialProviders` (deprecated), then `accessProviders`, which wins for an
    /// equal name.
    pub access_providers: Vec<AccessProvider>,
}

/// A condition of the cluster.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Health {
    /// Whether its status is `True`.
    pub healthy: bool,
    /// Its reason.
    pub reason: String,
    /// Its message.
    pub message: String,
}

/// Connection data for one access provider.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AccessProvider {
    /// Name, matched with the names in the provider file.
    pub name: String,
    /// Whether it comes from the deprecated list.
    pub deprecated: bool,
    /// Where the cluster is.
    pub cluster: Cluster,
}

/// The kubeconfig v1 `Cluster`. Absent text is empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cluster {
    /// URL of the API server.
    pub server: String,
    /// Name to expect in the server's certificate.
    pub tls_server_name: String,
    /// Whether the certificate is not checked.
    pub insecure_skip_tls_verify: bool,
    /// File with the certificate authority.
    pub certificate_authority: String,
    /// Base64 of the certificate authority.
    pub certificate_authority_data: String,
    /// URL of a proxy.
    pub proxy_url: String,
    /// Whether responses are not compressed.
    pub disable_compression: bool,
    /// Named settings for credential plugins.
    pub extensions: Vec<Extension>,
}

/// A named setting.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Extension {
    /// Its name.
    pub name: String,
    /// Any JSON.
    pub extension: Value,
}

impl ClusterProfile {
    /// Reads a ClusterProfile; nothing in it is required.
    pub fn from_value(value: &Value) -> Self {
        let status = |field: &str| value.get("status").and_then(|status| status.get(field));
        let metadata = value.get("metadata").unwrap_or(&Value::Null);
        let mut access_providers = providers(status("credentialProviders"), true);
        for provider in providers(status("accessProviders"), false) {
            access_providers.retain(|known| known.name != provider.name);
            access_providers.push(provider);
        }
        Self {
            name: text(metadata, "name"),
            namespace: text(metadata, "namespace"),
            uid: text(metadata, "uid"),
            resource_version: text(metadata, "resourceVersion"),
            deleting: metadata.get("deletionTimestamp").is_some_and(|time| !time.is_null()),
            control_plane_healthy: list(status("conditions"))
                .find(|condition| text(condition, "type") == CONTROL_PLANE_HEALTHY)
                .map(|condition| Health {
                    healthy: text(condition, "status") == "True",
                    reason: text(condition, "reason"),
                    message: text(condition, "message"),
                }),
            kubernetes_version: status("version")
                .map(|version| text(version, "kubernetes"))
                .unwrap_or_default(),
            access_providers,
        }
    }

    /// Whether the control plane is known to be healthy. Without the condition it is not.
    pub fn is_healthy(&self) -> bool {
        self.control_plane_healthy.as_ref().is_some_and(|health| health.healthy)
    }

    /// The access provider with this name.
    pub fn access_provider(&self, name: &str) -> Option<&AccessProvider> {
        self.access_providers.iter().find(|provider| provider.name == name)
    }
}

fn providers(field: Option<&Value>, deprecated: bool) -> Vec<AccessProvider> {
    list(field)
        .map(|provider| AccessProvider {
            name: text(provider, "name"),
            deprecated,
            cluster: cluster(provider.get("cluster").unwrap_or(&Value::Null)),
        })
        .filter(|provider| !provider.name.is_empty())
        .collect()
}

fn cluster(value: &Value) -> Cluster {
    let flag = |field: &str| value.get(field).and_then(Value::as_bool).unwrap_or_default();
    Cluster {
        server: text(value, "server"),
        tls_server_name: text(value, "tls-server-name"),
        insecure_skip_tls_verify: flag("insecure-skip-tls-verify"),
        certificate_authority: text(value, "certificate-authority"),
        certificate_authority_data: text(value, "certificate-authority-data"),
        proxy_url: text(value, "proxy-url"),
        disable_compression: flag("disable-compression"),
        extensions: list(value.get("extensions"))
            .map(|entry| Extension {
                name: text(entry, "name"),
                extension: entry.get("extension").cloned().unwrap_or_default(),
            })
            .collect(),
    }
}

fn text(value: &Value, field: &str) -> String {
    value.get(field).and_then(Value::as_str).unwrap_or_default().into()
}

fn list(field: Option<&Value>) -> impl Iterator<Item = &Value> {
    field.and_then(Value::as_array).into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_access_provider_beats_a_deprecated_one_of_the_same_name() {
        let profile = ClusterProfile::from_value(&json!({"status": {
            "credentialProviders": [{"name": "a", "cluster": {"server": "old"}}, {"name": "b"}],
            "accessProviders": [{"name": "a", "cluster": {"server": "new", "tls-server-name": "sni"}}],
        }}));
        assert_eq!(profile.access_provider("a").unwrap().cluster.server, "new");
        assert_eq!(profile.access_provider("a").unwrap().cluster.tls_server_name, "sni");
        assert!(profile.access_provider("b").unwrap().deprecated);
        assert_eq!(profile.access_providers.len(), 2);
    }

    #[test]
    fn a_profile_without_the_condition_is_not_healthy() {
        assert!(!ClusterProfile::from_value(&json!({"status": {"conditions": 3}})).is_healthy());
        assert_eq!(ClusterProfile::from_value(&Value::Null), ClusterProfile::default());
        let with = |status: &str| {
            json!({"status": {"conditions": [{"type": "Joined", "status": "False"},
                                             {"type": "ControlPlaneHealthy", "status": status}]}})
        };
        assert!(ClusterProfile::from_value(&with("True")).is_healthy());
        assert!(!ClusterProfile::from_value(&with("Unknown")).is_healthy());
    }
}
