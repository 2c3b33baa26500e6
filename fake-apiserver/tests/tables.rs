//! Tables, as `kubectl get` asks for them.
#![allow(clippy::unwrap_used, reason = "a test may stop at what it does not expect")]

mod common;

use std::time::Duration;

use common::{Events, config_map, quiet, send_with, with};
use http_body_util::BodyExt;
use serde_json::json;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const TABLE: (&str, &str) = ("accept", "application/json;as=Table;v=v1;g=meta.k8s.io");

#[tokio::test(start_paused = true)]
async fn ages_follow_the_clock_of_the_cluster() {
    let cluster = quiet();
    cluster.create(config_map("a")).unwrap();
    tokio::time::advance(Duration::from_secs(125)).await;
    let table = send_with(&cluster, "GET", MAPS, &[TABLE], None).await.body;
    assert_eq!(table["rows"][0]["cells"], json!(["a", 0, "2m5s"]));
    assert_eq!(table["metadata"], json!({ "resourceVersion": cluster.revision().to_string() }));
}

#[tokio::test]
async fn pages_of_a_table_go_on_like_pages_of_a_list() {
    let cluster = quiet();
    ["a", "b", "c"].into_iter().for_each(|name| drop(cluster.create(config_map(name)).unwrap()));
    let first = send_with(&cluster, "GET", &format!("{MAPS}?limit=2"), &[TABLE], None).await.body;
    let token = first["metadata"]["continue"].as_str().unwrap();
    assert_eq!(first["metadata"]["remainingItemCount"], 1);
    let second = send_with(&cluster, "GET", &format!("{MAPS}?continue={token}"), &[TABLE], None).await.body;
    assert_eq!(second["rows"][0]["cells"][0], "c");
}

#[tokio::test(start_paused = true)]
async fn only_the_first_event_of_a_watch_tells_the_columns() {
    let cluster = quiet();
    let target = format!("{MAPS}?watch=true&timeoutSeconds=1");
    let body = common::open(&cluster, "GET", &target, &[TABLE], String::new()).await.into_body();
    cluster.create(config_map("a")).unwrap();
    cluster.replace(with(config_map("a"), json!({ "data": { "k": "v" } }))).unwrap();
    let bytes = body.collect().await.unwrap().to_bytes();
    let events = Events::read(&bytes);
    assert_eq!(events[0]["object"]["columnDefinitions"][1]["name"], "Data");
    assert_eq!(events[1]["object"]["columnDefinitions"], json!(null));
    assert_eq!(events[1]["object"]["rows"][0]["cells"][1], 1);
}

#[tokio::test]
async fn a_table_cannot_come_without_a_known_choice_of_objects() {
    let cluster = quiet();
    cluster.create(config_map("a")).unwrap();
    let path = |include: &str| format!("{MAPS}/a?includeObject={include}");
    let object = send_with(&cluster, "GET", &path("Object"), &[TABLE], None).await.body;
    assert_eq!(object["rows"][0]["object"]["kind"], "ConfigMap");
    let nothing = send_with(&cluster, "GET", &path("None"), &[TABLE], None).await.body;
    assert_eq!(nothing["rows"][0]["object"], json!(null));
    assert_eq!(send_with(&cluster, "GET", &path("All"), &[TABLE], None).await.code, 400);
}

#[tokio::test]
async fn metadata_of_a_list_is_not_metadata_of_an_object() {
    let cluster = quiet();
    cluster.create(config_map("a")).unwrap();
    let ask = |shape: &str| format!("application/json;as={shape};v=v1;g=meta.k8s.io");
    for (target, shape, code) in [
        (MAPS.to_owned(), "PartialObjectMetadataList", 200),
        (MAPS.to_owned(), "PartialObjectMetadata", 406),
        (format!("{MAPS}/a"), "PartialObjectMetadata", 200),
        (format!("{MAPS}/a"), "PartialObjectMetadataList", 406),
    ] {
        let answer = send_with(&cluster, "GET", &target, &[("accept", &ask(shape))], None).await;
        assert_eq!(answer.code, code, "{target} {shape}");
    }
}
