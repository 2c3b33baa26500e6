//! The access-provider file, and which of its providers serves a ClusterProfile.
//!
//! Pure. The file's format and the choice are those of the Cluster Inventory API (KEP-5339, "plugins for
//! credentials"); the operator runs what the file says and never what a profile says, except for the arguments and
//! variables that the file's policies let a profile add.

use std::collections::BTreeMap;
use std::path::{Component, Path};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::Deserialize;
use serde_json::Value;

use super::credentials::{ExecCluster, ExecRequest};
use super::endpoint::Endpoint;
use crate::api::cluster_profile::{Cluster, ClusterProfile};

const EXEC_CONFIG_EXTENSION: &str = "client.authentication.k8s.io/exec";
const ARGS_EXTENSION: &str = "clusterprofiles.multicluster.x-k8s.io/exec/additional-args";
const ENV_EXTENSION: &str = "clusterprofiles.multicluster.x-k8s.io/exec/additional-envs";
const EXEC_API_VERSIONS: [&str; 2] =
    ["client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"];

/// The access-provider file.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct AccessConfig {
    /// Providers in the order in which they are tried.
    #[serde(default)]
    pub providers: Vec<Provider>,
}

/// One provider: a name that profiles refer to, and the plugin that issues credentials for it.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Provider {
    /// The name under which profiles list it.
    pub name: String,
    /// The plugin.
    pub exec_config: Option<ExecConfig>,
    /// What to do with arguments from the profile.
    #[serde(default, rename = "profileSourcedCLIArgsPolicy")]
    pub args_policy: String,
    /// What to do with environment variables from the profile.
    #[serde(default, rename = "profileSourcedEnvVarsPolicy")]
    pub env_policy: String,
}

/// An exec plugin (kubeconfig v1 `ExecConfig`).
#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExecConfig {
    /// Version of the plugin protocol.
    pub api_version: String,
    /// Program to run.
    pub command: String,
    /// Its arguments.
    #[serde(default)]
    pub args: Option<Vec<String>>,
    /// Variables added to its environment.
    #[serde(default)]
    pub env: Option<Vec<EnvVar>>,
    /// Whether the plugin is told about the cluster.
    #[serde(default)]
    pub provide_cluster_info: bool,
    /// Shown when the command is missing.
    #[serde(default)]
    pub install_hint: String,
}

/// Values of variables may be secrets, so only names are shown.
impl std::fmt::Debug for ExecConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ExecConfig").field("command", &self.command).finish_non_exhaustive()
    }
}

/// One environment variable.
#[derive(Clone, Deserialize)]
pub struct EnvVar {
    /// Name.
    pub name: String,
    /// Value.
    #[serde(default)]
    pub value: String,
}

/// Why the file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum AccessFileError {
    /// Not JSON, or not of this shape.
    #[error("the access-provider file is malformed at {path}")]
    Malformed {
        /// JSON path of the first problem.
        path: String,
        /// The cause.
        #[source]
        cause: serde_json::Error,
    },
}

/// Why no provider serves a profile.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AccessError {
    /// No provider of the file is listed by the profile.
    #[error(
        "no matching cluster accessor found for cluster profile {profile:?}; the file knows {known}, the profile offers {offered}"
    )]
    NoMatch {
        /// The profile.
        profile: String,
        /// Names in the file.
        known: String,
        /// Names in the profile.
        offered: String,
    },
    /// The file's entry names no plugin.
    #[error("no exec config found for provider {0:?}")]
    NoExec(String),
    /// The protocol version is unknown.
    #[error("exec plugin of provider {provider:?}: invalid apiVersion {api_version:?}")]
    ApiVersion {
        /// The provider.
        provider: String,
        /// What the file says.
        api_version: String,
    },
    /// The profile's connection has no server.
    #[error("cluster profile {profile:?} has no server for provider {provider:?}")]
    NoServer {
        /// The profile.
        profile: String,
        /// The provider.
        provider: String,
    },
    /// The profile's certificate authority is no base64.
    #[error("certificate-authority-data of cluster profile {0:?} is not base64")]
    CertificateAuthority(String),
    /// The profile names a file with its certificate authority that is not beside the access-provider file.
    #[error(
        "certificate-authority of cluster profile {profile:?} must be a file below the directory of the \
         access-provider file"
    )]
    CertificateAuthorityPlace {
        /// The profile.
        profile: String,
    },
    /// A profile extension does not have the expected shape.
    #[error("failed to unmarshal additional {what} extension of cluster profile {profile:?}")]
    Extension {
        /// The profile.
        profile: String,
        /// Which extension.
        what: &'static str,
    },
    /// The policy's value is unknown.
    #[error("unsupported {what}: {value:?} (provider {provider:?})")]
    Policy {
        /// The provider.
        provider: String,
        /// Name of the policy field.
        what: &'static str,
        /// Its value.
        value: String,
    },
}

/// Where a cluster is and who issues credentials for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// Connection data.
    pub endpoint: Endpoint,
    /// The plugin run that gives credentials.
    pub exec: ExecRequest,
    /// File with the certificate authority, which is still to be read; see [`Access::trust`].
    pub authority_file: Option<String>,
}

impl Access {
    /// Gives the connection, and the plugin, the certificate authority that was read from a file.
    pub fn trust(&mut self, pem: &[u8]) {
        self.endpoint.certificate_authority = Some(pem.into());
        if let Some(cluster) = &mut self.exec.cluster {
            cluster.endpoint.certificate_authority = Some(pem.into());
        }
    }
}

impl AccessConfig {
    /// Reads the file. Keys it does not know are returned, for a warning.
    ///
    /// # Errors
    /// [`AccessFileError`] when it is not JSON of this shape.
    pub fn from_json(bytes: &[u8]) -> Result<(Self, Vec<String>), AccessFileError> {
        let mut track = serde_path_to_error::Track::new();
        let mut json = serde_json::Deserializer::from_slice(bytes);
        let parsed = Self::deserialize(serde_path_to_error::Deserializer::new(&mut json, &mut track));
        let config = parsed.and_then(|config| json.end().map(|()| config));
        let config =
            config.map_err(|cause| AccessFileError::Malformed { path: track.path().to_string(), cause })?;
        Ok((config, unknown_keys(bytes)))
    }

    /// The first provider of the file that the profile lists, with its connection and plugin. What a profile adds
    /// goes into the result only, never back into the file's data (W30).
    ///
    /// # Errors
    /// [`AccessError`] when none fits or what fits is incomplete.
    pub fn choose(&self, profile: &ClusterProfile) -> Result<Access, AccessError> {
        let key = format!("{}/{}", profile.namespace, profile.name);
        let chosen = self.providers.iter().find_map(|p| Some((p, profile.access_provider(&p.name)?)));
        let Some((provider, offered)) = chosen else {
            return Err(AccessError::NoMatch {
                profile: key,
                known: name_list(self.providers.iter().map(|p| p.name.as_str())),
                offered: name_list(profile.access_providers.iter().map(|p| p.name.as_str())),
            });
        };
        access(provider, &offered.cluster, &key)
    }
}

fn access(provider: &Provider, cluster: &Cluster, profile: &str) -> Result<Access, AccessError> {
    let exec = provider.exec_config.as_ref().ok_or_else(|| AccessError::NoExec(provider.name.clone()))?;
    if !EXEC_API_VERSIONS.contains(&exec.api_version.as_str()) {
        return Err(AccessError::ApiVersion {
            provider: provider.name.clone(),
            api_version: exec.api_version.clone(),
        });
    }
    if cluster.server.is_empty() {
        return Err(AccessError::NoServer { profile: profile.into(), provider: provider.name.clone() });
    }
    let endpoint = Endpoint {
        server: cluster.server.clone(),
        certificate_authority: certificate_authority(cluster, profile)?,
        tls_server_name: given(&cluster.tls_server_name),
        insecure_skip_tls_verify: cluster.insecure_skip_tls_verify,
        proxy_url: given(&cluster.proxy_url),
        disable_compression: cluster.disable_compression,
    };
    let config = extension(cluster, EXEC_CONFIG_EXTENSION).cloned();
    let exec = ExecRequest {
        provider: provider.name.clone(),
        profile: profile.into(),
        api_version: exec.api_version.clone(),
        command: exec.command.clone(),
        args: arguments(provider, exec, cluster, profile)?,
        env: environment(provider, exec, cluster, profile)?,
        install_hint: exec.install_hint.clone(),
        cluster: exec.provide_cluster_info.then(|| ExecCluster { endpoint: endpoint.clone(), config }),
    };
    // As in a kubeconfig, inline data win.
    let authority_file =
        given(&cluster.certificate_authority).filter(|_| endpoint.certificate_authority.is_none());
    Ok(Access { endpoint, exec, authority_file })
}

fn arguments(
    provider: &Provider,
    exec: &ExecConfig,
    cluster: &Cluster,
    profile: &str,
) -> Result<Vec<String>, AccessError> {
    let mut args = exec.args.clone().unwrap_or_default();
    let Some(extension) = extension(cluster, ARGS_EXTENSION) else { return Ok(args) };
    match provider.args_policy.as_str() {
        "" | "Ignore" => {}
        "Append" => args.extend(
            read_extension::<Option<Vec<String>>>(extension, "CLI args", profile)?.into_iter().flatten(),
        ),
        other => return Err(unsupported(provider, "ProfileSourcedCLIArgsPolicy", other)),
    }
    Ok(args)
}

fn environment(
    provider: &Provider,
    exec: &ExecConfig,
    cluster: &Cluster,
    profile: &str,
) -> Result<BTreeMap<String, String>, AccessError> {
    let mut env: BTreeMap<_, _> =
        exec.env.iter().flatten().map(|var| (var.name.clone(), var.value.clone())).collect();
    let Some(extension) = extension(cluster, ENV_EXTENSION) else { return Ok(env) };
    let added = || -> Result<BTreeMap<String, String>, AccessError> {
        Ok(read_extension::<Option<BTreeMap<_, _>>>(extension, "env vars", profile)?.unwrap_or_default())
    };
    match provider.env_policy.as_str() {
        "" | "Ignore" => {}
        "AppendIfNotExists" => {
            for (name, value) in added()? {
                env.entry(name).or_insert(value);
            }
        }
        "Replace" => env.extend(added()?),
        other => return Err(unsupported(provider, "ProfileSourcedEnvVarsPolicy", other)),
    }
    Ok(env)
}

fn given(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

fn certificate_authority(cluster: &Cluster, profile: &str) -> Result<Option<Vec<u8>>, AccessError> {
    let decode = |text: String| {
        BASE64_STANDARD.decode(text).map_err(|_| AccessError::CertificateAuthority(profile.into()))
    };
    given(&cluster.certificate_authority_data).map(decode).transpose()
}

/// Where the file is that a profile names: below the directory of the access-provider file, where only those who run the
/// operator put files. Anything else would let a profile have it read whatever it can read.
///
/// # Errors
/// [`AccessError::CertificateAuthorityPlace`].
pub fn authority_path(provider_file: &str, file: &str, profile: &str) -> Result<String, AccessError> {
    let refused = || AccessError::CertificateAuthorityPlace { profile: profile.into() };
    let directory = Path::new(provider_file).parent().ok_or_else(refused)?;
    // An absolute path replaces the directory.
    let path = directory.join(file);
    let climbs = path.components().any(|part| part == Component::ParentDir);
    if climbs || file.contains("://") || !path.starts_with(directory) {
        return Err(refused());
    }
    Ok(path.display().to_string())
}

fn extension<'a>(cluster: &'a Cluster, name: &str) -> Option<&'a Value> {
    cluster.extensions.iter().find(|extension| extension.name == name).map(|extension| &extension.extension)
}

/// An extension holds the value itself, or a string with the value in YAML.
fn read_extension<T: serde::de::DeserializeOwned>(
    extension: &Value,
    what: &'static str,
    profile: &str,
) -> Result<T, AccessError> {
    let read = match extension {
        Value::String(text) => serde_saphyr::from_str(text).ok(),
        value => serde_json::from_value(value.clone()).ok(),
    };
    read.ok_or_else(|| AccessError::Extension { profile: profile.into(), what })
}

fn unsupported(provider: &Provider, what: &'static str, value: &str) -> AccessError {
    AccessError::Policy { provider: provider.name.clone(), what, value: value.into() }
}

fn name_list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<_> = names.collect();
    if names.is_empty() { "none".into() } else { names.join(", ") }
}

/// Keys of the file that nothing reads, as JSON paths.
fn unknown_keys(bytes: &[u8]) -> Vec<String> {
    const TOP: &[&str] = &["providers"];
    const PROVIDER: &[&str] =
        &["name", "execConfig", "profileSourcedCLIArgsPolicy", "profileSourcedEnvVarsPolicy"];
    const EXEC: &[&str] =
        &["apiVersion", "command", "args", "env", "provideClusterInfo", "interactiveMode", "installHint"];
    let file: Value = serde_json::from_slice(bytes).unwrap_or_default();
    let mut unknown = Vec::new();
    let mut look = |at: &str, value: &Value, known: &[&str]| {
        let keys = value.as_object().into_iter().flat_map(|map| map.keys());
        unknown.extend(keys.filter(|k| !known.contains(&k.as_str())).map(|k| format!("{at}{k}")));
    };
    look("", &file, TOP);
    for (i, provider) in file["providers"].as_array().into_iter().flatten().enumerate() {
        look(&format!("providers[{i}]."), provider, PROVIDER);
        look(&format!("providers[{i}].execConfig."), &provider["execConfig"], EXEC);
    }
    unknown
}

#[cfg(test)]
mod tests;
