//! What a server has only so many of, and how clients lose theirs: where there is place for one connection, whoever comes
//! second is served when the first has lost it. No test looks at a clock.

use std::time::Duration;

use bytes::Bytes;
use fake_apiserver::serve::Limits;
use http::Request;
use http_body_util::{BodyExt, Full};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::client::{Served, serve, serve_within};

const SOON: Duration = Duration::from_millis(50);

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// Place for one connection, for as long as it does nothing wrong.
fn one() -> Limits {
    Limits { connections: 1, ..Limits::default() }
}

async fn answers(served: &Served) {
    let response = served.http1(served.request("GET", "/api/v1/namespaces", "")).await.unwrap();
    assert_eq!(response.status(), 200);
}

/// Fills a collection with more than sockets hold.
fn fill(served: &Served) {
    for index in 0..32 {
        let map = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": { "name": format!("m{index}"), "namespace": "default" },
            "data": { "v": "x".repeat(1024 * 1024) },
        });
        served.cluster.create(map).unwrap();
    }
}

#[tokio::test]
async fn a_connection_too_many_waits_for_its_place() {
    let served = serve_within(one()).await;
    let first = served.tls("localhost", &[b"http/1.1"]).await.unwrap();
    let second = answers(&served);
    let mut second = std::pin::pin!(second);
    // The first is there and can use its place ...
    let (mut reader, mut writer) = tokio::io::split(first);
    writer.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    let mut start = [0; 12];
    tokio::select! {
        biased;
        () = &mut second => panic!("there was no place for it"),
        read = reader.read_exact(&mut start) => assert_eq!(read.unwrap(), 12),
    }
    assert!(start.starts_with(b"HTTP/1.1 "));
    // ... and leaves it.
    drop((reader, writer));
    second.await;
}

#[tokio::test]
async fn a_client_without_a_handshake_loses_its_place() {
    let served = serve_within(Limits { handshake: SOON, ..one() }).await;
    let _silent = tokio::net::TcpStream::connect(served.url.trim_start_matches("https://")).await.unwrap();
    answers(&served).await;
}

#[tokio::test]
async fn a_client_without_a_complete_head_loses_its_place_over_both_protocols() {
    let served = serve_within(Limits { head: SOON, ..one() }).await;
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
    let said: [(&[u8], &[u8]); 4] =
        [(b"http/1.1", b""), (b"http/1.1", b"GET / HTTP/1.1\r\nhost: x\r\n"), (b"h2", b""), (b"h2", preface)];
    for (protocol, bytes) in said {
        let mut silent = served.tls("localhost", &[protocol]).await.unwrap();
        silent.write_all(bytes).await.unwrap();
        answers(&served).await;
    }
}

#[tokio::test]
async fn a_connection_that_was_used_keeps_its_place_over_http2() {
    let served = serve_within(Limits { head: SOON, ..Limits::default() }).await;
    let mut used = served.http2().await;
    let watch = used.send_request(served.request("GET", "/api/v1/namespaces?watch=true", "")).await.unwrap();
    // By now a silent client, which came later, has lost its connection.
    let mut silent = served.tls("localhost", &[b"h2"]).await.unwrap();
    let _ = silent.read_to_end(&mut Vec::new()).await;
    let request = served.request("GET", "/api/v1/namespaces", "");
    assert_eq!(used.send_request(request).await.unwrap().status(), 200);
    drop(watch);
}

#[tokio::test]
async fn a_body_that_does_not_come_is_a_timeout() {
    let served = serve_within(Limits { body: SOON, ..Limits::default() }).await;
    let mut slow = served.tls("localhost", &[b"http/1.1"]).await.unwrap();
    let head = format!(
        "POST {MAPS} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\ncontent-length: 100\r\n\r\n{{",
        served.token
    );
    slow.write_all(head.as_bytes()).await.unwrap();
    let mut answer = [0; 12];
    slow.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 408");
}

#[tokio::test]
async fn a_head_that_is_too_large_is_refused_over_both_protocols() {
    let served = serve_within(Limits { head_bytes: 16 * 1024, ..Limits::default() }).await;
    let request = |size: usize| -> Request<Full<Bytes>> {
        let mut request = served.request("GET", "/api/v1/namespaces", "");
        request.headers_mut().insert("x-long", "y".repeat(size).parse().unwrap());
        request
    };
    let mut sender = served.http2().await;
    for (size, code) in [(8 * 1024, 200), (20 * 1024, 431)] {
        assert_eq!(served.http1(request(size)).await.unwrap().status(), code);
        assert_eq!(sender.send_request(request(size)).await.unwrap().status(), code);
    }
}

#[tokio::test]
async fn a_server_says_how_large_a_body_may_be() {
    let served = serve_within(Limits { body_bytes: 1000, ..Limits::default() }).await;
    let response = served.http1(served.request("POST", MAPS, vec![b' '; 1001])).await.unwrap();
    assert_eq!(response.status(), 413);
    let body = response.into_body().collect().await.unwrap().to_bytes();
    let status: serde_json::Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(status["message"], "Request entity too large: limit is 1000");
}

#[tokio::test]
async fn a_client_that_reads_nothing_loses_its_place() {
    let served = serve_within(Limits { stall: SOON, ..one() }).await;
    fill(&served);
    for target in [MAPS.to_owned(), format!("{MAPS}?watch=true")] {
        let mut deaf = served.tls("localhost", &[b"http/1.1"]).await.unwrap();
        let request =
            format!("GET {target} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\n\r\n", served.token);
        deaf.write_all(request.as_bytes()).await.unwrap();
        answers(&served).await;
    }
}

#[tokio::test]
async fn a_watch_that_is_not_read_holds_up_nothing_on_its_connection() {
    let served = serve().await;
    let mut sender = served.http2().await;
    let request = served.request("GET", &format!("{MAPS}?watch=true"), "");
    let deaf = sender.send_request(request).await.unwrap();
    fill(&served);
    let request = served.request("GET", "/api/v1/namespaces", "");
    assert_eq!(sender.send_request(request).await.unwrap().status(), 200);
    // Late, but complete: the history still has it all.
    let (mut body, mut events) = (deaf.into_body(), 0);
    while events < 32 {
        let data = body.frame().await.unwrap().unwrap().into_data().unwrap();
        events += data.iter().filter(|byte| **byte == b'\n').count();
    }
}

#[tokio::test]
async fn a_request_too_many_waits_on_its_http2_connection() {
    let served = serve_within(Limits { streams: 1, ..Limits::default() }).await;
    let mut sender = served.http2().await;
    let watch = served.request("GET", "/api/v1/namespaces?watch=true", "");
    let watch = sender.send_request(watch).await.unwrap();
    let request = sender.send_request(served.request("GET", "/api/v1/namespaces", ""));
    let mut request = std::pin::pin!(request);
    let mut body = watch.into_body();
    tokio::select! {
        biased;
        _ = &mut request => panic!("it should have waited"),
        frame = body.frame() => assert!(frame.unwrap().unwrap().is_data()),
    }
    drop(body);
    assert_eq!(request.await.unwrap().status(), 200);
}
