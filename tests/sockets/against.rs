//! `plan --against`: the difference to a cluster, found without writing anything.

use std::process::Stdio;

use fake_apiserver::RequestRecord;
use fake_apiserver::serve::kubeconfig;
use serde_json::{Value, json};
use tokio::process::Command;

use crate::fleet::{Scratch, Spoke, TOKEN, serve};

const SERVING: &str = r#"{
    "apiVersion": "operator.knative.dev/v1beta1", "kind": "KnativeServing",
    "metadata": { "name": "knative-serving", "namespace": "knative-serving" },
    "spec": { "version": "1.23", "ingress": { "kourier": { "enabled": true } }, "clusterProfileRef": { "name": "spoke", "namespace": "fleet" } }
}"#;

struct Review {
    files: Scratch,
    spoke: Spoke,
}

impl Review {
    async fn new(name: &str) -> Self {
        let (files, spoke) = (Scratch::new(name), serve("spoke.internal").await);
        let config = kubeconfig(&format!("https://localhost:{}", spoke.port), &spoke.ca, TOKEN);
        std::fs::write(files.path("kubeconfig"), config).unwrap();
        std::fs::write(files.path("serving.json"), SERVING).unwrap();
        Self { files, spoke }
    }

    async fn plan(&self, more: &[&str]) -> (Option<i32>, String, String) {
        let file = self.files.path("serving.json");
        let output = Command::new(env!("CARGO_BIN_EXE_knative-operator"))
            .args(["plan", "-f", &file])
            .args(more)
            .env_remove("KO_DATA_PATH")
            .stdin(Stdio::null())
            .output()
            .await
            .unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    }

    /// The difference to the cluster, to which no write was sent.
    async fn against(&self) -> Value {
        self.spoke.cluster.clear_requests();
        let kubeconfig = self.files.path("kubeconfig");
        let (code, out, err) = self.plan(&["--against", &kubeconfig, "-o", "json"]).await;
        assert_eq!((code, err.as_str()), (Some(0), ""), "{err}");
        let requests = self.spoke.cluster.requests();
        assert!(!requests.is_empty() && !requests.iter().any(RequestRecord::is_write), "{requests:?}");
        serde_json::from_str(&out).unwrap()
    }

    /// Creates what the plan for an anchor with `uid` holds.
    async fn install(&self, uid: &str) {
        let (_, out, _) = self.plan(&["-o", "json", "--anchor-uid", uid]).await;
        let plan: Value = serde_json::from_str(&out).unwrap();
        let phases = || plan["phases"].as_array().unwrap().iter();
        // Webhooks last, when what they call is there.
        let (webhooks, others): (Vec<_>, Vec<_>) =
            phases().partition(|phase| phase["name"] == "webhookConfigurations");
        for object in others.iter().chain(&webhooks).flat_map(|phase| phase["objects"].as_array().unwrap()) {
            self.spoke.cluster.replace(object.clone()).unwrap();
            self.spoke.cluster.settle();
        }
    }
}

#[tokio::test]
async fn on_an_empty_cluster_everything_is_added() {
    let review = Review::new("against-empty").await;
    let diff = review.against().await;
    assert!(diff["added"].as_array().unwrap().len() > 40, "{diff}");
    assert_eq!((&diff["removed"], &diff["changed"], &diff["unchanged"]), (&json!([]), &json!([]), &json!(0)));
}

#[tokio::test]
async fn an_edit_and_an_obsolete_object_are_all_that_differs_from_an_installed_plan() {
    let review = Review::new("against-edited").await;
    let cluster = &review.spoke.cluster;
    let namespace =
        json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "knative-serving" } });
    cluster.create(namespace).unwrap();
    let anchor = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {
            "name": "knativeserving-knative-serving-root-owner", "namespace": "knative-serving",
            "annotations": { "applyset.kubernetes.io/contains-group-kinds": "ConfigMap,Deployment.apps" },
        },
    });
    let anchor = cluster.create(anchor).unwrap();
    review.install(anchor["metadata"]["uid"].as_str().unwrap()).await;
    let diff = review.against().await;
    assert_eq!(
        (&diff["added"], &diff["removed"], &diff["changed"]),
        (&json!([]), &json!([]), &json!([])),
        "{diff}"
    );

    cluster
        .edit("", "ConfigMap", "knative-serving", "config-network", |map| {
            map["data"]["_example"] = json!("edited")
        })
        .unwrap();
    let known = cluster.get("", "ConfigMap", "knative-serving", "config-network").unwrap();
    let mut left = json!({ "apiVersion": "v1", "kind": "ConfigMap" });
    left["metadata"] =
        json!({ "name": "left", "namespace": "knative-serving", "labels": known["metadata"]["labels"] });
    cluster.create(left).unwrap();
    let diff = review.against().await;
    assert_eq!(diff["removed"], json!(["ConfigMap knative-serving/left"]));
    assert_eq!(diff["changed"].as_array().unwrap().len(), 1, "{diff}");
    assert_eq!(diff["changed"][0]["object"], "ConfigMap knative-serving/config-network");
    assert_eq!(diff["changed"][0]["fields"][0]["path"], "/data/_example");
}

#[tokio::test]
async fn a_cluster_that_cannot_be_asked_is_an_error_not_an_empty_difference() {
    let review = Review::new("against-refused").await;
    let config =
        kubeconfig(&format!("https://localhost:{}", review.spoke.port), &review.spoke.ca, "s3cret-and-wrong");
    std::fs::write(review.files.path("kubeconfig"), config).unwrap();
    let (code, out, err) = review.plan(&["--against", &review.files.path("kubeconfig")]).await;
    assert_eq!((code, out.as_str()), (Some(1), ""));
    assert!(err.contains("Unauthorized") && !err.contains("s3cret"), "{err}");
}
