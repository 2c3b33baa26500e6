//! From what a verb answers to an HTTP response: content negotiation, single objects, lists, watch frames, and
//! the metadata-only representations. Encoded objects are spliced, not encoded again.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::Stream;
use http::{HeaderValue, Response};
use http_body::{Body, Frame, SizeHint};
use serde_json::{Value, json};

use crate::registry::{Resource, Version};
use crate::status::{Answer, Status};
use crate::storage::{Stored, write_json};

/// The error type of bodies and services.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

type Frames = Pin<Box<dyn Stream<Item = Result<Bytes, BoxError>> + Send>>;

/// The body of an answer: complete, or a stream of watch events.
pub struct ResponseBody(Content);

enum Content {
    Full(Option<Bytes>),
    Stream(Frames),
}

impl ResponseBody {
    /// A body that is all there.
    pub fn full(bytes: impl Into<Bytes>) -> Self {
        Self(Content::Full(Some(bytes.into())))
    }

    /// A body that arrives in pieces.
    pub fn stream(frames: impl Stream<Item = Result<Bytes, BoxError>> + Send + 'static) -> Self {
        Self(Content::Stream(Box::pin(frames)))
    }

    /// The bytes of a complete body; `None` for a stream.
    pub fn bytes(&self) -> Option<&Bytes> {
        match &self.0 {
            Content::Full(bytes) => bytes.as_ref(),
            Content::Stream(_) => None,
        }
    }
}

impl std::fmt::Debug for ResponseBody {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self.0 {
            Content::Full(_) => "ResponseBody::Full",
            Content::Stream(_) => "ResponseBody::Stream",
        })
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        match &mut self.0 {
            Content::Full(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Content::Stream(frames) => {
                frames.as_mut().poll_next(cx).map(|next| next.map(|frame| frame.map(Frame::data)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self.0, Content::Full(None))
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Content::Full(bytes) => {
                SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64))
            }
            Content::Stream(_) => SizeHint::default(),
        }
    }
}

/// How much of an object is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) enum Representation {
    #[default]
    Full,
    /// `PartialObjectMetadata`.
    Metadata,
    /// The aggregated discovery document; for objects the same as in full.
    Discovery,
}

/// What the `Accept` header asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Accept {
    pub(crate) representation: Representation,
    pub(crate) yaml: bool,
}

const ACCEPTED: &str = "application/json, application/yaml, application/vnd.kubernetes.protobuf";

impl Accept {
    /// Takes the first entry that can be served. Tables cannot, clients that ask for one take JSON as well.
    pub(crate) fn parse(header: &str) -> Answer<Self> {
        if header.trim().is_empty() {
            return Ok(Self::default());
        }
        let mut known = false;
        for entry in header.split(',') {
            let mut parts = entry.split(';').map(str::trim);
            let yaml = match parts.next().unwrap_or_default() {
                "application/json" | "*/*" | "application/*" => false,
                "application/yaml" => true,
                _ => continue,
            };
            known = true;
            let parts: Vec<&str> = parts.collect();
            let shape = parts.iter().find_map(|part| part.strip_prefix("as="));
            let representation = match shape {
                None => Representation::Full,
                Some("APIGroupDiscoveryList") if parts.contains(&"v=v2") => Representation::Discovery,
                Some("PartialObjectMetadata" | "PartialObjectMetadataList") => Representation::Metadata,
                Some(_) => continue,
            };
            return Ok(Self { representation, yaml });
        }
        Err(Status::not_acceptable(ACCEPTED, known))
    }
}

/// A response with a JSON body (or the same as YAML).
pub(crate) fn respond(code: u16, body: Vec<u8>, accept: Accept) -> Response<ResponseBody> {
    let (body, content_type) = match accept.yaml {
        true => (to_yaml(&body), "application/yaml"),
        false => (body, "application/json"),
    };
    let mut response = Response::new(ResponseBody::full(body));
    *response.status_mut() =
        http::StatusCode::from_u16(code).unwrap_or(http::StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(http::header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

/// A response without a body.
pub(crate) fn empty(code: u16) -> Response<ResponseBody> {
    let mut response = plain(code, "");
    response.headers_mut().remove(http::header::CONTENT_TYPE);
    response
}

/// A plain text response.
pub(crate) fn plain(code: u16, text: impl Into<Bytes>) -> Response<ResponseBody> {
    let mut response = Response::new(ResponseBody::full(text));
    *response.status_mut() =
        http::StatusCode::from_u16(code).unwrap_or(http::StatusCode::INTERNAL_SERVER_ERROR);
    let content_type = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(http::header::CONTENT_TYPE, content_type);
    response
}

/// The response for a refusal.
pub(crate) fn refuse(status: &Status, accept: Accept) -> Response<ResponseBody> {
    if status.plain {
        return plain(status.code, status.message.clone());
    }
    let mut response = respond(status.code, encode(&status.to_value()), accept);
    if let Some(seconds) = status.retry_after() {
        response.headers_mut().insert(http::header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

fn to_yaml(json: &[u8]) -> Vec<u8> {
    let value: Value = serde_json::from_slice(json).unwrap_or_default();
    serde_saphyr::to_string(&value).unwrap_or_default().into_bytes()
}

/// JSON of a value.
pub(crate) fn encode(value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    write_json(&mut out, value);
    out
}

/// Appends one object in `version`, with its type members.
pub(crate) fn write_object(
    out: &mut Vec<u8>,
    version: &Version,
    stored: &Stored,
    representation: Representation,
) {
    match representation {
        Representation::Full | Representation::Discovery => {
            write_typed(out, &version.type_members, &stored.bytes);
        }
        Representation::Metadata => write_json(out, &metadata_only(&stored.value)),
    }
}

/// Appends an object that is not stored (a dry run, a virtual resource).
pub(crate) fn write_value(
    out: &mut Vec<u8>,
    version: &Version,
    value: &Value,
    representation: Representation,
) {
    match representation {
        Representation::Full | Representation::Discovery => {
            write_typed(out, &version.type_members, &crate::storage::encode_body(value));
        }
        Representation::Metadata => write_json(out, &metadata_only(value)),
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

fn metadata_only(value: &Value) -> Value {
    json!({ "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": value["metadata"] })
}

/// What a list says about itself.
#[derive(Clone, Debug, Default)]
pub(crate) struct ListMeta {
    pub(crate) revision: u64,
    pub(crate) continue_token: String,
    pub(crate) remaining: Option<usize>,
}

/// Encodes a list.
pub(crate) fn encode_list<'a>(
    resource: &Resource,
    version: &Version,
    meta: &ListMeta,
    items: impl Iterator<Item = &'a Stored> + Clone,
    representation: Representation,
) -> Vec<u8> {
    let mut metadata = json!({ "resourceVersion": meta.revision.to_string() });
    if !meta.continue_token.is_empty() || resource.traits.custom {
        metadata["continue"] = json!(meta.continue_token);
    }
    if let Some(remaining) = meta.remaining {
        metadata["remainingItemCount"] = json!(remaining);
    }
    let (kind, api_version) = match representation {
        Representation::Full | Representation::Discovery => {
            (resource.list_kind.as_str(), version.api_version.as_str())
        }
        Representation::Metadata => ("PartialObjectMetadataList", "meta.k8s.io/v1"),
    };
    // One allocation: items, commas and types, and the list's own members.
    let size: usize = items.clone().map(|stored| stored.bytes.len() + version.type_members.len() + 2).sum();
    let mut out = Vec::with_capacity(size + 256);
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
        match representation {
            // Items of built-in lists carry no type of their own.
            Representation::Full | Representation::Discovery if !resource.traits.custom => {
                out.extend_from_slice(&stored.bytes)
            }
            _ => write_object(&mut out, version, stored, representation),
        }
    }
    out.extend_from_slice(b"]}");
    out
}

/// Appends one watch event whose object `write` writes.
pub(crate) fn write_event(out: &mut Vec<u8>, kind: &str, write: impl FnOnce(&mut Vec<u8>)) {
    out.extend_from_slice(b"{\"type\":\"");
    out.extend_from_slice(kind.as_bytes());
    out.extend_from_slice(b"\",\"object\":");
    write(out);
    out.extend_from_slice(b"}\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_declined_in_favour_of_json() {
        let accept = Accept::parse("application/json;as=Table;v=v1;g=meta.k8s.io,application/json").unwrap();
        assert_eq!(accept, Accept::default());
    }

    #[test]
    fn metadata_only_is_negotiated() {
        let accept = Accept::parse("application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1").unwrap();
        assert_eq!(accept.representation, Representation::Metadata);
    }

    #[test]
    fn unknown_media_types_are_not_acceptable() {
        assert_eq!(Accept::parse("image/png").unwrap_err().code, 406);
    }
}
