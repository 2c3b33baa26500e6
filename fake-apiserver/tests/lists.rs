//! Lists: pages, revisions, selectors, shapes.
#![allow(clippy::unwrap_used, reason = "a test may stop at what it does not expect")]

mod common;

use common::{cluster, config_map, send, with};
use serde_json::{Value, json};

const SECRETS: &str = "/api/v1/namespaces/default/secrets";

fn names(list: &Value) -> Vec<&str> {
    list["items"].as_array().unwrap().iter().map(|item| item["metadata"]["name"].as_str().unwrap()).collect()
}

fn secret(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": "default", "labels": {"n": name}}})
}

#[tokio::test]
async fn pages_show_one_moment_whatever_is_written_in_between() {
    let cluster = cluster();
    ["a", "b", "c", "d", "e"].into_iter().for_each(|name| drop(cluster.create(secret(name)).unwrap()));
    let first = send(&cluster, "GET", &format!("{SECRETS}?limit=2"), None).await.body;
    assert_eq!((names(&first), &first["metadata"]["remainingItemCount"]), (vec!["a", "b"], &json!(3)));
    cluster.create(secret("cc")).unwrap();
    cluster.remove("", "Secret", "default", "d").unwrap();
    let token = first["metadata"]["continue"].as_str().unwrap();
    let rest = send(&cluster, "GET", &format!("{SECRETS}?limit=9&continue={token}"), None).await.body;
    assert_eq!(names(&rest), ["c", "d", "e"]);
    assert_eq!(rest["metadata"]["resourceVersion"], first["metadata"]["resourceVersion"]);
    assert!(rest["metadata"].get("continue").is_none());
}

#[tokio::test]
async fn a_page_of_a_compacted_moment_expires_with_a_token_to_go_on() {
    let cluster = cluster();
    ["a", "b", "c"].into_iter().for_each(|name| drop(cluster.create(secret(name)).unwrap()));
    let first = send(&cluster, "GET", &format!("{SECRETS}?limit=1"), None).await.body;
    cluster.create(secret("d")).unwrap();
    cluster.compact();
    let token = first["metadata"]["continue"].as_str().unwrap();
    let expired = send(&cluster, "GET", &format!("{SECRETS}?limit=9&continue={token}"), None).await;
    assert_eq!((expired.code, &expired.body["reason"]), (410, &json!("Expired")));
    let token = expired.body["metadata"]["continue"].as_str().unwrap();
    let rest = send(&cluster, "GET", &format!("{SECRETS}?continue={token}"), None).await.body;
    assert_eq!(names(&rest), ["b", "c", "d"]);
}

#[tokio::test]
async fn an_exact_version_is_a_look_into_the_past() {
    let cluster = cluster();
    let version =
        cluster.create(secret("a")).unwrap()["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
    cluster.remove("", "Secret", "default", "a").unwrap();
    let target = format!("{SECRETS}?resourceVersion={version}&resourceVersionMatch=Exact");
    assert_eq!(names(&send(&cluster, "GET", &target, None).await.body), ["a"]);
    assert!(names(&send(&cluster, "GET", SECRETS, None).await.body).is_empty());
}

#[tokio::test]
async fn a_version_of_the_future_is_refused_with_a_time_to_retry() {
    let answer = send(&cluster(), "GET", &format!("{SECRETS}?resourceVersion=999999"), None).await;
    assert_eq!((answer.code, answer.headers["retry-after"].to_str().unwrap()), (504, "1"));
    assert_eq!(answer.body["details"]["causes"][0]["reason"], "ResourceVersionTooLarge");
}

#[tokio::test]
async fn selectors_narrow_a_list() {
    let cluster = cluster();
    ["a", "b", "c"].into_iter().for_each(|name| drop(cluster.create(secret(name)).unwrap()));
    let list = |query: &'static str| {
        let cluster = cluster.clone();
        async move { send(&cluster, "GET", &format!("{SECRETS}?{query}"), None).await.body }
    };
    assert_eq!(names(&list("labelSelector=n%20in%20(a,c)").await), ["a", "c"]);
    assert_eq!(names(&list("fieldSelector=metadata.name!%3Da").await), ["b", "c"]);
    assert_eq!(names(&list("fieldSelector=type%3DOpaque").await), ["a", "b", "c"]);
    assert_eq!(list("fieldSelector=data.x%3Dy").await["code"], 400);
}

#[tokio::test]
async fn a_list_over_all_namespaces_is_in_key_order() {
    let cluster = cluster();
    for (namespace, name) in [("kube-system", "a"), ("default", "b"), ("default", "a-b"), ("default", "a.b")]
    {
        cluster
            .create(with(
                config_map(name),
                json!({"metadata": {"namespace": namespace, "labels": {"t": "1"}}}),
            ))
            .unwrap();
    }
    let list = send(&cluster, "GET", "/api/v1/configmaps?labelSelector=t", None).await.body;
    assert_eq!(names(&list), ["a-b", "a.b", "b", "a"]);
    assert!(list["items"][0].get("kind").is_none(), "items of built-in lists carry no type");
}
