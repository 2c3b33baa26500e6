//! How a server ends.

use http_body_util::BodyExt;

use crate::client::serve;

#[tokio::test]
async fn open_watches_end_without_an_error_on_both_protocols() {
    let served = serve().await;
    let watch = || served.request("GET", "/api/v1/namespaces?watch=true", "");
    let mut first = served.http1(watch()).await.unwrap().into_body();
    let mut sender = served.http2().await;
    let mut second = sender.send_request(watch()).await.unwrap().into_body();
    for body in [&mut first, &mut second] {
        assert!(body.frame().await.unwrap().unwrap().is_data());
    }
    let end = served.end();
    // `collect` fails on a connection that breaks.
    first.collect().await.unwrap();
    second.collect().await.unwrap();
    end.await.unwrap();
}

#[tokio::test]
async fn a_client_that_does_nothing_does_not_hold_up_the_end() {
    let served = serve().await;
    let _idle = served.tls("localhost", &[b"http/1.1"]).await.unwrap();
    let _silent = tokio::net::TcpStream::connect(served.url.trim_start_matches("https://")).await.unwrap();
    let end = served.end();
    end.await.unwrap();
}
