//! Validation of CustomResourceDefinitions (`k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation`).
//!
//! The server checks an older form of a definition than clients write: what all versions have in common stands once,
//! outside of them. Paths and values in messages are those of that form.

use serde_json::{Value, json};

use crate::schema::{FieldError, FieldErrorReason, StructuralSchema};
use crate::validation::bad_label_1035;

/// What is wrong with a new definition.
pub(super) fn create_errors(definition: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let spec = &definition["spec"];
    let expected = format!("{}.{}", text(&spec["names"]["plural"]), text(&spec["group"]));
    let name = &definition["metadata"]["name"];
    if text(name) != expected {
        errors.push(FieldError::invalid("metadata.name", name, "must be spec.names.plural+\".\"+spec.group"));
    }
    errors.extend(object_errors(definition));
    errors.extend(approval_errors(definition));
    if spec["preserveUnknownFields"] == true {
        let why = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema \
                   instead";
        errors.push(FieldError::invalid("spec.preserveUnknownFields", &json!(true), why));
    }
    errors
}

/// What is wrong with a changed definition.
pub(super) fn update_errors(old: &Value, new: &Value) -> Vec<FieldError> {
    let mut errors = object_errors(new);
    let conditions = old["status"]["conditions"].as_array().into_iter().flatten();
    let established =
        conditions.into_iter().any(|one| one["type"] == "Established" && one["status"] == "True");
    let fixed =
        [("/group", true), ("/names/plural", true), ("/scope", established), ("/names/kind", established)];
    for (pointer, _) in fixed.into_iter().filter(|(_, fixed)| *fixed) {
        let at = |definition: &Value| definition["spec"].pointer(pointer).cloned().unwrap_or_default();
        let path = format!("spec{}", pointer.replace('/', "."));
        super::immutable(&mut errors, &path, &at(old), &at(new));
    }
    errors
}

fn object_errors(definition: &Value) -> Vec<FieldError> {
    let spec = &definition["spec"];
    let versions = spec["versions"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut errors = Vec::new();
    group_errors(&spec["group"], &mut errors);
    scope_errors(&spec["scope"], &mut errors);
    for (index, version) in versions.iter().enumerate() {
        if let Some(why) = bad_label_1035(text(&version["name"])) {
            errors.push(FieldError::invalid(format!("spec.versions[{index}].name"), &version["name"], &why));
        }
    }
    versions_errors(versions, &mut errors);
    if let Some((name, why)) =
        versions.first().and_then(|first| Some((&first["name"], bad_label_1035(text(&first["name"]))?)))
    {
        errors.push(FieldError::invalid("spec.version", name, &why));
    }
    name_errors(&spec["names"], &mut errors);
    for (base, schema) in parts(versions, "schema", "validation") {
        let path = format!("{base}.openAPIV3Schema");
        let schema = &schema["openAPIV3Schema"];
        if schema.is_null() {
            // Without a schema the versions have nothing in common that could be missing.
            let each =
                (0..versions.len()).map(|index| format!("spec.versions[{index}].schema.openAPIV3Schema"));
            let missing: Vec<String> = if base == "spec.validation" { each.collect() } else { vec![path] };
            errors.extend(missing.into_iter().map(|path| FieldError::required(path, "")));
        } else if let Err(more) = StructuralSchema::from_openapi(schema, &path) {
            errors.extend(more);
        }
    }
    for (base, subresources) in parts(versions, "subresources", "subresources") {
        scale_errors(&subresources["scale"], &format!("{base}.scale"), &mut errors);
    }
    for (base, columns) in parts(versions, "additionalPrinterColumns", "additionalPrinterColumns") {
        for (index, column) in columns.as_array().into_iter().flatten().enumerate() {
            column_errors(column, &format!("{base}[{index}]"), &mut errors);
        }
    }
    conversion_errors(&spec["conversion"], &mut errors);
    stored_version_errors(&definition["status"]["storedVersions"], versions, &mut errors);
    errors
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// A part of each version with its path; once, outside the versions, if it is the same in all of them.
fn parts<'v>(versions: &'v [Value], field: &str, shared: &str) -> Vec<(String, &'v Value)> {
    match versions {
        [first, rest @ ..] if rest.iter().all(|version| version[field] == first[field]) => {
            vec![(format!("spec.{shared}"), &first[field])]
        }
        _ => {
            let each = versions.iter().enumerate();
            each.map(|(index, version)| (format!("spec.versions[{index}].{field}"), &version[field]))
                .collect()
        }
    }
}

fn group_errors(group: &Value, errors: &mut Vec<FieldError>) {
    match text(group) {
        "" => errors.push(FieldError::required("spec.group", "")),
        name if !name.contains('.') => {
            errors.push(FieldError::invalid("spec.group", group, "should be a domain with at least one dot"));
        }
        _ => {}
    }
}

fn scope_errors(scope: &Value, errors: &mut Vec<FieldError>) {
    match text(scope) {
        "" => errors.push(FieldError::required("spec.scope", "")),
        "Cluster" | "Namespaced" => {}
        _ => errors.push(FieldError::unsupported("spec.scope", scope, &["Cluster", "Namespaced"])),
    }
}

fn versions_errors(versions: &[Value], errors: &mut Vec<FieldError>) {
    let mut fail = |why: &str| {
        let message = format!("Invalid value: {}: {why}", shown(versions));
        let reason = FieldErrorReason::FieldValueInvalid;
        errors.push(FieldError { path: "spec.versions".into(), reason, message });
    };
    let repeated = |(index, version): (usize, &Value)| {
        versions[..index].iter().any(|other| other["name"] == version["name"])
    };
    if versions.iter().enumerate().any(repeated) {
        fail("must contain unique version names");
    }
    if versions.iter().filter(|version| version["storage"] == true).count() != 1 {
        fail("must have exactly one version marked as storage version");
    }
}

/// Versions as the server prints its own form of them.
fn shown(versions: &[Value]) -> String {
    let shared = |field: &str| versions.iter().all(|version| version[field] == versions[0][field]);
    let part =
        |version: &Value, field: &str| if shared(field) { Value::Null } else { version[field].clone() };
    let each = versions.iter().map(|version| {
        format!(
            "{{\"Name\":{},\"Served\":{},\"Storage\":{},\"Deprecated\":{},\"DeprecationWarning\":{},\"Schema\":{},\
             \"Subresources\":{},\"AdditionalPrinterColumns\":{},\"SelectableFields\":{}}}",
            version["name"],
            version["served"] == true,
            version["storage"] == true,
            version["deprecated"] == true,
            version["deprecationWarning"],
            part(version, "schema"),
            part(version, "subresources"),
            part(version, "additionalPrinterColumns"),
            part(version, "selectableFields"),
        )
    });
    format!("[{}]", each.collect::<Vec<_>>().join(","))
}

fn name_errors(names: &Value, errors: &mut Vec<FieldError>) {
    for field in ["plural", "singular", "kind", "listKind"] {
        let (path, name) = (format!("spec.names.{field}"), text(&names[field]));
        let mixed = field == "kind" || field == "listKind";
        let bad = bad_label_1035(&if mixed { name.to_lowercase() } else { name.to_owned() });
        match bad {
            _ if name.is_empty() => errors.push(FieldError::required(path, "")),
            Some(why) if mixed => {
                let why = format!("may have mixed case, but should otherwise match: {why}");
                errors.push(FieldError::invalid(path, &names[field], &why));
            }
            Some(why) => errors.push(FieldError::invalid(path, &names[field], &why)),
            None => {}
        }
    }
    for field in ["shortNames", "categories"] {
        for (index, name) in names[field].as_array().into_iter().flatten().enumerate() {
            if let Some(why) = bad_label_1035(text(name)) {
                errors.push(FieldError::invalid(format!("spec.names.{field}[{index}]"), name, &why));
            }
        }
    }
    if !text(&names["kind"]).is_empty() && names["kind"] == names["listKind"] {
        let why = "kind and listKind may not be the same";
        errors.push(FieldError::invalid("spec.names.listKind", &names["listKind"], why));
    }
}

/// Whether the text is a path of the simple kind, and if so whether it lies below one of `roots`.
fn path_errors(value: &Value, path: String, roots: &[&str], why: &str, errors: &mut Vec<FieldError>) {
    match text(value) {
        "" => errors.push(FieldError::required(path, "")),
        simple if !simple.starts_with('.') => {
            errors.push(FieldError::invalid(path, value, "must be a simple json path starting with ."));
        }
        simple if !roots.is_empty() && !roots.iter().any(|root| simple.starts_with(root)) => {
            errors.push(FieldError::invalid(path, value, why));
        }
        _ => {}
    }
}

fn scale_errors(scale: &Value, base: &str, errors: &mut Vec<FieldError>) {
    if scale.is_null() {
        return;
    }
    let at = |field: &str| format!("{base}.{field}");
    let why = "should be a json path under .spec";
    path_errors(&scale["specReplicasPath"], at("specReplicasPath"), &[".spec."], why, errors);
    let why = "should be a json path under .status";
    path_errors(&scale["statusReplicasPath"], at("statusReplicasPath"), &[".status."], why, errors);
    if !text(&scale["labelSelectorPath"]).is_empty() {
        let why = "should be a json path under either .spec or .status";
        path_errors(
            &scale["labelSelectorPath"],
            at("labelSelectorPath"),
            &[".spec.", ".status."],
            why,
            errors,
        );
    }
}

fn column_errors(column: &Value, base: &str, errors: &mut Vec<FieldError>) {
    const TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];
    const FORMATS: [&str; 9] =
        ["int32", "int64", "float", "double", "byte", "date", "date-time", "password", ""];
    if text(&column["name"]).is_empty() {
        errors.push(FieldError::required(format!("{base}.name"), ""));
    }
    let kinds = format!("must be one of {}", TYPES.join(","));
    match text(&column["type"]) {
        "" => errors.push(FieldError::required(format!("{base}.type"), &kinds)),
        kind if TYPES.contains(&kind) => {}
        _ => errors.push(FieldError::invalid(format!("{base}.type"), &column["type"], &kinds)),
    }
    if !FORMATS.contains(&text(&column["format"])) {
        let mut formats = FORMATS.to_vec();
        formats.retain(|format| !format.is_empty());
        formats.sort_unstable();
        let why = format!("must be one of {}", formats.join(","));
        errors.push(FieldError::invalid(format!("{base}.format"), &column["format"], &why));
    }
    path_errors(&column["jsonPath"], format!("{base}.JSONPath"), &[], "", errors);
}

fn conversion_errors(conversion: &Value, errors: &mut Vec<FieldError>) {
    const WHERE: &str = "spec.conversion.webhookClientConfig";
    const REVIEWS: &str = "spec.conversion.conversionReviewVersions";
    let webhook = &conversion["webhook"];
    let (client, versions) = (&webhook["clientConfig"], webhook["conversionReviewVersions"].as_array());
    let versions = versions.map(Vec::as_slice).unwrap_or_default();
    match text(&conversion["strategy"]) {
        "None" => {
            let why = "should not be set when strategy is not set to Webhook";
            if !client.is_null() {
                errors.push(FieldError::forbidden(WHERE, why));
            }
            if !versions.is_empty() {
                errors.push(FieldError::forbidden(REVIEWS, why));
            }
        }
        "Webhook" => {
            if client.is_null() {
                errors.push(FieldError::required(WHERE, "required when strategy is set to Webhook"));
            } else if client["url"].is_null() == client["service"].is_null() {
                errors.push(FieldError::required(WHERE, "exactly one of url or service is required"));
            }
            if versions.is_empty() {
                errors.push(FieldError::required(REVIEWS, ""));
            } else if !versions.iter().any(|version| version == "v1" || version == "v1beta1") {
                let why = "must include at least one of v1, v1beta1";
                errors.push(FieldError::invalid(REVIEWS, &json!(versions), why));
            }
        }
        "" if conversion.is_null() => {}
        "" => errors.push(FieldError::required("spec.conversion.strategy", "")),
        _ => {
            let strategy = &conversion["strategy"];
            errors.push(FieldError::unsupported("spec.conversion.strategy", strategy, &["None", "Webhook"]));
        }
    }
}

fn stored_version_errors(stored: &Value, versions: &[Value], errors: &mut Vec<FieldError>) {
    const WHERE: &str = "status.storedVersions";
    let names = stored.as_array().map(Vec::as_slice).unwrap_or_default();
    if names.is_empty() {
        errors.push(FieldError::invalid(WHERE, stored, "must have at least one stored version"));
        return;
    }
    for version in versions.iter().filter(|version| version["storage"] == true) {
        if !names.contains(&version["name"]) {
            let why = format!("must have the storage version {}", text(&version["name"]));
            errors.push(FieldError::invalid(WHERE, stored, &why));
        }
    }
    for (index, name) in names.iter().enumerate() {
        if versions.iter().all(|version| version["name"] != *name) {
            let name_text = text(name);
            let why = format!(
                "missing from spec.versions; {name_text} was previously a storage version, and must remain in \
                 spec.versions until a storage migration ensures no data remains persisted in {name_text} and removes \
                 {name_text} from status.storedVersions"
            );
            errors.push(FieldError::invalid(format!("{WHERE}[{index}]"), name, &why));
        }
    }
}

/// Groups of the Kubernetes community need its approval (KEP-1111).
fn approval_errors(definition: &Value) -> Vec<FieldError> {
    const ANNOTATION: &str = "api-approved.kubernetes.io";
    const SEE: &str = "see https://github.com/kubernetes/enhancements/pull/1111";
    let group = text(&definition["spec"]["group"]);
    let community = ["k8s.io", "kubernetes.io"]
        .iter()
        .any(|domain| group == *domain || group.strip_suffix(domain).is_some_and(|rest| rest.ends_with('.')));
    let path = format!("metadata.annotations[{ANNOTATION}]");
    let approval = &definition["metadata"]["annotations"][ANNOTATION];
    match text(approval) {
        _ if !community => Vec::new(),
        "" => {
            let why = format!("protected groups must have approval annotation \"{ANNOTATION}\", {SEE}");
            vec![FieldError::required(path, &why)]
        }
        given if given.starts_with("unapproved") || given.contains("://") => Vec::new(),
        _ => {
            let why = format!(
                "protected groups must have approval annotation \"{ANNOTATION}\" with either a URL or a reason \
                 starting with \"unapproved\", {SEE}"
            );
            vec![FieldError::invalid(path, approval, &why)]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn definition(versions: Value) -> Value {
        json!({
            "metadata": { "name": "things.x.example.com" },
            "spec": {
                "group": "x.example.com", "scope": "Namespaced", "versions": versions,
                "names": { "plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList" },
            },
            "status": { "storedVersions": ["v1"] },
        })
    }

    fn version(name: &str, property: Value) -> Value {
        let schema = json!({ "type": "object", "properties": { "p": property } });
        json!({ "name": name, "storage": name == "v1", "schema": { "openAPIV3Schema": schema } })
    }

    fn paths(errors: &[FieldError]) -> Vec<&str> {
        errors.iter().map(|error| error.path.as_str()).collect()
    }

    #[test]
    fn what_versions_share_is_found_wrong_once_and_outside_of_them() {
        let (good, bad) = (json!({ "type": "string" }), json!({ "type": "none" }));
        for (versions, expected) in [
            (json!([version("v1", good.clone())]), vec![]),
            (json!([version("v1", bad.clone())]), vec!["spec.validation.openAPIV3Schema.properties[p].type"]),
            (
                json!([version("v1", bad.clone()), version("v2", bad.clone())]),
                vec!["spec.validation.openAPIV3Schema.properties[p].type"],
            ),
            (
                json!([version("v1", good), version("v2", bad)]),
                vec!["spec.versions[1].schema.openAPIV3Schema.properties[p].type"],
            ),
        ] {
            assert_eq!(paths(&create_errors(&definition(versions))), expected);
        }
    }

    #[test]
    fn a_version_that_may_be_stored_stays() {
        let old = definition(json!([version("v1", json!({ "type": "string" }))]));
        let mut new = definition(json!([version("v2", json!({ "type": "string" }))]));
        new["spec"]["versions"][0]["storage"] = json!(true);
        assert_eq!(paths(&update_errors(&old, &new)), ["status.storedVersions", "status.storedVersions[0]"]);
    }

    #[test]
    fn only_an_established_definition_keeps_its_scope() {
        let mut old = definition(json!([version("v1", json!({ "type": "string" }))]));
        let mut new = old.clone();
        new["spec"]["scope"] = json!("Cluster");
        assert_eq!(paths(&update_errors(&old, &new)), [""; 0]);
        old["status"]["conditions"] = json!([{ "type": "Established", "status": "True" }]);
        assert_eq!(paths(&update_errors(&old, &new)), ["spec.scope"]);
    }
}
