//! The kubeconfig of a served cluster.

use base64::Engine;
use serde_json::{Value, json};

/// A kubeconfig (JSON, which is YAML) for the server at `url`, whose authority is `ca_pem`, with a bearer token.
pub fn kubeconfig(url: &str, ca_pem: &str, token: &str) -> String {
    let name = "fake-apiserver";
    let authority = base64::engine::general_purpose::STANDARD.encode(ca_pem);
    let config: Value = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": name,
        "clusters": [{ "name": name, "cluster": { "server": url, "certificate-authority-data": authority } }],
        "users": [{ "name": name, "user": { "token": token } }],
        "contexts": [{ "name": name, "context": { "cluster": name, "user": name, "namespace": "default" } }],
    });
    format!("{config:#}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holds_url_authority_and_token() {
        let config: Value = serde_json::from_str(&kubeconfig("https://h:1", "PEM", "secret")).unwrap();
        assert_eq!(config["clusters"][0]["cluster"]["server"], "https://h:1");
        assert_eq!(config["clusters"][0]["cluster"]["certificate-authority-data"], "UEVN");
        assert_eq!(config["users"][0]["user"]["token"], "secret");
    }
}
