//! Whether the clusters of these worlds are real enough.

use fake_apiserver::FakeApiServer;
use futures::StreamExt;
use kube::api::{Api, DeleteParams, DynamicObject, PropagationPolicy};
use kube::core::{ApiResource, GroupVersionKind};
use kube::runtime::watcher;

use super::*;
use crate::mutant;
use crate::runtime::run;
use crate::search::reference::References;

fn maps(server: &FakeApiServer) -> Api<DynamicObject> {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "ConfigMap"));
    Api::namespaced_with(server.client(), "default", &resource)
}

/// A ConfigMap owned by others, each of which waits for it or not.
fn owned(server: &FakeApiServer, name: &str, owners: &[(&Value, bool)]) -> Arc<Value> {
    let references = owners.iter().map(|(owner, blocks)| {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "name": owner["metadata"]["name"],
               "uid": owner["metadata"]["uid"], "blockOwnerDeletion": blocks})
    });
    let references: Vec<_> = references.collect();
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"namespace": "default", "name": name, "ownerReferences": references}});
    server.create(object).expect("it may be created")
}

/// `top` owns `middle` owns `bottom`, and `shared` is owned by `top` and by `other`.
fn tree() -> FakeApiServer {
    let server = FakeApiServer::builder().seed(1).build();
    let [top, other] = ["top", "other"].map(|name| owned(&server, name, &[]));
    let middle = owned(&server, "middle", &[(&top, true)]);
    owned(&server, "bottom", &[(&middle, true)]);
    owned(&server, "shared", &[(&top, true), (&other, true)]);
    server
}

fn left(server: &FakeApiServer) -> Vec<String> {
    let maps = server.snapshot().list("", "ConfigMap", "default");
    let names = maps.iter().map(|map| map["metadata"]["name"].as_str().unwrap_or_default().to_owned());
    names.filter(|name| name != "kube-root-ca.crt").collect()
}

#[test]
fn br64_owners_that_go_take_their_dependents_along_in_the_way_they_are_deleted() {
    run(|| async {
        for (policy, survivors) in [
            (PropagationPolicy::Background, ["other", "shared"].as_slice()),
            (PropagationPolicy::Foreground, &["other", "shared"]),
            (PropagationPolicy::Orphan, &["bottom", "middle", "other", "shared"]),
        ] {
            let server = tree();
            let params = DeleteParams { propagation_policy: Some(policy.clone()), ..DeleteParams::default() };
            maps(&server).delete("top", &params).await.expect("it is there");
            tokio::time::sleep(MINUTE).await;
            assert_eq!(left(&server), survivors, "{policy:?}");
            let shared = server.get("", "ConfigMap", "default", "shared").expect("it has another owner");
            let owners = shared["metadata"]["ownerReferences"].as_array().map_or(0, Vec::len);
            assert_eq!(owners, 1, "{policy:?}: the owner that is gone is taken off");
        }
    });
}

#[test]
fn br65_an_owner_in_the_foreground_stays_until_what_blocks_it_is_gone_and_shows_its_finalizer() {
    run(|| async {
        let server = FakeApiServer::builder().seed(2).build();
        let top = owned(&server, "top", &[]);
        for (name, blocks) in [("waited-for", true), ("not-waited-for", false)] {
            let child = owned(&server, name, &[(&top, blocks)]);
            assert_eq!(child["metadata"]["ownerReferences"][0]["blockOwnerDeletion"], blocks);
        }
        let hold = |holds: &[&str]| {
            for name in ["waited-for", "not-waited-for"] {
                let held = holds.contains(&name);
                let finalizers = if held { json!(["example.org/hold"]) } else { json!([]) };
                drop(server.edit("", "ConfigMap", "default", name, |object| {
                    object["metadata"]["finalizers"] = finalizers;
                }));
            }
        };
        hold(&["waited-for", "not-waited-for"]);
        maps(&server).delete("top", &DeleteParams::foreground()).await.expect("it is there");
        tokio::time::sleep(MINUTE).await;
        let waiting = server.get("", "ConfigMap", "default", "top").expect("it waits");
        assert!(waiting["metadata"]["deletionTimestamp"].is_string());
        assert_eq!(waiting["metadata"]["finalizers"], json!(["foregroundDeletion"]));
        assert!(server.get("", "ConfigMap", "default", "waited-for").is_some());
        hold(&["not-waited-for"]);
        tokio::time::sleep(MINUTE).await;
        assert_eq!(left(&server), ["not-waited-for"], "nobody waits for that one");
        hold(&[]);
        tokio::time::sleep(MINUTE).await;
        assert_eq!(left(&server), [""; 0]);
    });
}

#[test]
fn br67_a_streaming_list_ends_with_its_bookmark_and_a_watcher_syncs() {
    run(|| async {
        let server = FakeApiServer::builder().seed(3).build();
        for name in ["a", "b", "c"] {
            owned(&server, name, &[]);
        }
        let config = watcher::Config::default().streaming_lists();
        let mut events = std::pin::pin!(watcher(maps(&server), config));
        let mut seen = Vec::new();
        loop {
            let event = tokio::time::timeout(MINUTE, events.next()).await.expect("it does not hang");
            match event.expect("it lasts").expect("it is understood") {
                watcher::Event::Init => {}
                watcher::Event::InitApply(map) => seen.push(map.metadata.name.unwrap_or_default()),
                watcher::Event::InitDone => break,
                other => unreachable!("before the list is complete: {other:?}"),
            }
        }
        seen.retain(|name| name != "kube-root-ca.crt");
        assert_eq!(seen, ["a", "b", "c"]);
        owned(&server, "d", &[]);
        let next = tokio::time::timeout(MINUTE, events.next()).await.expect("it goes on");
        assert!(matches!(next, Some(Ok(watcher::Event::Apply(_)))), "{next:?}");
    });
}

#[test]
fn br69_of_12000_requests_a_bounded_number_is_remembered() {
    run(|| async {
        let server = FakeApiServer::builder().seed(4).build();
        owned(&server, "a", &[]);
        let api = maps(&server);
        let mut remembered = Vec::new();
        for turn in 1..=12_000 {
            api.get("a").await.expect("it is there");
            if turn % 6_000 == 0 {
                remembered.push(server.requests().len());
            }
        }
        assert!(remembered[0] == remembered[1] && remembered[0] < 6_000, "{remembered:?}");
    });
}

#[test]
fn br70_an_operator_that_gives_cluster_scoped_objects_an_owner_in_a_namespace_is_caught() {
    let found = mutant::all().into_iter().find(|mutant| mutant.name == "scoped-owner");
    let verdict = mutant::hunt(&found.expect("it is listed"), 0..5, 10, &References::default());
    assert_eq!(verdict.oracle, Some("ownership"), "{}", verdict.text);
}
