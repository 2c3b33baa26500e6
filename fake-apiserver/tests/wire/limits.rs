//! What clients may not do, and that it costs nobody else anything.

use http_body_util::BodyExt;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::client::{Served, serve};

const MIB: usize = 1024 * 1024;

async fn post(served: &Served, body: Vec<u8>) -> (u16, Value) {
    let request = served.request("POST", "/api/v1/namespaces/default/configmaps", body);
    let response = served.http1(request).await.unwrap();
    let code = response.status().as_u16();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (code, serde_json::from_slice(&body).unwrap_or_default())
}

async fn still_answers(served: &Served) {
    let response = served.http1(served.request("GET", "/api/v1/namespaces", "")).await.unwrap();
    assert_eq!(response.status(), 200);
}

#[tokio::test]
async fn a_body_over_three_mebibytes_is_refused_with_a_status() {
    let served = serve().await;
    let (code, status) = post(&served, vec![b' '; 3 * MIB + 1]).await;
    assert_eq!((code, &status["reason"]), (413, &"RequestEntityTooLarge".into()));
    assert_eq!(status["message"], "Request entity too large: limit is 3145728");
    assert_eq!(post(&served, vec![b' '; 3 * MIB]).await.0, 400);
    still_answers(&served).await;
}

#[tokio::test]
async fn a_huge_body_over_http2_is_refused_and_the_connection_goes_on() {
    let served = serve().await;
    let mut sender = served.http2().await;
    let request = served.request("POST", "/api/v1/namespaces", vec![b' '; 16 * MIB]);
    assert_eq!(sender.send_request(request).await.unwrap().status(), 413);
    let request = served.request("GET", "/api/v1/namespaces", "");
    assert_eq!(sender.send_request(request).await.unwrap().status(), 200);
}

#[tokio::test]
async fn bodies_that_are_no_objects_are_refused() {
    let served = serve().await;
    let deep = [vec![b'['; MIB], vec![b']'; MIB]].concat();
    let deep_object = [br#"{"a":"#.repeat(100_000), b"1".to_vec(), vec![b'}'; 100_000]].concat();
    for body in [b"{".to_vec(), b"\xff\xfe{}".to_vec(), b"[]".to_vec(), Vec::new(), deep, deep_object] {
        let (code, status) = post(&served, body).await;
        assert_eq!((code, &status["kind"]), (400, &"Status".into()));
    }
    still_answers(&served).await;
}

#[tokio::test]
async fn what_is_no_http_breaks_only_its_own_connection() {
    let served = serve().await;
    let long = format!("GET / HTTP/1.1\r\nx: {}\r\n\r\n", "y".repeat(128 * 1024));
    for bytes in [b"\0\x01\x02 nonsense\r\n\r\n".to_vec(), b"GET\r\n\r\n".to_vec(), long.into_bytes()] {
        let mut stream = served.tls("localhost", &[b"http/1.1"]).await.unwrap();
        // The server may have closed the connection while the client still writes.
        let _ = stream.write_all(&bytes).await;
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer).await;
        assert!(!answer.starts_with(b"HTTP/1.1 200"), "{:?}", String::from_utf8_lossy(&answer));
    }
    still_answers(&served).await;
}

#[tokio::test]
async fn plain_http_on_the_tls_port_is_no_harm() {
    let served = serve().await;
    let mut stream = tokio::net::TcpStream::connect(served.url.trim_start_matches("https://")).await.unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    still_answers(&served).await;
}
