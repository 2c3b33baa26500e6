//! How much of an object an answer shows: all of it, its metadata, or a row of a Table. Encoded objects are spliced,
//! not encoded again.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::registry::{Resource, Version};
use crate::request::Query;
use crate::response::{Accept, Representation};
use crate::status::{Answer, Status};
use crate::storage::{Stored, encode_body, write_json};
use crate::table::Column;

/// What is answered with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Form {
    Object,
    List,
    Watch,
}

/// What comes with a row of a Table.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Include {
    Nothing,
    Metadata,
    Object,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Content {
    Full,
    Metadata,
    Table(Include),
}

/// A representation that fits the request, and when it is looked at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View {
    content: Content,
    /// `meta.k8s.io/v1`, or the version before it.
    meta: &'static str,
    now: Timestamp,
}

impl View {
    /// What `accept` comes to for an answer of this form.
    ///
    /// # Errors
    /// 406 where the representation does not fit the form, 400 for an unknown `includeObject`.
    pub(crate) fn choose(
        accept: Accept,
        form: Form,
        resource: &Resource,
        query: &Query,
        now: Timestamp,
    ) -> Answer<Self> {
        let content = match (accept.representation, form) {
            (Representation::Full | Representation::Discovery, _) => Content::Full,
            (Representation::Metadata, Form::List) => {
                let name = type_name(resource, &resource.list_kind);
                return Err(Status::misfit("PartialObjectMetadata", &format!("a list (*{name})")));
            }
            (Representation::MetadataList, Form::Object) => {
                let name = type_name(resource, &resource.kind);
                return Err(Status::misfit("PartialObjectMetadataList", &format!("not a list (*{name})")));
            }
            (Representation::Metadata | Representation::MetadataList, _) => Content::Metadata,
            (Representation::Table, _) => Content::Table(include(query)?),
        };
        Ok(Self { content, meta: accept.meta, now })
    }

    /// The same, looked at later.
    pub(crate) fn at(self, now: Timestamp) -> Self {
        Self { now, ..self }
    }

    /// Appends one object in `version`. `heading` says whether a Table tells its columns.
    pub(crate) fn write(&self, out: &mut Vec<u8>, version: &Version, object: Encoded<'_>, heading: bool) {
        match self.content {
            Content::Full => object.write_full(out, version),
            Content::Metadata => write_json(out, &metadata_only(object.value, self.meta)),
            Content::Table(include) => {
                let revision = object.value["metadata"]["resourceVersion"].as_str().unwrap_or_default();
                let meta = json!({ "resourceVersion": revision });
                self.write_table(out, version, &meta, std::iter::once(object), include, heading);
            }
        }
    }

    /// A list of a kind.
    pub(crate) fn list<'a>(
        &self,
        resource: &Resource,
        version: &Version,
        meta: &ListMeta,
        items: impl Iterator<Item = &'a Stored> + Clone,
    ) -> Vec<u8> {
        let mut metadata = json!({ "resourceVersion": meta.revision.to_string() });
        let table = matches!(self.content, Content::Table(_));
        if !meta.continue_token.is_empty() || (resource.traits.custom && self.content == Content::Full) {
            metadata["continue"] = json!(meta.continue_token);
        }
        if let Some(remaining) = meta.remaining {
            metadata["remainingItemCount"] = json!(remaining);
        }
        // One allocation: items, commas and types, and the list's own members.
        let size: usize =
            items.clone().map(|stored| stored.bytes.len() + version.type_members.len() + 2).sum();
        let mut out = Vec::with_capacity(if table { 4096 } else { size + 256 });
        if let Content::Table(include) = self.content {
            self.write_table(&mut out, version, &metadata, items.map(Encoded::from), include, true);
            return out;
        }
        let (kind, api_version) = match self.content {
            Content::Metadata => ("PartialObjectMetadataList", self.meta),
            _ => (resource.list_kind.as_str(), version.api_version.as_str()),
        };
        out.extend_from_slice(b"{\"kind\":");
        write_json(&mut out, kind);
        out.extend_from_slice(b",\"apiVersion\":");
        write_json(&mut out, api_version);
        out.extend_from_slice(b",\"metadata\":");
        write_json(&mut out, &metadata);
        out.extend_from_slice(b",\"items\":[");
        for (index, stored) in items.enumerate() {
            if index > 0 {
                out.push(b',');
            }
            match self.content {
                // Items of built-in lists carry no type of their own.
                Content::Full if !resource.traits.custom => out.extend_from_slice(&stored.bytes),
                _ => self.write(&mut out, version, Encoded::from(stored), false),
            }
        }
        out.extend_from_slice(b"]}");
        out
    }

    fn write_table<'a>(
        &self,
        out: &mut Vec<u8>,
        version: &Version,
        metadata: &Value,
        items: impl Iterator<Item = Encoded<'a>>,
        include: Include,
        heading: bool,
    ) {
        let columns = &version.columns;
        let definitions: Option<Vec<Value>> =
            heading.then(|| columns.iter().map(Column::definition).collect());
        out.extend_from_slice(b"{\"kind\":\"Table\",\"apiVersion\":");
        write_json(out, self.meta);
        out.extend_from_slice(b",\"metadata\":");
        write_json(out, metadata);
        out.extend_from_slice(b",\"columnDefinitions\":");
        write_json(out, &definitions);
        out.extend_from_slice(b",\"rows\":[");
        for (index, object) in items.enumerate() {
            out.extend_from_slice(if index > 0 { b",{\"cells\":" } else { b"{\"cells\":" });
            let cells: Vec<Value> =
                columns.iter().map(|column| column.cell(object.value, self.now)).collect();
            write_json(out, &cells);
            out.extend_from_slice(b",\"object\":");
            match include {
                Include::Nothing => out.extend_from_slice(b"null"),
                Include::Metadata => write_json(out, &metadata_only(object.value, self.meta)),
                Include::Object => object.write_full(out, version),
            }
            out.push(b'}');
        }
        out.extend_from_slice(b"]}");
    }
}

/// An object with its encoding, if it has one yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Encoded<'a> {
    value: &'a Value,
    bytes: Option<&'a [u8]>,
}

impl<'a> From<&'a Stored> for Encoded<'a> {
    fn from(stored: &'a Stored) -> Self {
        Self { value: &stored.value, bytes: Some(&stored.bytes) }
    }
}

impl<'a> From<&'a Value> for Encoded<'a> {
    fn from(value: &'a Value) -> Self {
        Self { value, bytes: None }
    }
}

impl Encoded<'_> {
    fn write_full(&self, out: &mut Vec<u8>, version: &Version) {
        match self.bytes {
            Some(bytes) => write_typed(out, &version.type_members, bytes),
            None => write_typed(out, &version.type_members, &encode_body(self.value)),
        }
    }
}

fn write_typed(out: &mut Vec<u8>, type_members: &[u8], body: &[u8]) {
    out.push(b'{');
    out.extend_from_slice(type_members);
    if body.len() > 2 {
        out.push(b',');
    }
    out.extend_from_slice(&body[1..]);
}

fn metadata_only(value: &Value, api_version: &str) -> Value {
    json!({ "kind": "PartialObjectMetadata", "apiVersion": api_version, "metadata": value["metadata"] })
}

fn include(query: &Query) -> Answer<Include> {
    match query.get("includeObject").unwrap_or_default() {
        "" | "Metadata" => Ok(Include::Metadata),
        "None" => Ok(Include::Nothing),
        "Object" => Ok(Include::Object),
        other => Err(Status::bad_request(format!(
            "Unable to convert to Table as requested: includeObject: Invalid value: \"{other}\": must be 'Metadata', \
             'Object', 'None', or empty"
        ))),
    }
}

/// What the real server calls a kind inside.
fn type_name(resource: &Resource, kind: &str) -> String {
    if resource.traits.custom {
        let list = if kind == resource.list_kind { "List" } else { "" };
        return format!("unstructured.Unstructured{list}");
    }
    let package = match resource.group.split('.').next() {
        None | Some("" | "events") => "core",
        Some(package) => package,
    };
    format!("{package}.{kind}")
}

/// What a list says about itself.
#[derive(Clone, Debug, Default)]
pub(crate) struct ListMeta {
    pub(crate) revision: u64,
    pub(crate) continue_token: String,
    pub(crate) remaining: Option<usize>,
}
