//! Connections into Pods end in a refusal that says what is missing.
#![allow(clippy::unwrap_used, reason = "a test may stop at what it does not expect")]

mod common;

use common::{cluster, send};
use serde_json::json;

const POD: &str = "/api/v1/namespaces/default/pods/web";

#[tokio::test]
async fn no_kubelet_answers_for_a_pod() {
    let cluster = cluster();
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "web", "namespace": "default" },
        "spec": { "containers": [{ "name": "a", "image": "x" }, { "name": "b", "image": "x" }] },
    });
    cluster.create(pod).unwrap();
    for part in ["log", "exec", "attach"] {
        let answer = send(&cluster, "GET", &format!("{POD}/{part}"), None).await;
        assert_eq!((answer.code, answer.body["reason"].as_str()), (400, Some("BadRequest")), "{part}");
        assert_eq!(
            answer.body["message"],
            "a container name must be specified for pod web, choose one of: [a b]"
        );
        let answer = send(&cluster, "GET", &format!("{POD}/{part}?container=c"), None).await;
        assert_eq!(answer.body["message"], "container c is not valid for pod web");
    }
    let answer = send(&cluster, "POST", &format!("{POD}/portforward"), None).await;
    assert_eq!(answer.body["message"], "pod web does not have a host assigned");

    let node = json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": "n" } });
    let target = json!({ "apiVersion": "v1", "kind": "Binding", "metadata": { "name": "web" }, "target": { "kind": "Node", "name": "n" } });
    assert_eq!(send(&cluster, "POST", &format!("{POD}/binding"), Some(target)).await.code, 201);
    let exec = format!("{POD}/exec?container=a");
    let answer = send(&cluster, "POST", &exec, None).await;
    assert_eq!((answer.code, &answer.body["message"]), (404, &json!("nodes \"n\" not found")));
    cluster.create(node).unwrap();
    let answer = send(&cluster, "POST", &exec, None).await;
    assert_eq!(answer.code, 500, "{}", answer.text);
    assert!(answer.text.contains("no preferred addresses found"), "{}", answer.text);
}

#[tokio::test]
async fn logs_are_read_only_and_of_pods_that_exist() {
    let cluster = cluster();
    assert_eq!(send(&cluster, "GET", &format!("{POD}/log"), None).await.code, 404);
    assert_eq!(send(&cluster, "POST", &format!("{POD}/log"), None).await.code, 405);
    assert_eq!(send(&cluster, "PUT", &format!("{POD}/exec"), None).await.code, 405);
}
