//! The production binary as a pod of its hub sees it: probes, metrics, logs, and how it ends.

use std::process::Stdio;

use knative_operator::api::crd;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::TcpStream;
use tokio::process::{Child, ChildStderr, Command};

use crate::fleet::{Scratch, Spoke, TOKEN, serve};

/// A hub on a socket, with everything the operator needs there.
async fn hub() -> Spoke {
    let hub = serve("hub.internal").await;
    for definition in crd::definitions() {
        hub.cluster.create(definition).unwrap();
    }
    let profiles = include_str!("../../scenarios/src/fixtures/clusterprofiles.yaml");
    hub.cluster.create(serde_saphyr::from_str(profiles).unwrap()).unwrap();
    let namespace = json!({"name": "knative-operator"});
    hub.cluster.create(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": namespace})).unwrap();
    hub.cluster.settle();
    hub
}

/// A running operator and its log, line by line.
struct Operator {
    process: Child,
    log: Lines<BufReader<ChildStderr>>,
    /// Everything it said so far.
    said: String,
}

impl Operator {
    fn start(hub: &Spoke, files: &Scratch) -> Self {
        let kubeconfig = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "hub",
            "contexts": [{"name": "hub", "context": {"cluster": "hub", "user": "operator"}}],
            "clusters": [{"name": "hub", "cluster": hub.endpoint()}],
            "users": [{"name": "operator", "user": {"token": TOKEN}}],
        });
        std::fs::write(files.path("kubeconfig"), kubeconfig.to_string()).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_knative-operator"));
        command.args([
            "run",
            "--log-format=json",
            "--metrics-port=0",
            "--health-port=0",
            "--metrics-host=127.0.0.1",
        ]);
        command.args(["--kubeconfig", &files.path("kubeconfig")]);
        command.env_remove("KO_DATA_PATH").env_remove("RUST_LOG").env_remove("SYSTEM_NAMESPACE");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true);
        let mut process = command.spawn().unwrap();
        let log = BufReader::new(process.stderr.take().unwrap()).lines();
        Self { process, log, said: String::new() }
    }

    /// The next line that says `message`, each line being one JSON object.
    async fn says(&mut self, message: &str) -> Value {
        while let Some(line) = self.log.next_line().await.unwrap() {
            self.said += &format!("{line}\n");
            let record: Value = serde_json::from_str(&line).unwrap();
            if record["message"] == message {
                return record;
            }
        }
        panic!("it ended without saying {message:?}: {}", self.said);
    }

    /// The port of what it says it serves.
    async fn port_of(&mut self, what: &str) -> u16 {
        let record = self.says("serving").await;
        assert_eq!(record["what"], what, "{record}");
        record["address"].as_str().unwrap().rsplit_once(':').unwrap().1.parse().unwrap()
    }
}

/// Status and body of a page.
async fn page(port: u16, path: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: operator\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

#[tokio::test]
async fn w48_metrics_and_probes_are_served_by_default_and_a_signal_ends_it_in_order() {
    let (hub, files) = (hub().await, Scratch::new("monitor"));
    let mut operator = Operator::start(&hub, &files);
    let (metrics, probes) = (operator.port_of("metrics").await, operator.port_of("probes").await);
    operator.says("every watch has listed everything once").await;
    assert_eq!(page(probes, "/readyz").await, (200, "ok\n".into()));
    assert_eq!(page(probes, "/healthz").await, (200, "ok\n".into()));
    assert_eq!(page(probes, "/metrics").await.0, 404);
    let (status, text) = page(metrics, "/metrics").await;
    assert_eq!((status, text.lines().last()), (200, Some("# EOF")));
    for line in [
        "knative_operator_leading 1",
        "# TYPE knative_operator_requests counter",
        "knative_operator_clusters{state=\"suspended\"} 0",
        "knative_operator_requests_total{cluster=\"hub\",verb=\"read\",outcome=\"ok\"} ",
    ] {
        assert!(text.lines().any(|found| found.starts_with(line)), "{line:?} is not in:\n{text}");
    }

    let lease =
        || hub.cluster.get("coordination.k8s.io", "Lease", "knative-operator", "knative-operator").unwrap();
    assert_ne!(lease()["spec"]["holderIdentity"], "");
    let pid = operator.process.id().and_then(|id| rustix::process::Pid::from_raw(i32::try_from(id).unwrap()));
    rustix::process::kill_process(pid.unwrap(), rustix::process::Signal::TERM).unwrap();
    operator.says("stopped").await;
    assert!(operator.process.wait().await.unwrap().success());
    assert_eq!(lease()["spec"]["holderIdentity"], "", "the Lease was given back");
    assert!(!operator.said.contains("s3cret"), "{}", operator.said);
}

#[tokio::test]
async fn a_port_in_use_ends_it_with_a_word_about_which() {
    let (hub, files) = (hub().await, Scratch::new("port"));
    let taken = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = taken.local_addr().unwrap().port();
    drop(Operator::start(&hub, &files));
    let mut command = Command::new(env!("CARGO_BIN_EXE_knative-operator"));
    command.args(["run", "--health-port=0", "--metrics-host=127.0.0.1", &format!("--metrics-port={port}")]);
    command.args(["--kubeconfig", &files.path("kubeconfig")]);
    let output = command.output().await.unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains(&format!("cannot serve metrics on port {port}")), "{text}");
}
