//! Watching collections.
#![allow(clippy::unwrap_used, reason = "a test may stop at what it does not expect")]

mod common;

use std::time::Duration;

use common::{Events, cluster, config_map, open, quiet, send, with};
use fake_apiserver::{Controllers, FakeApiServer};
use futures::StreamExt;
use http_body_util::BodyExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::Api;
use kube::runtime::{WatchStreamExt, watcher};
use serde_json::{Value, json};

const WATCH: &str = "/api/v1/namespaces/default/configmaps?watch=true";

fn map(name: &str, value: &str, label: &str) -> Value {
    with(config_map(name), json!({"metadata": {"labels": {"on": label}}, "data": {"v": value}}))
}

#[tokio::test(start_paused = true)]
async fn a_watch_starts_with_what_there_is_and_goes_on_with_changes() {
    let cluster = quiet();
    cluster.create(map("a", "1", "")).unwrap();
    let mut events = Events::open(&cluster, WATCH).await;
    assert_eq!(events.brief().await.unwrap(), "ADDED a 1");
    cluster.replace(map("a", "2", "")).unwrap();
    cluster.remove("", "ConfigMap", "default", "a").unwrap();
    assert_eq!(events.brief().await.unwrap(), "MODIFIED a 2");
    let deleted = events.next().await.unwrap();
    assert_eq!(deleted["type"], "DELETED");
    assert_eq!(deleted["object"]["metadata"]["resourceVersion"], cluster.revision().to_string());
}

#[tokio::test(start_paused = true)]
async fn a_watch_resumes_after_the_version_it_is_given() {
    let cluster = quiet();
    let first = cluster.create(map("a", "1", "")).unwrap();
    cluster.create(map("b", "1", "")).unwrap();
    let version = first["metadata"]["resourceVersion"].as_str().unwrap();
    let mut events =
        Events::open(&cluster, &format!("{WATCH}&resourceVersion={version}&timeoutSeconds=1")).await;
    assert_eq!(events.brief().await.unwrap(), "ADDED b 1");
    assert_eq!(events.next().await, None, "the timeout ends it");
}

#[tokio::test(start_paused = true)]
async fn an_object_that_leaves_the_selection_is_deleted_for_the_watcher() {
    let cluster = quiet();
    let mut events = Events::open(&cluster, &format!("{WATCH}&labelSelector=on%3Dyes")).await;
    cluster.create(map("a", "1", "yes")).unwrap();
    cluster.replace(map("a", "2", "no")).unwrap();
    cluster.replace(map("a", "3", "no")).unwrap();
    cluster.replace(map("a", "4", "yes")).unwrap();
    assert_eq!(events.brief().await.unwrap(), "ADDED a 1");
    assert_eq!(events.brief().await.unwrap(), "DELETED a 1");
    assert_eq!(events.brief().await.unwrap(), "ADDED a 4");
}

#[tokio::test(start_paused = true)]
async fn a_version_before_the_history_is_gone() {
    let cluster = quiet();
    cluster.create(map("a", "1", "")).unwrap();
    let version = cluster.revision() - 1;
    cluster.compact();
    let mut events = Events::open(&cluster, &format!("{WATCH}&resourceVersion={version}")).await;
    let error = events.next().await.unwrap();
    assert_eq!((&error["type"], &error["object"]["code"]), (&json!("ERROR"), &json!(410)));
    assert_eq!(events.next().await, None);
}

#[tokio::test(start_paused = true)]
async fn compaction_does_not_disturb_a_watcher_that_is_up_to_date() {
    let cluster = quiet();
    cluster.create(map("a", "1", "")).unwrap();
    let mut events = Events::open(&cluster, WATCH).await;
    events.next().await.unwrap();
    cluster.compact();
    cluster.create(map("b", "1", "")).unwrap();
    assert_eq!(events.brief().await.unwrap(), "ADDED b 1");
}

#[tokio::test(start_paused = true)]
async fn bookmarks_come_each_minute_and_at_the_end() {
    let cluster = quiet();
    let target =
        format!("{WATCH}&resourceVersion={}&allowWatchBookmarks=true&timeoutSeconds=90", cluster.revision());
    let started = tokio::time::Instant::now();
    let mut events = Events::open(&cluster, &target).await;
    let bookmark = events.next().await.unwrap();
    assert_eq!(bookmark["type"], "BOOKMARK");
    assert_eq!(bookmark["object"]["metadata"], json!({"resourceVersion": cluster.revision().to_string()}));
    assert_eq!(started.elapsed(), Duration::from_secs(60));
    assert_eq!(events.next().await.unwrap()["type"], "BOOKMARK");
    assert_eq!(events.next().await, None);
    assert_eq!(started.elapsed(), Duration::from_secs(90));
}

#[tokio::test(start_paused = true)]
async fn initial_events_end_with_an_annotated_bookmark() {
    let cluster = quiet();
    cluster.create(map("a", "1", "")).unwrap();
    let more = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    let mut events = Events::open(&cluster, &format!("{WATCH}&{more}")).await;
    assert_eq!(events.brief().await.unwrap(), "ADDED a 1");
    let end = events.next().await.unwrap();
    assert_eq!(end["object"]["metadata"]["annotations"], json!({"k8s.io/initial-events-end": "true"}));
}

#[tokio::test]
async fn wrong_combinations_of_options_are_refused() {
    let answer = send(&quiet(), "GET", &format!("{WATCH}&sendInitialEvents=true"), None).await;
    assert_eq!(answer.code, 422);
    assert_eq!(answer.body["details"]["kind"], "ListOptions");
}

#[tokio::test(start_paused = true)]
async fn a_kube_watcher_follows_the_cluster_through_compaction() {
    let cluster = cluster();
    let maps: Api<ConfigMap> = Api::default_namespaced(cluster.client());
    let config = watcher::Config::default().labels("on").streaming_lists();
    let mut stream = std::pin::pin!(watcher(maps, config).default_backoff().applied_objects());
    cluster.create(map("a", "1", "x")).unwrap();
    let name = |map: ConfigMap| map.metadata.name.unwrap();
    assert_eq!(name(stream.next().await.unwrap().unwrap()), "a");
    cluster.compact();
    cluster.create(map("b", "1", "x")).unwrap();
    assert_eq!(name(stream.next().await.unwrap().unwrap()), "b");
}

#[tokio::test(start_paused = true)]
async fn a_watch_may_ask_for_more_time_than_there_is() {
    let cluster = quiet();
    let mut events = Events::open(&cluster, &format!("{WATCH}&timeoutSeconds={}", i64::MAX)).await;
    cluster.create(map("a", "1", "")).unwrap();
    assert_eq!(events.brief().await.unwrap(), "ADDED a 1");
}

#[tokio::test(start_paused = true)]
async fn a_watcher_that_does_not_read_holds_up_nobody_and_is_ended_when_it_falls_behind() {
    let cluster = FakeApiServer::builder().history(10).controllers(Controllers::none()).build();
    let mut slow = Events::open(&cluster, WATCH).await;
    for index in 0..100 {
        cluster.create(map(&format!("m{index}"), "1", "")).unwrap();
    }
    let event = slow.next().await.unwrap();
    assert_eq!((&event["type"], &event["object"]["code"]), (&json!("ERROR"), &json!(410)));
    assert!(slow.next().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_watch_reads_about_a_mebibyte_ahead_and_no_more() {
    const MIB: usize = 1024 * 1024;
    let cluster = quiet();
    let large = |name: String| with(config_map(&name), json!({"data": {"v": "x".repeat(MIB / 4)}}));
    for index in 0..20 {
        cluster.create(large(format!("before-{index}"))).unwrap();
    }
    let response = open(&cluster, "GET", WATCH, &[], String::new()).await;
    for index in 0..20 {
        cluster.create(large(format!("after-{index}"))).unwrap();
    }
    let mut body = response.into_body();
    let mut events = 0;
    while events < 40 {
        let frame = body.frame().await.unwrap().unwrap().into_data().unwrap();
        assert!(frame.len() < MIB + MIB / 2, "{} bytes", frame.len());
        events += Events::read(&frame).len();
    }
}
