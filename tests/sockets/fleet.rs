//! A hub in process, a spoke on a socket, and the way between them as a profile and a provider file tell it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use fake_apiserver::FakeApiServer;
use fake_apiserver::serve::{Options, Server};
use knative_operator::api::message::chain;
use knative_operator::api::{ClusterProfileRef, Reason};
use knative_operator::clock::SystemClock;
use knative_operator::manifest::Directory;
use knative_operator::metrics::Metrics;
use knative_operator::process::connect::TlsConnector;
use knative_operator::process::exec::ExecPlugins;
use knative_operator::target::cluster::Cluster;
use knative_operator::target::resolve::{Limits, Seams, Target, Targets};
use serde_json::{Value, json};
use tokio::sync::oneshot;

/// What the spoke accepts, and a plugin therefore has to say.
pub(crate) const TOKEN: &str = "s3cret-of-the-spoke";

/// A server on a socket until the value is dropped.
pub(crate) struct Spoke {
    pub(crate) cluster: FakeApiServer,
    pub(crate) port: u16,
    pub(crate) ca: String,
    _stop: oneshot::Sender<()>,
}

/// A cluster that is reached as `localhost`, and whose certificate also names `name`.
pub(crate) async fn serve(name: &str) -> Spoke {
    let cluster = FakeApiServer::builder().rbac(true).build();
    cluster.tokens().accept(TOKEN, "fleet", ["system:masters"], None);
    let options = Options { names: vec![name.into()], ..Options::default() };
    let server = Server::bind(cluster.clone(), &options).await.unwrap();
    let (port, ca) = (server.address().port(), server.ca_pem().to_owned());
    let (stop, stopped) = oneshot::channel();
    tokio::spawn(server.run(async {
        let _ = stopped.await;
    }));
    Spoke { cluster, port, ca, _stop: stop }
}

impl Spoke {
    /// The connection part of a profile.
    pub(crate) fn endpoint(&self) -> Value {
        json!({
            "server": format!("https://localhost:{}", self.port),
            "certificate-authority-data": BASE64_STANDARD.encode(&self.ca),
        })
    }

    /// UID of the spoke's `kube-system`, by which a cluster is known.
    pub(crate) fn uid(&self) -> String {
        let namespace = self.cluster.get("", "Namespace", "", "kube-system").unwrap();
        namespace["metadata"]["uid"].as_str().unwrap().to_owned()
    }
}

/// The operator's side: how it finds and reaches the cluster of the profile `fleet/spoke`.
pub(crate) struct Fleet {
    hub: FakeApiServer,
    targets: Targets,
    files: Scratch,
}

impl Fleet {
    /// `name` tells the files of this test from others'.
    pub(crate) fn new(name: &str, limits: Limits) -> Self {
        let hub = FakeApiServer::builder().build();
        let crd = include_str!("../../scenarios/src/fixtures/clusterprofiles.yaml");
        hub.create(serde_saphyr::from_str(crd).unwrap()).unwrap();
        hub.create(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "fleet"}})).unwrap();
        hub.settle();
        let files = Scratch::new(name);
        let seams = Seams {
            hub: Cluster::new("the hub", hub.client()),
            connector: Arc::new(TlsConnector),
            credentials: Arc::new(ExecPlugins),
            clock: Arc::new(SystemClock),
            source: Arc::new(Directory),
            metrics: Metrics::default(),
        };
        let targets = Targets::new(seams, Some(files.path("providers.json")), limits);
        let fleet = Self { hub, targets, files };
        fleet.plugin_says(&json!({ "token": TOKEN }));
        fleet
    }

    /// The profile names this connection from now on.
    pub(crate) fn point_to(&self, cluster: &Value) {
        let _ = self.hub.remove("multicluster.x-k8s.io", "ClusterProfile", "fleet", "spoke");
        let profile = json!({
            "apiVersion": "multicluster.x-k8s.io/v1alpha1",
            "kind": "ClusterProfile",
            "metadata": { "name": "spoke", "namespace": "fleet" },
            "spec": { "clusterManager": { "name": "test" }, "displayName": "spoke" },
        });
        let created = self.hub.create(profile).unwrap();
        self.hub
            .edit_status("multicluster.x-k8s.io", "ClusterProfile", "fleet", "spoke", |profile| {
                profile["status"] = json!({
                    "conditions": [{
                        "type": "ControlPlaneHealthy", "status": "True", "reason": "Probed", "message": "",
                        "lastTransitionTime": created["metadata"]["creationTimestamp"],
                    }],
                    "accessProviders": [{ "name": "test", "cluster": cluster }],
                });
            })
            .unwrap();
    }

    /// The plugin is this shell script from now on.
    pub(crate) fn plugin_is(&self, script: &str) {
        let providers = json!({ "providers": [{
            "name": "test",
            "execConfig": {
                "apiVersion": "client.authentication.k8s.io/v1",
                "command": "/bin/sh",
                "args": ["-c", script],
                "interactiveMode": "Never",
            },
        }] });
        std::fs::write(self.files.path("providers.json"), providers.to_string()).unwrap();
    }

    /// The plugin answers with this status from now on.
    pub(crate) fn plugin_says(&self, status: &Value) {
        let answer = json!({
            "apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": status,
        });
        // Not `echo`, which would make a line break of `\\n`.
        self.plugin_is(&format!("printf %s '{answer}'"));
    }

    /// The cluster that the profile leads to; otherwise the reason and message that the resource's condition gets.
    pub(crate) async fn resolve(&self) -> Result<Target, (Reason, String)> {
        let reference = ClusterProfileRef { name: "spoke".into(), namespace: "fleet".into() };
        self.targets.resolve(Some(&reference)).await.map_err(|error| (error.reason(), chain(&error)))
    }

    /// Expects a refusal with this reason whose message holds all of `words`, and no secret.
    #[track_caller]
    pub(crate) fn assert_refused(outcome: Result<Target, (Reason, String)>, reason: Reason, words: &[&str]) {
        let Err((actual, message)) = outcome else { panic!("it resolved") };
        assert_eq!(actual, reason, "{message}");
        for word in words {
            assert!(message.contains(word), "{word:?} is not in: {message}");
        }
        assert!(!message.contains("s3cret"), "{message}");
    }
}

/// Limits under which a test that hangs ends soon.
pub(crate) fn short() -> Limits {
    Limits { plugin: Duration::from_millis(200), ..Limits::default() }
}

/// A directory that goes with the test.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("operator-sockets-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
