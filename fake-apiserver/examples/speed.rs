//! Rough speed of a cluster: run with `--release`. Prints what it measures and asserts nothing.

use fake_apiserver::{FakeApiServer, User};
use http::Request;
use http_body_util::{BodyExt, Full};
use tower::ServiceExt;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const COUNT: u32 = 10_000;

#[tokio::main(flavor = "current_thread")]
#[expect(clippy::print_stdout, reason = "it prints what it measures")]
async fn main() {
    let started = tokio::time::Instant::now();
    let cluster = FakeApiServer::builder().build();
    send(&cluster, "GET", "/version", String::new()).await;
    println!("build and first request: {:?}", started.elapsed());

    let (started, before) = (tokio::time::Instant::now(), resident_kib());
    let idle: Vec<FakeApiServer> = (0..1000).map(|_| FakeApiServer::builder().build()).collect();
    let (elapsed, kib) = (started.elapsed() / 1000, (resident_kib() - before) / 1000);
    println!("one more empty cluster: {elapsed:?}, {kib} KiB");
    drop(idle);

    let started = tokio::time::Instant::now();
    for index in 0..COUNT {
        let body = format!(
            r#"{{"metadata":{{"name":"m{index}","labels":{{"n":"{}"}}}},"data":{{"k":"v"}}}}"#,
            index % 100
        );
        send(&cluster, "POST", MAPS, body).await;
    }
    let elapsed = started.elapsed();
    println!("creates per second: {:.0}", f64::from(COUNT) / elapsed.as_secs_f64());

    for target in [MAPS.to_owned(), format!("{MAPS}?labelSelector=n%3D7"), format!("{MAPS}?limit=500")] {
        let started = tokio::time::Instant::now();
        let bytes = send(&cluster, "GET", &target, String::new()).await;
        println!("GET {target}: {:?}, {bytes} bytes", started.elapsed());
    }

    let started = tokio::time::Instant::now();
    let mut watches = Vec::new();
    for _ in 0..100 {
        let target = format!("{MAPS}?watch=true&resourceVersion=0&timeoutSeconds=1");
        let request = Request::get(target).body(Full::<bytes::Bytes>::default()).expect("a request");
        watches.push(cluster.service_as(User::admin()).oneshot(request).await.expect("an answer"));
    }
    println!("100 watches opened with {COUNT} objects each: {:?}", started.elapsed());
    let mut events = 0;
    for watch in &mut watches {
        let mut left = COUNT as usize;
        while left > 0 {
            let frame = watch.body_mut().frame().await.expect("events").expect("no error");
            let new = frame.data_ref().map_or(0, |data| data.iter().filter(|byte| **byte == b'\n').count());
            left = left.saturating_sub(new);
        }
        events += COUNT;
    }
    println!("{events} events read: {:?}", started.elapsed());
}

/// Resident memory of this process (Linux only, 0 elsewhere).
fn resident_kib() -> i64 {
    let pages = std::fs::read_to_string("/proc/self/statm").ok();
    let pages = pages.and_then(|text| text.split_whitespace().nth(1)?.parse::<i64>().ok());
    pages.unwrap_or(0) * 4
}

async fn send(cluster: &FakeApiServer, method: &str, target: &str, body: String) -> usize {
    let request = Request::builder().method(method).uri(target);
    let request = request.body(Full::<bytes::Bytes>::from(body)).expect("a request");
    let response = cluster.service_as(User::admin()).oneshot(request).await.expect("an answer");
    assert!(response.status().is_success(), "{}", response.status());
    response.into_body().collect().await.expect("a body").to_bytes().len()
}
