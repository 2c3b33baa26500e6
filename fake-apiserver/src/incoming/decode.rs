//! The bodies of requests.

use http::header;
use serde_json::Value;

use super::{Incoming, text_header};
use crate::schema::document::{Document, parse_yaml, repeated_in_yaml};
use crate::state::Call;
use crate::status::{Answer, Status};
use crate::verb::body;
use crate::verb::patch::PatchKind;

impl Incoming<'_> {
    fn content_type(&self) -> &str {
        text_header(&self.parts.headers, header::CONTENT_TYPE).split(';').next().unwrap_or_default().trim()
    }

    pub(super) fn patch_kind(&self, call: &Call) -> Answer<PatchKind> {
        PatchKind::of(self.content_type(), call.resource().traits.custom)
    }

    /// The body of a create or update.
    pub(super) fn decode(&self, call: &mut Call) -> Answer<Value> {
        let kind = &call.served.resource.kind;
        let unrecognized = |why: &str| {
            let start: String = String::from_utf8_lossy(self.body).chars().take(30).collect();
            Status::bad_request(format!(
                "the object provided is unrecognized (must be of type {kind}): couldn't get version/kind; json parse \
                 error: {why} ({start} ...)",
            ))
        };
        let (parsed, repeated) = match self.content_type() {
            "" | "application/json" => (Document::from_json(self.body), None),
            "application/yaml" => (Document::from_yaml(self.body), repeated_in_yaml(self.body)),
            _ => return Err(unknown_format()),
        };
        match parsed {
            Ok(document @ Document::Object(_)) => {
                let repeated = repeated.map(|line| format!("yaml: unmarshal errors:\n  {line}"));
                body::read(call, document, repeated)
            }
            Ok(other) => Err(unrecognized(&format!(
                "json: cannot unmarshal {} into Go value of type struct {{ APIVersion string \
                 \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }}",
                other.kind()
            ))),
            Err(why) => Err(unrecognized(&why)),
        }
    }

    /// The body of a patch.
    pub(super) fn decode_patch(&self, call: &mut Call, kind: PatchKind) -> Answer<Value> {
        if kind == PatchKind::Apply {
            let value = parse_yaml(self.body)
                .map_err(|why| Status::bad_request(format!("error decoding YAML: {why}")))?;
            call.objections.extend(repeated_in_yaml(self.body));
            body::judge(call, |line| {
                Status::bad_request(format!(
                    "error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:\n  {line}"
                ))
            })?;
            return Ok(value);
        }
        let document = Document::from_json(self.body)
            .map_err(|why| Status::bad_request(format!("error decoding patch: {why}")))?;
        call.objections.extend(document.repeated().iter().map(|path| format!("duplicate field \"{path}\"")));
        Ok(document.into())
    }

    /// The body of a delete, null when there is none.
    pub(super) fn decode_options(&self) -> Answer<Value> {
        if self.body.is_empty() {
            return Ok(Value::Null);
        }
        let parsed = match self.content_type() {
            "" | "application/json" => parse_json(self.body),
            "application/yaml" => parse_yaml(self.body),
            _ => return Err(unknown_format()),
        };
        parsed.map_err(Status::bad_request)
    }
}

fn unknown_format() -> Box<Status> {
    Status::new(
        415,
        "UnsupportedMediaType",
        "the body of the request was in an unknown format - accepted media types include: application/json, \
         application/yaml, application/vnd.kubernetes.protobuf",
    )
}

fn parse_json(body: &[u8]) -> Result<Value, String> {
    serde_json::from_slice(body).map_err(|why| why.to_string())
}
