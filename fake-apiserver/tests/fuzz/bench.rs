//! A cluster under test: every request through it is checked for what must hold of any answer.

use std::time::Duration;

use fake_apiserver::{Controllers, FakeApiServer, ResponseBody, Snapshot, User};
use http::{HeaderMap, Request, Response};
use http_body_util::{BodyExt, Full};
use serde_json::Value;
use tokio::runtime::Runtime;
use tower::ServiceExt;

use crate::source::Source;

/// The reasons of `metav1.Status`; an error without a type has none.
const REASONS: &[&str] = &[
    "",
    "AlreadyExists",
    "BadRequest",
    "Conflict",
    "Expired",
    "Forbidden",
    "Gone",
    "InternalError",
    "Invalid",
    "MethodNotAllowed",
    "NotAcceptable",
    "NotFound",
    "RequestEntityTooLarge",
    "ServiceUnavailable",
    "Timeout",
    "TooManyRequests",
    "Unauthorized",
    "UnsupportedMediaType",
];

/// Most that the warnings of one answer may say, headers and all, as clients bound what they read.
const MOST_WARNED: usize = 64 * 1024;

/// The media types of patches.
pub(crate) const PATCHES: [&str; 4] = [
    "application/merge-patch+json",
    "application/json-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
];

/// What came back.
pub(crate) struct Answer {
    pub(crate) code: u16,
    /// Null when it is no JSON.
    pub(crate) body: Value,
}

impl Answer {
    pub(crate) fn accepted(&self) -> bool {
        self.code < 300
    }
}

pub(crate) struct Bench {
    cluster: FakeApiServer,
    runtime: Runtime,
    /// Whether nothing happens but by requests.
    quiet: bool,
}

impl Bench {
    /// A cluster in which nothing happens by itself.
    pub(crate) fn quiet() -> Self {
        Self::with(Controllers::none())
    }

    /// A cluster with everything on.
    pub(crate) fn busy() -> Self {
        Self::with(Controllers::all())
    }

    fn with(controllers: Controllers) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = { runtime }.enable_time().start_paused(true).build().unwrap();
        let guard = runtime.enter();
        let epoch = "2024-01-01T00:00:00Z".parse().unwrap();
        let quiet = controllers == Controllers::none();
        let cluster = FakeApiServer::builder().seed(1).epoch(epoch).controllers(controllers).build();
        drop(guard);
        Self { cluster, runtime, quiet }
    }

    /// Lets time pass.
    pub(crate) fn wait(&self, time: Duration) {
        self.runtime.block_on(async { tokio::time::sleep(time).await });
    }

    /// Sends a JSON body, or none if it is empty.
    pub(crate) fn send(&self, source: &mut Source, method: &str, target: &str, body: &str) -> Answer {
        self.send_as(source, method, target, &[("content-type", "application/json")], body.as_bytes())
    }

    /// Sends a patch.
    pub(crate) fn patch(&self, source: &mut Source, media: &str, target: &str, body: &str) -> Answer {
        self.send_as(source, "PATCH", target, &[("content-type", media)], body.as_bytes())
    }

    /// Sends a request and checks the answer. What is no request cannot be sent and counts as refused.
    pub(crate) fn send_as(
        &self,
        source: &mut Source,
        method: &str,
        target: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Answer {
        source.note(&format!("{method} {target} {headers:?}\n{}", String::from_utf8_lossy(body)));
        let mut request = Request::builder().method(method).uri(target);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let Ok(request) = request.body(Full::<bytes::Bytes>::from(body.to_vec())) else {
            return Answer { code: 400, body: Value::Null };
        };
        let before = (self.cluster.revision(), self.cluster.snapshot());
        let service = self.cluster.service_as(User::admin());
        let response = self.runtime.block_on(service.oneshot(request)).unwrap();
        let answer = self.read(response);
        source.note(&format!("=> {}", answer.code));
        let dry = target.contains("dryRun=All");
        if self.quiet && (answer.code >= 400 || dry) {
            assert_eq!(before.0, self.cluster.revision(), "a refused write made a revision");
            assert!(same(&before.1, &self.cluster.snapshot()), "a refused write changed something");
        }
        answer
    }

    /// The whole of an answer, or the first events of a watch.
    fn read(&self, response: Response<ResponseBody>) -> Answer {
        let (parts, mut body) = response.into_parts();
        let code = parts.status.as_u16();
        let warned: usize = parts.headers.get_all("warning").iter().map(|value| value.len() + 9).sum();
        assert!(warned <= MOST_WARNED, "the warnings have {warned} bytes");
        if body.bytes().is_none() {
            let events = async {
                let mut seen = Vec::new();
                while let Ok(Some(frame)) = tokio::time::timeout(Duration::from_secs(5), body.frame()).await {
                    seen.extend_from_slice(frame.unwrap().data_ref().unwrap());
                    if seen.len() > 1 << 16 {
                        break;
                    }
                }
                seen
            };
            let events = self.runtime.block_on(events);
            for event in events.split_inclusive(|byte| *byte == b'\n') {
                let event: Value = serde_json::from_slice(event).expect("an event is JSON");
                let kind = event["type"].as_str().unwrap();
                assert!(["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"].contains(&kind), "{event}");
            }
            return Answer { code, body: Value::Null };
        }
        let bytes = self.runtime.block_on(body.collect()).unwrap().to_bytes();
        Answer { code, body: well_formed(code, &parts.headers, &bytes) }
    }

    /// Sends a write. What is accepted is there as it was answered, and putting it back changes nothing. `target` is of an
    /// object, or for creates of its collection.
    pub(crate) fn write(
        &self,
        source: &mut Source,
        method: &str,
        target: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Answer {
        let answer = self.send_as(source, method, target, headers, body);
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let virtual_kind = path.ends_with("reviews");
        if !self.quiet || !answer.accepted() || query.contains("dryRun") || virtual_kind {
            return answer;
        }
        let name = answer.body["metadata"]["name"].as_str().unwrap();
        let object = if method == "POST" { format!("{path}/{name}") } else { path.to_owned() };
        let found = self.send(source, "GET", &object, "");
        let metadata = &answer.body["metadata"];
        if metadata["deletionTimestamp"].is_string() && metadata["finalizers"].is_null() {
            return answer;
        }
        assert_eq!(found.code, 200, "what was written is not there");
        // A definition tells at once, in its status, what has become of it.
        if found.body["kind"] != "CustomResourceDefinition" {
            assert_eq!(found.body, answer.body, "what was answered is not what is there");
        }
        let revision = self.cluster.revision();
        let again = self.send(source, "PUT", &object, &found.body.to_string());
        assert_eq!(again.code, 200, "what is there cannot be put back: {}", again.body["message"]);
        assert_eq!(again.body, found.body, "putting back what is there changed it");
        assert_eq!(self.cluster.revision(), revision, "putting back what is there made a revision");
        answer
    }

    /// The latest revision.
    pub(crate) fn revision(&self) -> u64 {
        self.cluster.revision()
    }

    /// The cluster still answers, and everything in it can be read.
    pub(crate) fn still_answers(&self, source: &mut Source, collection: &str) {
        for target in [collection, "/api/v1/namespaces", "/apis", "/openapi/v2"] {
            assert_eq!(self.send(source, "GET", target, "").code, 200, "{target}");
        }
        for accept in ["application/json;as=Table;v=v1;g=meta.k8s.io", "application/yaml"] {
            let answer = self.send_as(source, "GET", collection, &[("accept", accept)], b"");
            assert_eq!(answer.code, 200, "{collection} as {accept}");
        }
    }
}

/// Whether two snapshots hold the very same objects.
fn same(one: &Snapshot, other: &Snapshot) -> bool {
    one.len() == other.len()
        && one.objects().zip(other.objects()).all(|(one, other)| {
            (one.resource, one.namespace, one.name) == (other.resource, other.namespace, other.name)
                && (std::sync::Arc::ptr_eq(one.value, other.value) || one.value == other.value)
        })
}

/// The body of an answer that is as it must be.
fn well_formed(code: u16, headers: &HeaderMap, bytes: &[u8]) -> Value {
    let media = headers["content-type"].to_str().unwrap();
    let body: Value = match media {
        "application/json" => serde_json::from_slice(bytes).expect("the body is JSON"),
        "application/yaml" => serde_saphyr::from_slice(bytes).expect("the body is YAML"),
        _ => return Value::Null,
    };
    if code >= 400 {
        assert_eq!(body["kind"], "Status", "{body}");
        assert_eq!((&body["apiVersion"], &body["status"]), (&"v1".into(), &"Failure".into()), "{body}");
        assert_eq!(body["code"], code, "{body}");
        let reason = body["reason"].as_str().unwrap_or_default();
        assert!(REASONS.contains(&reason) && (!reason.is_empty() || code >= 500), "{body}");
        assert!(body["message"].as_str().is_some_and(|message| !message.is_empty()), "{body}");
    }
    body
}
