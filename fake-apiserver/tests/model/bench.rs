//! A cluster in which nothing happens by itself, and the requests of a history.

use std::time::Duration;

use fake_apiserver::{Controllers, FakeApiServer, User};
use http::Request;
use http_body_util::{BodyExt, Full};
use proptest::prelude::ProptestConfig;
use serde_json::{Map, Value, json};
use tokio::runtime::Runtime;
use tower::ServiceExt;

use crate::history::{Act, Step, put_leaves};
use crate::shape::Kind;

/// How often a property is tried; `PROPTEST_CASES` says otherwise. Failures are told, not kept in files.
pub(crate) fn config(cases: u32) -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(cases);
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

pub(crate) struct Bench {
    pub(crate) cluster: FakeApiServer,
    runtime: Runtime,
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) code: u16,
    pub(crate) body: Value,
}

impl Bench {
    pub(crate) fn new(controllers: Controllers) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = { runtime }.enable_time().start_paused(true).build().unwrap();
        let epoch = "2024-01-01T00:00:00Z".parse().unwrap();
        // Built outside the runtime, so that controllers act when they are told to.
        let cluster = FakeApiServer::builder().seed(1).epoch(epoch).controllers(controllers).build();
        Self { cluster, runtime }
    }

    /// A cluster with Widgets in which nothing happens by itself.
    pub(crate) fn quiet() -> Self {
        let bench = Self::new(Controllers { definitions: true, ..Controllers::none() });
        bench.cluster.create(definition()).unwrap();
        bench.cluster.settle();
        bench
    }

    pub(crate) fn send(&self, method: &str, target: &str, content_type: &str, body: &Value) -> Answer {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let request = Request::builder().method(method).uri(target).header("content-type", content_type);
        let request = request.body(Full::<bytes::Bytes>::from(body)).unwrap();
        let service = self.cluster.service_as(User::admin());
        let (code, bytes) = self.runtime.block_on(async {
            let response = service.oneshot(request).await.unwrap();
            (response.status().as_u16(), response.into_body().collect().await.unwrap().to_bytes())
        });
        // A watch is a list of its events.
        let mut lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let body = if target.contains("watch=") {
            lines.map(|line| serde_json::from_slice::<Value>(line).unwrap()).collect()
        } else {
            lines.next().map(|line| serde_json::from_slice(line).unwrap()).unwrap_or_default()
        };
        Answer { code, body }
    }

    pub(crate) fn get(&self, target: &str) -> Answer {
        self.send("GET", target, "application/json", &Value::Null)
    }

    /// The object of a step, if it is there.
    pub(crate) fn live(&self, kind: Kind, name: u8) -> Option<Value> {
        let answer = self.get(&path(kind, name));
        (answer.code == 200).then_some(answer.body)
    }

    /// Does what a step says, a second after what was before.
    pub(crate) fn act(&self, step: &Step) -> Answer {
        self.runtime.block_on(tokio::time::advance(Duration::from_secs(1)));
        let (kind, target) = (step.kind, path(step.kind, step.name));
        let manager = format!("?fieldManager=m{}", step.manager);
        let name = format!("o{}", step.name);
        let json = "application/json";
        match &step.act {
            Act::Create(fields) => {
                let object = kind.object(&name, &kind.leaves(fields));
                self.send("POST", &format!("{}{manager}", kind.path()), json, &object)
            }
            Act::Put(fields) => {
                let mut object =
                    self.live(kind, step.name).unwrap_or_else(|| kind.object(&name, &kind.leaves(fields)));
                let leaves = put_leaves(kind, fields, &kind.seen(&object));
                kind.set(&mut object, &leaves);
                self.send("PUT", &format!("{target}{manager}"), json, &object)
            }
            Act::PutStale => {
                let mut object = self.live(kind, step.name).unwrap_or_else(|| kind.object(&name, &[].into()));
                object["metadata"]["resourceVersion"] = json!("1");
                self.send("PUT", &format!("{target}{manager}"), json, &object)
            }
            Act::Patch(fields) => {
                let labels =
                    fields.labels.iter().map(|(key, value)| (format!("l{key}"), json!(format!("x{value}"))));
                let patch = json!({ "metadata": { "labels": labels.collect::<Map<_, _>>() } });
                self.send("PATCH", &format!("{target}{manager}"), "application/merge-patch+json", &patch)
            }
            Act::Apply(fields, force) => {
                let object = kind.object(&name, &kind.leaves(fields));
                let target = format!("{target}{manager}&force={force}");
                self.send("PATCH", &target, "application/apply-patch+yaml", &object)
            }
            Act::Delete => self.send("DELETE", &target, json, &Value::Null),
        }
    }
}

/// The path of an object.
pub(crate) fn path(kind: Kind, name: u8) -> String {
    format!("{}/o{name}", kind.path())
}

/// The resource version of an object or list.
pub(crate) fn version(object: &Value) -> u64 {
    object["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap()
}

fn definition() -> Value {
    let item = json!({
        "type": "object", "required": ["name"],
        "properties": { "name": { "type": "string" }, "value": { "type": "integer" } },
    });
    let items = json!({
        "type": "array", "items": item, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
    });
    let schema = json!({
        "type": "object",
        "properties": { "spec": { "type": "object", "properties": { "items": items } } },
    });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "widgets.example.com" },
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": { "plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList" },
            "versions": [{
                "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema },
            }],
        },
    })
}
