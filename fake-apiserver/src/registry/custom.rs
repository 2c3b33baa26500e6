//! From a CustomResourceDefinition to the resource it defines.

use std::sync::Arc;

use serde_json::Value;

use super::{Resource, ScalePaths, Traits, Version, resource_id};
use crate::schema::{FieldError, StructuralSchema};

/// The resource that an accepted CustomResourceDefinition defines.
///
/// # Errors
/// Schemas that are not structural; paths as in the definition.
pub(crate) fn resource_of(definition: &Value) -> Result<Resource, Vec<FieldError>> {
    let spec = &definition["spec"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let list = |value: &Value| value.as_array().into_iter().flatten().map(text).collect::<Vec<_>>();
    let (group, names) = (text(&spec["group"]), &spec["names"]);
    let (kind, plural) = (text(&names["kind"]), text(&names["plural"]));
    let mut versions = Vec::new();
    let mut stored = 0;
    let mut errors = Vec::new();
    let declared = spec["versions"].as_array().map(Vec::as_slice).unwrap_or_default();
    for (index, declaration) in declared.iter().enumerate() {
        match version_of(declaration, &group, &kind, index) {
            Ok(version) => versions.push((declaration["storage"] == true, version)),
            Err(more) => errors.extend(more),
        }
    }
    if !errors.is_empty() || versions.is_empty() {
        return Err(errors);
    }
    versions.sort_by_key(|(_, version)| std::cmp::Reverse(version_priority(&version.name)));
    complete_deprecations(&mut versions);
    if let Some(index) = versions.iter().position(|(storage, _)| *storage) {
        stored = index;
    }
    let selectable = declared.iter().flat_map(|declaration| {
        let fields = declaration["selectableFields"].as_array().into_iter().flatten();
        fields.map(|field| text(&field["jsonPath"]).trim_start_matches('.').to_owned()).collect::<Vec<_>>()
    });
    let id = resource_id(&group, &plural);
    Ok(Resource {
        storage: id.clone(),
        id,
        list_kind: names["listKind"].as_str().map_or_else(|| format!("{kind}List"), str::to_owned),
        singular: names["singular"].as_str().map_or_else(|| kind.to_lowercase(), str::to_owned),
        short_names: list(&names["shortNames"]),
        categories: list(&names["categories"]),
        namespaced: spec["scope"] == "Namespaced",
        traits: Traits {
            custom: true,
            generation: true,
            terminating: !definition["metadata"]["deletionTimestamp"].is_null(),
            ..Traits::default()
        },
        conversion: (spec["conversion"]["strategy"] == "Webhook")
            .then(|| spec["conversion"]["webhook"]["clientConfig"].clone()),
        selectable: selectable.collect(),
        versions: versions.into_iter().map(|(_, version)| version).collect(),
        stored,
        group,
        kind,
        plural,
    })
}

fn version_of(
    declaration: &Value,
    group: &str,
    kind: &str,
    index: usize,
) -> Result<Version, Vec<FieldError>> {
    let name = declaration["name"].as_str().unwrap_or_default();
    let mut version = Version::new(group, name, kind, None);
    version.served = declaration["served"] != false;
    version.columns = crate::table::custom_columns_of(&declaration["additionalPrinterColumns"]).into();
    if declaration["deprecated"] == true {
        let api = &version.api_version;
        let standard = format!("{api} {kind} is deprecated");
        version.deprecation =
            Some(declaration["deprecationWarning"].as_str().map_or(standard, str::to_owned));
    }
    let openapi = &declaration["schema"]["openAPIV3Schema"];
    if !openapi.is_null() {
        let base = format!("spec.versions[{index}].schema.openAPIV3Schema");
        let schema = StructuralSchema::from_openapi(openapi, &base)?;
        version.schema = Some(Arc::new(schema));
        version.openapi = Some(Arc::new(openapi.clone()));
    }
    let subresources = &declaration["subresources"];
    if !subresources["status"].is_null() {
        version.subresources.push("status".into());
    }
    let scale = &subresources["scale"];
    if !scale.is_null() {
        version.subresources.push("scale".into());
        let pointer = |path: &Value| path.as_str().unwrap_or_default().replace('.', "/");
        version.scale = Some(ScalePaths {
            spec_replicas: pointer(&scale["specReplicasPath"]),
            status_replicas: pointer(&scale["statusReplicasPath"]),
            selector: scale["labelSelectorPath"].is_string().then(|| pointer(&scale["labelSelectorPath"])),
        });
    }
    Ok(version)
}

/// Standard warnings also name the best version that is not deprecated.
fn complete_deprecations(versions: &mut [(bool, Version)]) {
    let better = versions.iter().find(|(_, version)| version.served && version.deprecation.is_none());
    let Some(better) = better.map(|(_, version)| version.api_version.clone()) else { return };
    for (_, version) in versions {
        if let Some(warning) = &mut version.deprecation
            && let Some(kind) = warning.strip_prefix(&format!("{} ", version.api_version))
            && let Some(kind) = kind.strip_suffix(" is deprecated")
        {
            let advice = format!("; use {better} {kind}");
            warning.push_str(&advice);
        }
    }
}

/// Sort key of a version name, greatest preferred: GA before beta before alpha, then numbers, then other names
/// (`k8s.io/apimachinery/pkg/version`, `CompareKubeAwareVersionStrings`).
fn version_priority(name: &str) -> (u8, u64, u64, std::cmp::Reverse<String>) {
    let parsed = name.strip_prefix('v').and_then(|rest| {
        let split = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let major: u64 = rest[..split].parse().ok()?;
        let (stage, minor) = match &rest[split..] {
            "" => (3, "0"),
            tail => (2, tail.strip_prefix("beta")?),
        };
        Some((stage, major, minor.parse().ok()?))
    });
    let alpha = || {
        let (major, minor) = name.strip_prefix('v')?.split_once("alpha")?;
        Some((1, major.parse().ok()?, minor.parse().ok()?))
    };
    let (stage, major, minor) = parsed.or_else(alpha).unwrap_or((0, 0, 0));
    (stage, major, minor, std::cmp::Reverse(name.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_preferred_from_stable_to_alpha() {
        let mut names = ["v1alpha1", "v2", "v1beta2", "v10", "foo", "v1beta10"];
        names.sort_by_key(|name| std::cmp::Reverse(version_priority(name)));
        assert_eq!(names, ["v10", "v2", "v1beta10", "v1beta2", "v1alpha1", "foo"]);
    }
}
