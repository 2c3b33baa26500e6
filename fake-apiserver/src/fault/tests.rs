//! Each fault before and after the effect, partitions, and which requests a rule is for.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, StreamBody};
use parking_lot::Mutex;
use tokio::time::Instant;
use tower::{BoxError, Layer, Service, ServiceExt};

use super::*;

type Seen = Arc<Mutex<Vec<String>>>;

/// A server that notes paths and answers `0123456789`, or a stream that never ends for a watch.
fn server(
    seen: &Seen,
) -> impl Service<Request<()>, Response = Response<Body>, Error = Infallible, Future: Send>
+ Clone
+ Send
+ 'static
+ use<> {
    let seen = seen.clone();
    tower::service_fn(move |request: Request<()>| {
        let seen = seen.clone();
        async move {
            seen.lock().push(request.uri().path().to_owned());
            let body = match request.uri().query() {
                Some(_) => {
                    let first = futures::stream::iter([Ok::<_, BoxError>(http_body::Frame::data(
                        Bytes::from("event"),
                    ))]);
                    let endless = futures::StreamExt::chain(first, futures::stream::pending());
                    BodyExt::boxed_unsync(StreamBody::new(endless))
                }
                None => Full::from("0123456789").map_err(|never| match never {}).boxed_unsync(),
            };
            Ok(Response::new(body))
        }
    })
}

fn get(path: &str) -> Request<()> {
    Request::get(path).body(()).unwrap()
}

async fn fetch(link: &Link, seen: &Seen, request: Request<()>) -> Result<(StatusCode, Bytes), String> {
    let response =
        link.layer().layer(server(seen)).oneshot(request).await.map_err(|error| error.to_string())?;
    let status = response.status();
    let body = response.into_body().collect().await.map_err(|error| error.to_string())?;
    Ok((status, body.to_bytes()))
}

async fn with(action: Action) -> (Result<(StatusCode, Bytes), String>, usize) {
    let (link, seen) = (Link::new(), Seen::default());
    link.add(Rule { when: Match::any(), then: action });
    let outcome = tokio::time::timeout(Duration::from_secs(60), fetch(&link, &seen, get("/x"))).await;
    let arrived = seen.lock().len();
    (outcome.unwrap_or_else(|_| Err("silence".into())), arrived)
}

#[tokio::test(start_paused = true)]
async fn every_fault_does_what_it_says_before_or_after_the_effect() {
    let refused = "connection refused";
    assert_eq!(with(Action::Refuse).await, (Err(refused.into()), 0));
    assert_eq!(with(Action::BlackHole).await, (Err("silence".into()), 0));
    assert_eq!(with(Action::StallBody).await, (Err("silence".into()), 1));
    assert_eq!(with(Action::LoseResponse).await, (Err("connection reset".into()), 1));
    assert_eq!(with(Action::CutBody { after: 4 }).await, (Err("connection reset".into()), 1));
    let start = Instant::now();
    assert_eq!(
        with(Action::Delay(Duration::from_secs(7))).await.0,
        Ok((StatusCode::OK, Bytes::from("0123456789")))
    );
    assert_eq!(start.elapsed(), Duration::from_secs(7));
    let (answer, arrived) = with(Action::status(429, "TooManyRequests")).await;
    let (code, body) = answer.unwrap();
    assert_eq!((code, arrived), (StatusCode::TOO_MANY_REQUESTS, 0));
    assert!(body.starts_with(br#"{"apiVersion":"v1","code":429,"#), "{body:?}");
}

#[tokio::test(start_paused = true)]
async fn a_rule_acts_on_the_requests_it_names_and_counts_them() {
    let (link, seen) = (Link::new(), Seen::default());
    let when = Match::method(Method::GET).path("/api/*/pods*").nth(1);
    let rule = link.add(Rule { when, then: Action::Refuse });
    let mut outcomes = Vec::new();
    for path in ["/api/v1/pods", "/api/v1/nodes", "/api/v1/pods/a", "/api/v1/pods"] {
        outcomes.push(fetch(&link, &seen, get(path)).await.is_ok());
    }
    assert_eq!((outcomes, link.hits(rule)), (vec![true, true, false, true], 1));
}

#[tokio::test(start_paused = true)]
async fn a_cut_breaks_open_watches_and_refuses_new_requests_until_it_heals() {
    let (link, seen) = (Link::new(), Seen::default());
    let response = link.layer().layer(server(&seen)).oneshot(get("/x?watch=true")).await.unwrap();
    let mut body = response.into_body();
    assert!(body.frame().await.unwrap().is_ok());
    link.cut();
    assert_eq!(body.frame().await.unwrap().unwrap_err().to_string(), "connection reset");
    assert_eq!(fetch(&link, &seen, get("/x")).await, Err("connection refused".into()));
    link.heal();
    assert!(fetch(&link, &seen, get("/x")).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_black_hole_holds_requests_back_and_lets_them_arrive_when_it_ends() {
    let (link, seen) = (Link::new(), Seen::default());
    link.black_hole();
    let waiting = tokio::spawn({
        let (link, seen) = (link.clone(), seen.clone());
        async move { fetch(&link, &seen, get("/late")).await }
    });
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert!(seen.lock().is_empty());
    link.heal();
    assert!(waiting.await.unwrap().is_ok());
    assert_eq!(*seen.lock(), ["/late"]);
}

#[tokio::test(start_paused = true)]
async fn dropped_connections_do_not_hinder_new_ones() {
    let (link, seen) = (Link::new(), Seen::default());
    let response = link.layer().layer(server(&seen)).oneshot(get("/x?watch=true")).await.unwrap();
    let mut body = response.into_body();
    assert!(body.frame().await.unwrap().is_ok());
    link.drop_connections();
    assert!(body.frame().await.unwrap().is_err());
    assert!(fetch(&link, &seen, get("/x")).await.is_ok());
}
