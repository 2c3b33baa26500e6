//! Which answers are compressed.

use std::io::Read;

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use http_body_util::BodyExt;
use serde_json::{Value, json};

use crate::client::{Served, serve};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

async fn filled() -> Served {
    let served = serve().await;
    let map = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "large", "namespace": "default" },
        "data": { "v": "x".repeat(256 * 1024) },
    });
    served.cluster.create(map).unwrap();
    served
}

async fn get(served: &Served, target: &str, encoding: &str) -> (StatusCode, HeaderMap, Bytes) {
    let mut request = served.request("GET", target, "");
    request.headers_mut().insert("accept-encoding", encoding.parse().unwrap());
    let (parts, body) = served.http1(request).await.unwrap().into_parts();
    (parts.status, parts.headers, body.collect().await.unwrap().to_bytes())
}

#[tokio::test]
async fn a_large_object_or_list_is_compressed_for_who_accepts_it() {
    let served = filled().await;
    for target in [MAPS.to_owned(), format!("{MAPS}/large")] {
        let (_, plain_headers, plain) = get(&served, &target, "identity").await;
        assert!(!plain_headers.contains_key("content-encoding"));
        let (code, headers, packed) = get(&served, &target, "deflate, gzip;q=0.8").await;
        assert_eq!((code.as_u16(), &headers["content-encoding"]), (200, &"gzip".parse().unwrap()));
        assert_eq!(headers["vary"], "Accept-Encoding");
        assert_eq!(headers["content-type"], plain_headers["content-type"]);
        assert_eq!(headers["content-length"], packed.len().to_string());
        assert!(packed.len() < plain.len() / 10, "{} bytes", packed.len());
        let mut unpacked = Vec::new();
        flate2::read::GzDecoder::new(&*packed).read_to_end(&mut unpacked).unwrap();
        assert_eq!(unpacked, plain);
    }
}

#[tokio::test]
async fn small_answers_and_other_formats_are_not_compressed() {
    let served = filled().await;
    let (_, headers, body) = get(&served, "/api/v1/namespaces", "gzip").await;
    assert!(!headers.contains_key("content-encoding"));
    assert_eq!(serde_json::from_slice::<Value>(&body).unwrap()["kind"], "NamespaceList");
    let mut request = served.request("GET", MAPS, "");
    request.headers_mut().insert("accept-encoding", "gzip".parse().unwrap());
    request.headers_mut().insert("accept", "application/yaml".parse().unwrap());
    assert!(!served.http1(request).await.unwrap().headers().contains_key("content-encoding"));
}

#[tokio::test]
async fn a_watch_is_not_compressed() {
    let served = filled().await;
    let mut request = served.request("GET", &format!("{MAPS}?watch=true"), "");
    request.headers_mut().insert("accept-encoding", "gzip".parse().unwrap());
    let response = served.http1(request).await.unwrap();
    assert!(!response.headers().contains_key("content-encoding"));
    let frame = response.into_body().frame().await.unwrap().unwrap().into_data().unwrap();
    assert!(frame.starts_with(b"{\"type\":\"ADDED\""));
}

#[tokio::test]
async fn an_answer_to_a_write_is_not_compressed() {
    let served = filled().await;
    let mut request = served.request("DELETE", MAPS, "");
    request.headers_mut().insert("accept-encoding", "gzip".parse().unwrap());
    let response = served.http1(request).await.unwrap();
    assert_eq!(response.status(), 200);
    assert!(!response.headers().contains_key("content-encoding"));
}
