//! Images: `spec.registry`. Init containers and images in ConfigMaps stay as released; the plan warns about them.

use serde_json::{Map, Value};

use super::{Context, TransformError, pods, tree};
use crate::api::Registry;
use crate::manifest::Object;

/// Rewrites the images of workloads and caching Images, image variables, and adds the pull secrets.
pub(super) fn rewrite(context: &Context<'_>, object: &mut Object) -> Result<(), TransformError> {
    let Some(registry) = &context.component.spec.common.registry else { return Ok(()) };
    if object.is("caching.internal.knative.dev", "Image") {
        rewrite_cached(registry, object);
    } else if pods::is_workload(object) {
        rewrite_workload(registry, object);
    }
    Ok(())
}

fn rewrite_workload(registry: &Registry, object: &mut Object) {
    // The key of a Job that is named by the server keeps its trailing dash.
    let owner = match object.generate_name() {
        "" => object.name().to_owned(),
        generated => generated.to_owned(),
    };
    for container in pods::containers(object) {
        let name = pods::name(container).to_owned();
        let by_name = [format!("{owner}/{name}"), name.clone()];
        let overridden = by_name.iter().find_map(|key| registry.overrides.get(key)).cloned();
        let image = overridden.or_else(|| from_template(registry, tree::text(container, "image"), &name));
        if let Some(image) = image {
            container.insert("image".into(), image.into());
        }
        for variable in pods::variables(container) {
            if let Some(image) = registry.overrides.get(pods::name(variable)) {
                variable.remove("valueFrom");
                variable.insert("value".into(), image.as_str().into());
            }
        }
    }
    if let Some(pod) = pods::pod_spec(object) {
        add_pull_secrets(registry, pod);
    }
}

fn rewrite_cached(registry: &Registry, object: &mut Object) {
    let name = object.name().to_owned();
    let Some(spec) = tree::make_map(object.value_mut(), &["spec"]) else { return };
    let overridden = registry.overrides.get(&name).cloned();
    let image = overridden.or_else(|| from_template(registry, tree::text(spec, "image"), &name));
    if let Some(image) = image {
        spec.insert("image".into(), image.into());
    }
    add_pull_secrets(registry, spec);
    if let Some(fields) = object.value_mut().as_object_mut() {
        fields.remove("status");
    }
}

fn add_pull_secrets(registry: &Registry, owner: &mut Map<String, Value>) {
    if registry.image_pull_secrets.is_empty() {
        return;
    }
    if let Some(list) = tree::make_list(owner, "imagePullSecrets") {
        list.extend(
            registry.image_pull_secrets.iter().map(|secret| serde_json::json!({"name": secret.name})),
        );
    }
}

/// The image by the template of `registry.default`, if there is one.
fn from_template(registry: &Registry, image: &str, fallback: &str) -> Option<String> {
    if registry.default.is_empty() {
        return None;
    }
    Some(registry.default.replace("${NAME}", short_name(image).unwrap_or(fallback)))
}

/// What is left of an image without registry, tag and digest; nothing for an image without a slash.
fn short_name(image: &str) -> Option<&str> {
    let (_, last) = image.rsplit_once('/')?;
    let untagged = last.split_once(':').map_or(last, |(name, _)| name);
    Some(untagged.split_once('@').map_or(untagged, |(name, _)| name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_short_name_has_neither_registry_nor_tag_nor_digest() {
        for image in ["gcr.io/a/queue@sha256:1", "gcr.io/a/queue:v1", "gcr.io/a/queue", "h:5000/queue@x"] {
            assert_eq!(short_name(image), Some("queue"), "{image}");
        }
        assert_eq!(short_name("badLink"), None);
    }
}
