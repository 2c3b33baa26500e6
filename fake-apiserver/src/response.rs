//! From what a verb answers to an HTTP response: content negotiation, bodies, refusals and the frames of watches.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::Stream;
use http::{HeaderValue, Response};
use http_body::{Body, Frame, SizeHint};
use serde_json::Value;

use crate::status::{Answer, Status};
use crate::storage::write_json;

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
    /// `PartialObjectMetadataList`.
    MetadataList,
    /// `Table`.
    Table,
    /// The aggregated discovery document; for objects the same as in full.
    Discovery,
}

/// What the `Accept` header asks for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Accept {
    pub(crate) representation: Representation,
    /// The API version of what is not shown in full.
    pub(crate) meta: &'static str,
    pub(crate) yaml: bool,
}

impl Default for Accept {
    fn default() -> Self {
        Self { representation: Representation::Full, meta: META, yaml: false }
    }
}

const META: &str = "meta.k8s.io/v1";
const META_BETA: &str = "meta.k8s.io/v1beta1";

const ACCEPTED: &str = "application/json, application/yaml, application/vnd.kubernetes.protobuf";

impl Accept {
    /// Takes the first entry that can be served.
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
            let version = parts.iter().find_map(|part| part.strip_prefix("v=")).unwrap_or_default();
            let (representation, meta) = match (shape, version) {
                (None, _) => (Representation::Full, META),
                (Some("APIGroupDiscoveryList"), "v2") => (Representation::Discovery, META),
                (Some("PartialObjectMetadata"), "v1") => (Representation::Metadata, META),
                (Some("PartialObjectMetadata"), "v1beta1") => (Representation::Metadata, META_BETA),
                (Some("PartialObjectMetadataList"), "v1") => (Representation::MetadataList, META),
                (Some("PartialObjectMetadataList"), "v1beta1") => (Representation::MetadataList, META_BETA),
                (Some("Table"), "v1") => (Representation::Table, META),
                (Some("Table"), "v1beta1") => (Representation::Table, META_BETA),
                _ => continue,
            };
            return Ok(Self { representation, meta, yaml });
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
    fn the_first_representation_that_is_known_is_taken() {
        let accept =
            Accept::parse("application/json;as=Nonsense;v=v1,application/json;as=Table;v=v1").unwrap();
        assert_eq!((accept.representation, accept.meta), (Representation::Table, "meta.k8s.io/v1"));
        let accept = Accept::parse("application/json;as=Table;v=v7;g=meta.k8s.io,application/json").unwrap();
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
