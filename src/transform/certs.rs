//! Additional certificates for Serving's controller: `spec.controller-custom-certs`.

use serde_json::json;

use super::{Context, TransformError, pods, tree};
use crate::manifest::Object;

/// Where the certificates are mounted.
const DIRECTORY: &str = "/custom-certs";

/// Mounts the ConfigMap or Secret into the first container and points `SSL_CERT_DIR` to it.
pub(super) fn mount(context: &Context<'_>, object: &mut Object) -> Result<(), TransformError> {
    let wanted = context.component.serving().and_then(|serving| serving.controller_custom_certs.as_ref());
    let Some(wanted) = wanted.filter(|certs| !(certs.kind.is_empty() && certs.name.is_empty())) else {
        return Ok(());
    };
    if !pods::is_deployment(object) || object.name() != "controller" {
        return Ok(());
    }
    let volume = format!("custom-certs-{}", wanted.name);
    let source = match wanted.kind.as_str() {
        "ConfigMap" => json!({"name": volume, "configMap": {"name": wanted.name}}),
        "Secret" => json!({"name": volume, "secret": {"secretName": wanted.name}}),
        other => return Err(TransformError::UnknownCertsType(other.into())),
    };
    if wanted.name.is_empty() {
        return Err(TransformError::UnnamedCerts(wanted.kind.clone()));
    }
    if let Some(volumes) = pods::pod_spec(object).and_then(|pod| tree::make_list(pod, "volumes")) {
        volumes.push(source);
    }
    if let Some(container) = pods::containers(object).next() {
        if let Some(mounts) = tree::make_list(container, "volumeMounts") {
            mounts.push(json!({"name": volume, "mountPath": DIRECTORY}));
        }
        if let Some(env) = tree::make_list(container, "env") {
            env.push(json!({"name": "SSL_CERT_DIR", "value": DIRECTORY}));
        }
    }
    Ok(())
}
