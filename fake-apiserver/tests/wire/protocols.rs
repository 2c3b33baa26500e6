//! Both protocols, every name, and a client as operators use it.

use futures::TryStreamExt;
use http_body_util::BodyExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, ObjectMeta, PostParams, WatchEvent, WatchParams};
use serde_json::{Value, json};

use crate::client::serve;

#[tokio::test]
async fn a_kube_client_works_from_the_kubeconfig() {
    let served = serve().await;
    let maps: Api<ConfigMap> = Api::default_namespaced(served.kube().await);
    let map = ConfigMap {
        metadata: ObjectMeta { name: Some("a".into()), ..ObjectMeta::default() },
        data: Some([("key".to_owned(), "value".to_owned())].into()),
        ..ConfigMap::default()
    };
    maps.create(&PostParams::default(), &map).await.unwrap();
    assert_eq!(maps.get("a").await.unwrap().data, map.data);
    let log = served.cluster.requests();
    assert!(log.iter().any(|request| request.user == "admin" && request.code == 201));
}

#[tokio::test]
async fn a_watch_brings_events_as_they_happen() {
    let served = serve().await;
    let maps: Api<ConfigMap> = Api::default_namespaced(served.kube().await);
    let version = served.cluster.revision().to_string();
    let mut events = Box::pin(maps.watch(&WatchParams::default(), &version).await.unwrap());
    let object = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "late", "namespace": "default" },
    });
    served.cluster.create(object).unwrap();
    loop {
        // The controllers may write something of their own first.
        match events.try_next().await.unwrap() {
            Some(WatchEvent::Added(map)) if map.metadata.name.as_deref() == Some("late") => break,
            Some(_) => {}
            None => panic!("the watch ended"),
        }
    }
}

#[tokio::test]
async fn many_requests_share_an_http2_connection_with_a_watch() {
    let served = serve().await;
    let mut sender = served.http2().await;
    let watch = served.request("GET", "/api/v1/namespaces?watch=true", "");
    let mut watch = sender.send_request(watch).await.unwrap().into_body();
    assert!(watch.frame().await.unwrap().unwrap().is_data());
    for name in ["a", "b", "c"] {
        let body = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
        let request = served.request("POST", "/api/v1/namespaces", body.to_string());
        let response = sender.send_request(request).await.unwrap();
        assert_eq!((response.status().as_u16(), response.version()), (201, http::Version::HTTP_2));
        let frame = watch.frame().await.unwrap().unwrap().into_data().unwrap();
        assert!(!frame.is_empty());
    }
}

#[tokio::test]
async fn the_client_chooses_the_protocol() {
    let served = serve().await;
    let all: [&[u8]; 2] = [b"h2", b"http/1.1"];
    let offers = [(&all[..], Some(all[0])), (&all[1..], Some(all[1])), (&[], None)];
    for (offered, chosen) in offers {
        let stream = served.tls("localhost", offered).await.unwrap();
        assert_eq!(stream.get_ref().1.alpn_protocol(), chosen);
    }
}

#[tokio::test]
async fn the_certificate_names_what_clients_call_the_server() {
    let served = serve().await;
    for name in ["localhost", "127.0.0.1", "::1", "kubernetes.default.svc"] {
        assert!(served.tls(name, &[]).await.is_ok(), "{name}");
    }
    assert!(served.tls("example.com", &[]).await.is_err());
}

#[tokio::test]
async fn a_wrong_token_is_refused_with_a_status() {
    let served = serve().await;
    let mut request = served.request("GET", "/api/v1/namespaces", "");
    request.headers_mut().insert("authorization", "Bearer wrong".parse().unwrap());
    let response = served.http1(request).await.unwrap();
    assert_eq!(response.status(), 401);
    let body = response.into_body().collect().await.unwrap().to_bytes();
    assert_eq!(serde_json::from_slice::<Value>(&body).unwrap()["reason"], "Unauthorized");
}
