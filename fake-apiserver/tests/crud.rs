//! Creating, reading, replacing and deleting objects.
#![allow(clippy::unwrap_used, reason = "a test may stop at what it does not expect")]

mod common;

use common::{config_map, quiet as cluster, send, send_with, with};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::api::{Api, DeleteParams, ListParams, ObjectMeta, PostParams};
use serde_json::json;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

#[tokio::test]
async fn a_kube_client_creates_reads_lists_and_deletes() {
    let client = cluster().client();
    let maps: Api<ConfigMap> = Api::default_namespaced(client);
    let map = ConfigMap {
        metadata: ObjectMeta { name: Some("a".into()), ..ObjectMeta::default() },
        data: Some([("k".to_owned(), "v".to_owned())].into()),
        ..ConfigMap::default()
    };
    let created = maps.create(&PostParams::default(), &map).await.unwrap();
    assert!(created.metadata.uid.is_some());
    assert_eq!(maps.get("a").await.unwrap(), created);
    assert_eq!(maps.list(&ListParams::default()).await.unwrap().items, vec![created]);
    maps.delete("a", &DeleteParams::default()).await.unwrap();
    assert!(maps.get_opt("a").await.unwrap().is_none());
}

#[tokio::test]
async fn a_new_cluster_has_the_standard_namespaces() {
    let namespaces: Api<Namespace> = Api::all(cluster().client());
    let names: Vec<_> = namespaces
        .list(&ListParams::default())
        .await
        .unwrap()
        .into_iter()
        .filter_map(|ns| ns.metadata.name)
        .collect();
    assert_eq!(names, ["default", "kube-node-lease", "kube-public", "kube-system"]);
}

#[tokio::test]
async fn the_same_seed_and_requests_give_the_same_bytes() {
    async fn run() -> String {
        let cluster = cluster();
        let created = send(&cluster, "POST", MAPS, Some(json!({"metadata": {"generateName": "x-"}}))).await;
        created.text + &send(&cluster, "GET", "/api/v1/namespaces", None).await.text
    }
    assert_eq!(run().await, run().await);
}

#[tokio::test]
async fn a_name_that_is_taken_is_refused() {
    let cluster = cluster();
    cluster.create(config_map("a")).unwrap();
    let answer = send(&cluster, "POST", MAPS, Some(config_map("a"))).await;
    assert_eq!((answer.code, &answer.body["reason"]), (409, &json!("AlreadyExists")));
    assert_eq!(answer.body["message"], "configmaps \"a\" already exists");
}

#[tokio::test]
async fn an_invalid_name_is_refused_with_its_cause() {
    let answer = send(&cluster(), "POST", MAPS, Some(config_map("Upper"))).await;
    assert_eq!(answer.code, 422);
    assert_eq!(answer.body["details"]["causes"][0]["field"], "metadata.name");
}

#[tokio::test]
async fn nothing_is_created_in_a_namespace_that_does_not_exist() {
    let map = with(config_map("a"), json!({"metadata": {"namespace": "none"}}));
    let answer = send(&cluster(), "POST", "/api/v1/namespaces/none/configmaps", Some(map)).await;
    assert_eq!((answer.code, &answer.body["message"]), (404, &json!("namespaces \"none\" not found")));
}

#[tokio::test]
async fn a_stale_resource_version_is_a_conflict() {
    let cluster = cluster();
    let old = cluster.create(config_map("a")).unwrap();
    cluster.edit("", "ConfigMap", "default", "a", |map| map["data"] = json!({"k": "1"})).unwrap();
    let answer = send(&cluster, "PUT", &format!("{MAPS}/a"), Some((*old).clone())).await;
    assert_eq!((answer.code, &answer.body["reason"]), (409, &json!("Conflict")));
}

#[tokio::test]
async fn a_put_that_changes_nothing_keeps_the_resource_version() {
    let cluster = cluster();
    let old = cluster.create(with(config_map("a"), json!({"data": {"k": "v"}}))).unwrap();
    let put = with(config_map("a"), json!({"data": {"k": "v"}}));
    let answer = send(&cluster, "PUT", &format!("{MAPS}/a"), Some(put)).await;
    assert_eq!(answer.body["metadata"]["resourceVersion"], old["metadata"]["resourceVersion"]);
}

#[tokio::test]
async fn only_some_kinds_take_a_put_without_resource_version() {
    let cluster = cluster();
    cluster.create(config_map("a")).unwrap();
    let answer = send(&cluster, "PUT", &format!("{MAPS}/a"), Some(config_map("a"))).await;
    assert_eq!(answer.code, 200);
    let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "l"}});
    let leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
    assert_eq!(send(&cluster, "POST", leases, Some(lease.clone())).await.code, 201);
    let answer = send(&cluster, "PUT", &format!("{leases}/l"), Some(lease)).await;
    assert_eq!(answer.code, 422);
    assert_eq!(
        answer.body["details"]["causes"][0]["message"],
        "Invalid value: 0: must be specified for an update"
    );
}

#[tokio::test]
async fn generation_counts_changes_of_the_specification_only() {
    let cluster = cluster();
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "default"},
        "spec": {
            "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "a", "image": "b"}]}},
        },
    });
    let created = cluster.create(deployment).unwrap();
    assert_eq!(created["metadata"]["generation"], 1);
    assert_eq!(created["spec"]["strategy"]["type"], "RollingUpdate");
    let edit = |change: fn(&mut serde_json::Value)| {
        cluster.edit("apps", "Deployment", "default", "web", change).unwrap()
    };
    assert_eq!(edit(|web| web["metadata"]["labels"] = json!({"x": "y"}))["metadata"]["generation"], 1);
    assert_eq!(edit(|web| web["spec"]["replicas"] = json!(3))["metadata"]["generation"], 2);
    let status = cluster
        .edit_status("apps", "Deployment", "default", "web", |web| {
            web["spec"]["replicas"] = json!(9);
            web["status"]["replicas"] = json!(3);
        })
        .unwrap();
    assert_eq!((&status["spec"]["replicas"], &status["status"]["replicas"]), (&json!(3), &json!(3)));
    assert_eq!(edit(|web| web["status"]["replicas"] = json!(0))["status"]["replicas"], 3);
}

#[tokio::test]
async fn finalizers_hold_a_deleted_object_until_they_are_gone() {
    let cluster = cluster();
    cluster.create(with(config_map("a"), json!({"metadata": {"finalizers": ["example.com/hold"]}}))).unwrap();
    let answer = send(&cluster, "DELETE", &format!("{MAPS}/a"), None).await;
    assert_eq!(answer.body["metadata"]["deletionTimestamp"], "2024-01-01T00:00:00Z");
    let added = cluster.edit("", "ConfigMap", "default", "a", |map| {
        map["metadata"]["finalizers"] = json!(["example.com/hold", "example.com/more"]);
    });
    assert!(added.unwrap_err().message.contains("no new finalizers can be added"));
    cluster.edit("", "ConfigMap", "default", "a", |map| map["metadata"]["finalizers"] = json!([])).unwrap();
    assert!(cluster.get("", "ConfigMap", "default", "a").is_none());
}

#[tokio::test]
async fn a_delete_with_another_uid_is_a_conflict() {
    let cluster = cluster();
    cluster.create(config_map("a")).unwrap();
    let options = json!({"preconditions": {"uid": "11111111-2222-3333-4444-555555555555"}});
    let answer = send(&cluster, "DELETE", &format!("{MAPS}/a"), Some(options)).await;
    assert_eq!(answer.code, 409);
    assert!(answer.body["message"].as_str().unwrap().contains("does not match the UID in record"));
    assert!(cluster.get("", "ConfigMap", "default", "a").is_some());
}

#[tokio::test]
async fn a_dry_run_answers_and_stores_nothing() {
    let cluster = cluster();
    let answer = send(&cluster, "POST", &format!("{MAPS}?dryRun=All"), Some(config_map("a"))).await;
    assert_eq!(answer.code, 201);
    assert!(answer.body["metadata"]["uid"].is_string());
    assert!(answer.body["metadata"].get("resourceVersion").is_none());
    assert!(cluster.get("", "ConfigMap", "default", "a").is_none());
}

#[tokio::test]
async fn deletecollection_deletes_what_the_selector_matches() {
    let cluster = cluster();
    for (name, color) in [("a", "red"), ("b", "blue"), ("c", "red")] {
        cluster.create(with(config_map(name), json!({"metadata": {"labels": {"color": color}}}))).unwrap();
    }
    let answer = send(&cluster, "DELETE", &format!("{MAPS}?labelSelector=color%3Dred"), None).await;
    assert_eq!(answer.body["items"].as_array().unwrap().len(), 2);
    assert_eq!(cluster.snapshot().list("", "ConfigMap", "default").len(), 1);
}

#[tokio::test]
async fn metadata_alone_is_sent_on_request() {
    let cluster = cluster();
    cluster.create(with(config_map("a"), json!({"data": {"k": "v"}}))).unwrap();
    let accept = [("accept", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1")];
    let answer = send_with(&cluster, "GET", MAPS, &accept, None).await;
    assert_eq!(answer.body["kind"], "PartialObjectMetadataList");
    assert_eq!(answer.body["items"][0]["kind"], "PartialObjectMetadata");
    assert!(answer.body["items"][0].get("data").is_none());
}

#[tokio::test]
async fn unknown_paths_are_told_apart() {
    let cluster = cluster();
    let group = send(&cluster, "GET", "/apis/none.example.com/v1/things", None).await;
    assert_eq!((group.code, group.text.as_str()), (404, "404 page not found\n"));
    let resource = send(&cluster, "GET", "/apis/apps/v1/namespaces/default/widgets", None).await;
    assert_eq!(resource.body["message"], "the server could not find the requested resource");
    assert_eq!(send(&cluster, "POST", &format!("{MAPS}/a"), Some(config_map("a"))).await.code, 405);
    assert_eq!(send(&cluster, "POST", "/api/v1/configmaps", Some(config_map("a"))).await.code, 405);
}
