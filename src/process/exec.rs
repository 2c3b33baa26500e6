//! Credential plugins as processes (`client.authentication.k8s.io`, KEP-541).
//!
//! A plugin runs without a shell, in a process group of its own and with an environment that holds nothing of ours but
//! what finding the cluster's own API needs. Its output is bounded. When the future is dropped, the whole group is
//! killed, so a plugin that hangs, or whose children do, leaves nothing behind.

use std::process::Stdio;
use std::sync::Arc;

use async_trait::async_trait;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use jiff::Timestamp;
use rustix::process::{Pid, Signal, kill_process_group};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};

use crate::target::credentials::{ClientIdentity, CredentialError, Credentials, ExecCredential, ExecRequest};

/// Longest answer of a plugin, in bytes; real ones have a few kilobytes.
const STDOUT_MAX: u64 = 1 << 20;
/// How much of a plugin's standard error is kept for people, in bytes.
const STDERR_MAX: u64 = 4096;
/// Variables that a plugin inherits: to find programs, and the cluster that the operator itself runs in.
const INHERITED: [&str; 4] = ["PATH", "HOME", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"];

/// Runs plugins. The time limit is the caller's: dropping the future kills the plugin.
#[derive(Clone, Copy, Debug, Default)]
pub struct ExecPlugins;

#[async_trait]
impl Credentials for ExecPlugins {
    async fn issue(&self, request: &ExecRequest) -> Result<ExecCredential, CredentialError> {
        run(request).await.map_err(|reason| CredentialError::Failed {
            provider: request.provider.clone(),
            profile: request.profile.clone(),
            reason,
        })
    }
}

/// A running plugin whose process group dies with this value.
struct Group(Option<Pid>);

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            // It may have ended by itself; then there is nothing to kill.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

async fn run(request: &ExecRequest) -> Result<ExecCredential, String> {
    let mut child = spawn(request)?;
    let group = Group(child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)));
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let (answer, complaint) = tokio::join!(bounded(stdout, STDOUT_MAX), bounded(stderr, STDERR_MAX));
    let answer = answer.map_err(|error| format!("its answer cannot be read: {error}"))?;
    let complaint = redacted(&complaint.unwrap_or_default());
    if answer.len() as u64 > STDOUT_MAX {
        return Err(format!("its answer is longer than {STDOUT_MAX} bytes"));
    }
    let status = child.wait().await.map_err(|error| format!("it cannot be waited for: {error}"))?;
    drop(group);
    if !status.success() {
        let code = status.code().map_or_else(|| "a signal".into(), |code| format!("exit code {code}"));
        return Err(format!("executable {} failed with {code}{complaint}", request.command));
    }
    credential(&answer, &request.api_version)
}

fn spawn(request: &ExecRequest) -> Result<Child, String> {
    let mut command = Command::new(&request.command);
    command.args(&request.args).env_clear().process_group(0).kill_on_drop(true);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    for name in INHERITED {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    command.envs(&request.env).env("KUBERNETES_EXEC_INFO", exec_info(request).to_string());
    command.spawn().map_err(|error| {
        let hint = if request.install_hint.is_empty() {
            String::new()
        } else {
            format!("; {}", request.install_hint)
        };
        match error.kind() {
            std::io::ErrorKind::NotFound => format!("executable {} not found{hint}", request.command),
            _ => format!("executable {} cannot be run: {error}{hint}", request.command),
        }
    })
}

/// Reads to the end or one byte past the limit, and then goes on reading into the void so that the writer can end.
async fn bounded(stream: Option<impl AsyncRead + Unpin>, limit: u64) -> std::io::Result<Vec<u8>> {
    let Some(mut stream) = stream else { return Ok(Vec::new()) };
    let mut kept = Vec::new();
    (&mut stream).take(limit + 1).read_to_end(&mut kept).await?;
    if kept.len() as u64 <= limit {
        return Ok(kept);
    }
    if limit == STDERR_MAX {
        tokio::io::copy(&mut stream, &mut tokio::io::sink()).await?;
    }
    Ok(kept)
}

/// The value of `KUBERNETES_EXEC_INFO`.
fn exec_info(request: &ExecRequest) -> Value {
    let mut spec = json!({"interactive": false});
    if let Some(cluster) = &request.cluster {
        let endpoint = &cluster.endpoint;
        let mut info = json!({"server": endpoint.server});
        if let Some(name) = &endpoint.tls_server_name {
            info["tls-server-name"] = json!(name);
        }
        if endpoint.insecure_skip_tls_verify {
            info["insecure-skip-tls-verify"] = json!(true);
        }
        if let Some(ca) = &endpoint.certificate_authority {
            info["certificate-authority-data"] = json!(BASE64_STANDARD.encode(ca));
        }
        if let Some(proxy) = &endpoint.proxy_url {
            info["proxy-url"] = json!(proxy);
        }
        if endpoint.disable_compression {
            info["disable-compression"] = json!(true);
        }
        if let Some(config) = &cluster.config {
            info["config"] = config.clone();
        }
        spec["cluster"] = info;
    }
    json!({"kind": "ExecCredential", "apiVersion": request.api_version, "spec": spec})
}

/// Reads a plugin's answer.
fn credential(answer: &[u8], api_version: &str) -> Result<ExecCredential, String> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Answer {
        #[serde(default)]
        api_version: String,
        status: Option<Status>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Status {
        #[serde(default)]
        token: String,
        #[serde(default)]
        client_certificate_data: String,
        #[serde(default)]
        client_key_data: String,
        expiration_timestamp: Option<Timestamp>,
    }
    // The parser's text may quote the answer, which may hold a token: say where, not what.
    let answer: Answer = serde_json::from_slice(answer).map_err(|error| {
        format!("decoding stdout: not an ExecCredential at line {} column {}", error.line(), error.column())
    })?;
    if answer.api_version != api_version {
        let returned = &answer.api_version;
        return Err(format!(
            "exec plugin is configured to use API version {api_version}, plugin returned version {returned}"
        ));
    }
    let status = answer.status.ok_or("exec plugin didn't return a status field")?;
    let token = Some(status.token).filter(|token| !token.is_empty()).map(SecretString::from);
    let identity = identity(status.client_certificate_data, status.client_key_data.into())?;
    if token.is_none() && identity.is_none() {
        return Err("exec plugin didn't return a token or cert/key pair".into());
    }
    Ok(ExecCredential { token, identity: identity.map(Arc::new), expires: status.expiration_timestamp })
}

/// A certificate and its key, if they are there and can be read. Nothing of them is repeated.
fn identity(certificate: String, key: SecretString) -> Result<Option<ClientIdentity>, String> {
    match (certificate.is_empty(), key.expose_secret().is_empty()) {
        (true, true) => return Ok(None),
        (false, false) => {}
        _ => return Err("exec plugin returned only certificate or key, not both".into()),
    }
    let certificates = CertificateDer::pem_slice_iter(certificate.as_bytes()).collect::<Result<Vec<_>, _>>();
    if certificates.map_or(0, |certificates| certificates.len()) == 0 {
        return Err("clientCertificateData of the exec plugin holds no certificate in PEM".into());
    }
    PrivateKeyDer::from_pem_slice(key.expose_secret().as_bytes())
        .map_err(|_| "clientKeyData of the exec plugin holds no private key in PEM")?;
    Ok(Some(ClientIdentity { certificate, key }))
}

/// The end of what a plugin complained about, without what looks like a secret.
fn redacted(complaint: &[u8]) -> String {
    let text = String::from_utf8_lossy(complaint);
    let words = text.split_whitespace().map(|word| if looks_secret(word) { "[redacted]" } else { word });
    let text = words.collect::<Vec<_>>().join(" ");
    if text.is_empty() { text } else { format!(": {text}") }
}

/// Long unbroken runs of letters and digits, and everything that announces itself.
fn looks_secret(word: &str) -> bool {
    let lower = word.to_lowercase();
    let announced = ["token=", "password=", "secret=", "authorization:", "bearer"]
        .iter()
        .any(|mark| lower.contains(mark));
    let longest = word
        .split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.')))
        .map(str::len)
        .max();
    announced || longest.is_some_and(|longest| longest >= 40 && !word.contains('/'))
}

#[cfg(test)]
mod tests;
