//! Sends the requests of a case, in process and under simulated time.

use std::collections::BTreeMap;
use std::time::Duration;

use fake_apiserver::{FakeApiServer, ResponseBody, User};
use http::{HeaderMap, Request, Response};
use http_body_util::{BodyExt, Full};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout_at};
use tower::ServiceExt;

use crate::case::Case;
use crate::matching::{Difference, Matcher};
use crate::vars::{Vars, run_name};
use crate::view::{self, items, texts};

/// Headers that are compared.
const HEADERS: &[&str] = &["Content-Type", "Warning", "Retry-After"];

/// After the last expected event: how long to look for surplus ones.
const SETTLE: Duration = Duration::from_millis(500);

/// What came back.
#[derive(Default)]
struct Answer {
    status: u16,
    headers: BTreeMap<&'static str, Value>,
    body: Option<Value>,
    text: Option<String>,
    events: Option<Vec<Value>>,
    closed: bool,
}

impl Answer {
    /// What captures and conditions look into.
    fn document(&self) -> Value {
        match &self.events {
            Some(events) => events.clone().into(),
            None => self.body.clone().unwrap_or_default(),
        }
    }
}

/// A watch that is read bit by bit.
struct Stream {
    body: ResponseBody,
    buffer: Vec<u8>,
    events: Vec<Value>,
    closed: bool,
}

impl Stream {
    fn new(body: ResponseBody) -> Self {
        Self { body, buffer: Vec::new(), events: Vec::new(), closed: false }
    }

    /// Reads until the end, the deadline, or until as many events as wanted came and a moment passed.
    async fn read(&mut self, seconds: f64, count: Option<usize>, bookmarks: &str) -> Vec<Value> {
        let end = Instant::now() + Duration::from_secs_f64(seconds);
        let mut full: Option<Instant> = None;
        while !self.closed {
            let seen = filtered(&self.events, bookmarks);
            if count.is_some_and(|count| seen.len() >= count) {
                full = full.or(Some(Instant::now() + SETTLE));
            }
            let Ok(frame) = timeout_at(full.map_or(end, |full| full.min(end)), self.body.frame()).await
            else {
                break;
            };
            match frame {
                Some(frame) => self.buffer.extend_from_slice(frame.unwrap().data_ref().unwrap()),
                None => self.closed = true,
            }
            while let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.buffer.drain(..=end).collect();
                self.events.push(serde_json::from_slice(&line).unwrap());
            }
        }
        filtered(&self.events, bookmarks)
    }
}

/// The events without the bookmarks that do not matter here.
fn filtered(events: &[Value], bookmarks: &str) -> Vec<Value> {
    let mut kept: Vec<Value> = Vec::new();
    for event in events {
        let initial = &event["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"];
        let dropped = match bookmarks {
            "drop" => true,
            "initial" => initial != "true",
            "squash" => kept.last().is_some_and(|last| last["type"] == "BOOKMARK"),
            _ => false,
        };
        if event["type"] != "BOOKMARK" || !dropped {
            kept.push(event.clone());
        }
    }
    kept
}

/// One run of one case.
pub(crate) struct Runner<'a> {
    cluster: &'a FakeApiServer,
    case: &'a Case,
    vars: Vars,
    matcher: Matcher,
    streams: BTreeMap<String, Stream>,
}

impl<'a> Runner<'a> {
    /// The `number`th run against the cluster.
    pub(crate) fn new(cluster: &'a FakeApiServer, case: &'a Case, number: usize) -> Self {
        let vars = case.vars(&run_name(number));
        Self { cluster, case, vars, matcher: Matcher::new(), streams: BTreeMap::new() }
    }

    /// Runs all steps; the first difference is the error.
    pub(crate) async fn run(mut self) -> Result<(), String> {
        let outcome = self.steps().await;
        self.streams.clear();
        for request in &self.case.cleanup {
            let body = request.get("body").map(|body| self.vars.fill(body).to_string());
            self.send(&self.vars.fill(request), body).await;
        }
        outcome
    }

    async fn steps(&mut self) -> Result<(), String> {
        for (step, body) in self.case.steps.iter().zip(&self.case.bodies) {
            let told = |Difference { path, expected, actual }| {
                format!("step {}, at {path}: expected {expected}, actual {actual}", step["id"])
            };
            let answer = self.step(step, body.as_deref()).await;
            self.compare(step, &answer).map_err(told)?;
            let document = answer.document();
            for (name, pointer) in step["capture"].as_object().into_iter().flatten() {
                let value = document.pointer(pointer.as_str().unwrap());
                let value = value.ok_or_else(|| told(Difference::new("(capture)", pointer, &document)))?;
                self.vars.set(name, value.clone());
            }
        }
        self.matcher.grew(&self.case.order).map_err(|difference| format!("{difference:?}"))
    }

    async fn step(&mut self, step: &Value, body: Option<&str>) -> Answer {
        if let Some(seconds) = step["sleepBefore"].as_f64() {
            sleep(Duration::from_secs_f64(seconds)).await;
        }
        if let Some(name) = step["collect"].as_str() {
            let mut stream = self.streams.remove(name).expect("the stream was opened");
            return collect(&mut stream, step, step).await;
        }
        let request = self.vars.fill(&step["request"]);
        let body = body.map(|body| self.vars.fill_json(body));
        let watch = &step["watch"];
        if !watch.is_null() {
            let response = self.send(&request, body).await;
            if response.status() != 200 {
                return read(response).await;
            }
            let (parts, body) = response.into_parts();
            let headers = picked(&parts.headers);
            let mut stream = Stream::new(body);
            if let Some(name) = watch["open"].as_str() {
                self.streams.insert(name.to_owned(), stream);
                return Answer { status: 200, headers, ..Answer::default() };
            }
            return Answer { headers, ..collect(&mut stream, watch, step).await };
        }
        let retry = self.vars.fill(&step["retry"]);
        let end = Instant::now() + Duration::from_secs_f64(retry["seconds"].as_f64().unwrap_or_default());
        loop {
            let answer = read(self.send(&request, body.clone()).await).await;
            if items(&retry["until"]).iter().all(|condition| holds(condition, &answer))
                || Instant::now() > end
            {
                return answer;
            }
            sleep(Duration::from_secs_f64(retry["interval"].as_f64().unwrap_or(0.2))).await;
        }
    }

    async fn send(&self, request: &Value, body: Option<String>) -> Response<ResponseBody> {
        let encode = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
        let mut pairs = Vec::new();
        for (name, value) in request["query"].as_object().into_iter().flatten() {
            let values = value.as_array().cloned().unwrap_or_else(|| vec![value.clone()]);
            for value in values {
                let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                pairs.push(format!("{}={}", encode(name), encode(&text)));
            }
        }
        let path = request["path"].as_str().unwrap();
        let target = if pairs.is_empty() { path.to_owned() } else { format!("{path}?{}", pairs.join("&")) };
        let body = request["rawBody"].as_str().map(str::to_owned).or(body);
        let mut headers = BTreeMap::from([
            ("user-agent".to_owned(), "conformance-replay/1".to_owned()),
            ("accept".to_owned(), "application/json".to_owned()),
        ]);
        if body.is_some() {
            headers.insert("content-type".into(), "application/json".into());
        }
        let auth = request["auth"].as_str();
        if let Some(token) = auth.filter(|auth| *auth != "none") {
            headers.insert("authorization".into(), format!("Bearer {token}"));
        }
        for (name, value) in request["headers"].as_object().into_iter().flatten() {
            headers.insert(name.to_lowercase(), value.as_str().unwrap().to_owned());
        }
        headers.retain(|_, value| !value.is_empty());
        let mut sent = Request::builder().method(request["method"].as_str().unwrap()).uri(target);
        for (name, value) in &headers {
            sent = sent.header(name, value);
        }
        let sent: Request<Full<bytes::Bytes>> =
            sent.body(Full::new(body.unwrap_or_default().into_bytes().into())).unwrap();
        // Only requests that name nobody are the administrator's.
        let service = match auth {
            None => self.cluster.service_as(User::admin()),
            Some(_) => self.cluster.service(),
        };
        service.oneshot(sent).await.unwrap()
    }

    fn compare(&mut self, step: &Value, answer: &Answer) -> Result<(), Difference> {
        let expected = self.vars.fill(&step["expect"]);
        if expected["status"] != answer.status {
            let shown = json!([answer.status, answer.document(), answer.text]);
            return Err(Difference::new("(status)", &expected["status"], &shown));
        }
        if step["compare"] == "status" {
            return Ok(());
        }
        let lenient = texts(&self.vars.fill(&step["lenient"]));
        let free = |part: &str| lenient.iter().any(|one| one == part);
        if !free("(headers)") && step.get("collect").is_none() {
            for name in HEADERS {
                let want = expected["headers"].get(*name).unwrap_or(&Value::Null);
                let have = answer.headers.get(*name).unwrap_or(&Value::Null);
                if want != have {
                    return Err(Difference::new(&format!("(header {name})"), want, have));
                }
            }
        }
        let seen = |document: &Value| {
            let managed = step["managedFields"] == true;
            view::sort_managers(&view::of(document, &self.vars.fill(&step["view"]), managed))
        };
        if let Some(events) = expected.get("events") {
            let actual = seen(&answer.document());
            self.matcher.compare(&view::sort_managers(events), &actual, "", &lenient)?;
            match expected["closed"].as_bool() {
                Some(closed) if closed != answer.closed => {
                    Err(Difference::new("(closed)", &closed.into(), &answer.closed.into()))
                }
                _ => Ok(()),
            }
        } else if let Some(body) = expected.get("body") {
            let Some(actual) = &answer.body else {
                return Err(Difference::new("(body)", body, &json!(answer.text)));
            };
            let pair = (view::sort_managers(body), seen(actual));
            let (want, have) = view::without_order(&pair.0, &pair.1).unwrap_or(pair);
            self.matcher.compare(&want, &have, "", &lenient)?;
            newer_than_items(actual)
        } else if let Some(text) = expected["text"].as_str() {
            let actual = answer.text.as_deref();
            let same = actual.is_some_and(|actual| free("(text)") || self.matcher.text(text, actual));
            let told = || Difference::new("(text)", &text.into(), &json!([actual, answer.body]));
            same.then_some(()).ok_or_else(told)
        } else {
            Ok(())
        }
    }
}

async fn collect(stream: &mut Stream, watch: &Value, step: &Value) -> Answer {
    let expected = items(&step["expect"]["events"]).len();
    let count = watch["count"].as_u64().map_or(expected, |count| count.try_into().unwrap());
    let count = (watch["untilClosed"] != true).then_some(count);
    let bookmarks = watch["bookmarks"].as_str().unwrap_or("keep");
    let events = stream.read(watch["seconds"].as_f64().unwrap(), count, bookmarks).await;
    Answer { status: 200, events: Some(events), closed: stream.closed, ..Answer::default() }
}

async fn read(response: Response<ResponseBody>) -> Answer {
    let (parts, body) = response.into_parts();
    let text = String::from_utf8(body.collect().await.unwrap().to_bytes().to_vec()).unwrap();
    let body = serde_json::from_str(&text).ok();
    let text = body.is_none().then_some(text);
    Answer { status: parts.status.as_u16(), headers: picked(&parts.headers), body, text, ..Answer::default() }
}

fn picked(headers: &HeaderMap) -> BTreeMap<&'static str, Value> {
    let mut out = BTreeMap::new();
    for name in HEADERS {
        let values = headers.get_all(*name).iter().map(|value| value.to_str().unwrap().to_owned());
        let values: Vec<_> = values.collect();
        if let Some(first) = values.first() {
            let listed = *name == "Warning";
            out.insert(*name, if listed { json!(values) } else { json!(first) });
        }
    }
    out
}

/// Whether the answer fulfils what a retried request waits for.
fn holds(condition: &Value, answer: &Answer) -> bool {
    if condition.get("status").is_some_and(|status| *status != answer.status) {
        return false;
    }
    let Some(path) = condition["path"].as_str() else { return true };
    let document = answer.document();
    let found = document.pointer(path);
    let has = |want: &Value| {
        let fits = |element: &&Value| {
            want.as_object().unwrap().iter().all(|(name, value)| element.get(name) == Some(value))
        };
        found.is_some_and(|found| items(found).iter().any(|element| fits(&element)))
    };
    condition["exists"].as_bool().is_none_or(|exists| exists == found.is_some())
        && condition.get("equals").is_none_or(|value| found == Some(value))
        && condition["length"]
            .as_u64()
            .is_none_or(|length| found.map_or(0, |found| items(found).len() as u64) == length)
        && condition.get("has").is_none_or(has)
}

/// A list is at least as new as each of its items.
fn newer_than_items(body: &Value) -> Result<(), Difference> {
    let version = |value: &Value| {
        value["metadata"]["resourceVersion"].as_str().and_then(|text| text.parse::<u64>().ok())
    };
    let Some(list) = version(body) else { return Ok(()) };
    match items(&body["items"]).iter().filter_map(version).max() {
        Some(newest) if newest > list => {
            Err(Difference::new("/metadata/resourceVersion", &newest.into(), &list.into()))
        }
        _ => Ok(()),
    }
}
