//! YAML to objects.
//!
//! Release files are written for YAML 1.1 readers (octal numbers, `yes` as a boolean) and define some anchors more
//! than once; both are accepted. Limits guard against alias bombs in files from the network. Nothing is validated
//! beyond "it is a Kubernetes object".

use serde_json::Value;

use super::{Object, ObjectError};

/// Most bytes of text in one file; the largest release file has under 2 MB.
const MAX_TEXT: usize = 64 << 20;

/// Why a YAML stream holds no objects.
#[derive(Debug, thiserror::Error)]
pub enum ParseError {
    /// Not YAML.
    #[error("malformed YAML")]
    Yaml(#[source] Box<serde_saphyr::Error>),
    /// A document is no Kubernetes object.
    #[error("document {document} is no Kubernetes object")]
    Object {
        /// Position of the document in the stream, from 1, empty ones not counted.
        document: usize,
        /// What is wrong with it.
        #[source]
        cause: ObjectError,
    },
}

/// The objects of a YAML stream, in order. Empty documents are skipped, lists are flattened.
///
/// # Errors
/// [`ParseError`] when the stream is no YAML or a document is no object with `apiVersion` and `kind`.
pub fn parse_yaml(bytes: &[u8]) -> Result<Vec<Object>, ParseError> {
    let documents = parse_documents(bytes)?;
    let mut objects = Vec::with_capacity(documents.len());
    for (index, document) in documents.into_iter().enumerate() {
        flatten(document, &mut objects).map_err(|cause| ParseError::Object { document: index + 1, cause })?;
    }
    Ok(objects)
}

/// The documents of a YAML stream as JSON, in order, empty ones left out.
///
/// # Errors
/// [`ParseError::Yaml`].
pub fn parse_documents(bytes: &[u8]) -> Result<Vec<Value>, ParseError> {
    let options = serde_saphyr::options! {
        legacy_octal_numbers: true,
        with_snippet: false,
        duplicate_keys: serde_saphyr::options::DuplicateKeyPolicy::LastWins,
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: 100_000 },
        budget: serde_saphyr::budget! {
            max_events: 8_000_000,
            max_nodes: 4_000_000,
            max_documents: 10_000,
            max_total_scalar_bytes: MAX_TEXT,
            max_depth: 200,
        },
    };
    let documents: Vec<Value> = serde_saphyr::from_slice_multiple_with_options(bytes, options)
        .map_err(|cause| ParseError::Yaml(Box::new(cause)))?;
    Ok(documents.into_iter().filter(|document| !document.is_null()).collect())
}

/// Adds the object, or the items of a list. Items of a typed list may leave out what the list says already.
fn flatten(document: Value, into: &mut Vec<Object>) -> Result<(), ObjectError> {
    let Some(item_kind) = list_of(&document) else {
        into.push(Object::try_from(document)?);
        return Ok(());
    };
    let api_version = document.get("apiVersion").cloned().unwrap_or_default();
    let Value::Object(mut list) = document else { return Ok(()) };
    let Some(Value::Array(items)) = list.remove("items") else { return Ok(()) };
    for mut item in items {
        if let (Value::Object(fields), false) = (&mut item, item_kind.is_empty()) {
            fields.entry("apiVersion").or_insert_with(|| api_version.clone());
            fields.entry("kind").or_insert_with(|| item_kind.clone().into());
        }
        flatten(item, into)?;
    }
    Ok(())
}

/// The kind of a list's items (empty for a `List` of anything), or nothing if the document is no list.
fn list_of(document: &Value) -> Option<String> {
    document.get("items")?.as_array()?;
    document.get("kind")?.as_str()?.strip_suffix("List").map(Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(yaml: &str) -> Vec<String> {
        parse_yaml(yaml.as_bytes()).unwrap().iter().map(|o| format!("{}/{}", o.kind(), o.name())).collect()
    }

    #[test]
    fn empty_documents_are_skipped_and_lists_flattened() {
        let yaml = "---\n# nothing\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\n---\n\
                    apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Secret, metadata: {name: b}}\n---\n\
                    apiVersion: v1\nkind: ServiceList\nitems:\n- metadata: {name: c}\n";
        assert_eq!(names(yaml), ["ConfigMap/a", "Secret/b", "Service/c"]);
        assert!(names("").is_empty());
    }

    #[test]
    fn an_anchor_may_be_defined_again_and_the_last_definition_holds() {
        let yaml = "apiVersion: v1\nkind: A\nmetadata: {name: &n one}\nx: {y: &n two, z: *n}\n---\n\
                    apiVersion: v1\nkind: B\nmetadata: {name: &n three}\nz: *n\n";
        let objects = parse_yaml(yaml.as_bytes()).unwrap();
        assert_eq!(objects[0].value()["x"]["z"], "two");
        assert_eq!(objects[1].value()["z"], "three");
    }

    #[test]
    fn merge_keys_octal_numbers_and_old_booleans_read_as_in_yaml_1_1() {
        let yaml = "apiVersion: v1\nkind: A\nbase: &b {x: 1, y: 2}\nmerged: {<<: *b, y: 3}\nmode: 0644\nflag: yes\n\
                    text: \"0644\"\nquoted: 'yes'\n";
        let value = parse_yaml(yaml.as_bytes()).unwrap().remove(0).into_value();
        assert_eq!(value["merged"], serde_json::json!({"x": 1, "y": 3}));
        assert_eq!(value["mode"], 0o644);
        assert_eq!(value["flag"], true);
        assert_eq!((value["text"].as_str(), value["quoted"].as_str()), (Some("0644"), Some("yes")));
    }

    #[test]
    fn a_document_without_kind_is_an_error_with_its_position() {
        let error = parse_yaml(b"apiVersion: v1\nkind: A\n---\nfoo: bar\n").unwrap_err();
        assert_eq!(error.to_string(), "document 2 is no Kubernetes object");
        assert!(matches!(parse_yaml(b"a: [").unwrap_err(), ParseError::Yaml(_)));
        assert!(parse_yaml(b"just text").is_err());
    }

    #[test]
    fn an_alias_bomb_is_an_error() {
        let mut yaml = String::from("apiVersion: v1\nkind: A\na0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
        for level in 1..12 {
            let alias = format!("*a{}, ", level - 1).repeat(10);
            yaml += &format!("a{level}: &a{level} [{}]\n", alias.trim_end_matches(", "));
        }
        assert!(parse_yaml(yaml.as_bytes()).is_err());
    }
}
