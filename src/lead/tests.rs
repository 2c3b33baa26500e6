//! Elections against an API server, in simulated time.

use std::sync::atomic::{AtomicUsize, Ordering};

use fake_apiserver::fault::Link;
use fake_apiserver::{FakeApiServer, User};
use http_body_util::BodyExt;
use kube::client::Body;
use tower::ServiceExt;

use super::*;
use crate::clock::SystemClock;
use crate::target::stack::{Transport, answer_body, client};

const SECOND: Duration = Duration::from_secs(1);

fn hub() -> FakeApiServer {
    FakeApiServer::builder().seed(1).build()
}

/// A candidate over a link of its own.
fn candidate(hub: &FakeApiServer, name: &str) -> (Election, Link) {
    let link = Link::new();
    let token = hub.tokens().issue(name, ["system:masters"], None);
    let service = hub.service_with(&link);
    let transport = Transport::new(tower::service_fn(move |mut request: Request<Body>| {
        let value = format!("Bearer {token}").parse().expect("a token fits into a header");
        request.headers_mut().insert("authorization", value);
        let service = service.clone();
        async move { Ok(service.oneshot(request).await?.map(answer_body)) }
    }));
    let election = Election {
        hub: client(transport, None, Duration::from_secs(10)),
        namespace: "default".into(),
        name: "operator".into(),
        identity: name.into(),
        timing: Timing::default(),
        clock: Arc::new(SystemClock),
    };
    (election, link)
}

fn leader(hub: &FakeApiServer) -> String {
    let lease = hub.get("coordination.k8s.io", "Lease", "default", "operator").unwrap_or_default();
    lease["spec"]["holderIdentity"].as_str().unwrap_or_default().to_owned()
}

/// A candidate that works for ever when it leads; how often it began.
fn start(election: &Election, fence: &Fence) -> (tokio::task::JoinHandle<()>, Arc<AtomicUsize>) {
    let (election, fence, terms) = (election.clone(), fence.clone(), Arc::new(AtomicUsize::new(0)));
    let counted = terms.clone();
    let task = tokio::spawn(async move {
        let work = || {
            counted.fetch_add(1, Ordering::Relaxed);
            std::future::pending()
        };
        election.run(&fence, work).await;
    });
    (task, terms)
}

#[tokio::test(start_paused = true)]
async fn one_of_two_leads_and_the_other_follows_within_twenty_seconds_of_its_death() {
    let hub = hub();
    let ((one, _), (two, _)) = (candidate(&hub, "one"), candidate(&hub, "two"));
    let (fence_one, fence_two) = (Fence::default(), Fence::default());
    let (first, _) = start(&one, &fence_one);
    tokio::time::sleep(SECOND).await;
    let (_second, terms) = start(&two, &fence_two);
    tokio::time::sleep(300 * SECOND).await;
    assert_eq!((leader(&hub).as_str(), terms.load(Ordering::Relaxed)), ("one", 0));
    assert!(fence_one.is_open() && !fence_two.is_open());
    first.abort();
    tokio::time::sleep(20 * SECOND).await;
    assert_eq!((leader(&hub).as_str(), terms.load(Ordering::Relaxed)), ("two", 1));
    assert!(fence_two.is_open());
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_cannot_reach_the_hub_stops_before_another_begins() {
    for cut in [Link::cut, Link::black_hole] {
        let hub = hub();
        let ((one, link), (two, _)) = (candidate(&hub, "one"), candidate(&hub, "two"));
        let (fence_one, fence_two) = (Fence::default(), Fence::default());
        let (_first, terms) = start(&one, &fence_one);
        tokio::time::sleep(SECOND).await;
        let _second = start(&two, &fence_two);
        tokio::time::sleep(30 * SECOND).await;
        cut(&link);
        for _ in 0..400 {
            tokio::time::sleep(SECOND / 10).await;
            assert!(!(fence_one.is_open() && fence_two.is_open()), "two fences are open");
        }
        assert_eq!(leader(&hub), "two");
        link.heal();
        tokio::time::sleep(60 * SECOND).await;
        assert!(!fence_one.is_open() && fence_two.is_open());
        assert_eq!((leader(&hub).as_str(), terms.load(Ordering::Relaxed)), ("two", 1));
    }
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_goes_gives_its_lease_back() {
    let hub = hub();
    let ((one, _), (two, _)) = (candidate(&hub, "one"), candidate(&hub, "two"));
    let (fence_one, fence_two) = (Fence::default(), Fence::default());
    let (first, _) = start(&one, &fence_one);
    tokio::time::sleep(SECOND).await;
    let _second = start(&two, &fence_two);
    first.abort();
    one.release(&fence_one).await;
    assert_eq!((leader(&hub).as_str(), fence_one.is_open()), ("", false));
    tokio::time::sleep(3 * SECOND).await;
    assert_eq!(leader(&hub), "two");
}

#[tokio::test(start_paused = true)]
async fn a_write_is_held_back_when_the_term_is_over_and_a_read_is_not() {
    let hub = hub();
    let service = hub.service_as(User::admin());
    let transport = Transport::new(tower::service_fn(move |request: Request<Body>| {
        let service = service.clone();
        async move { Ok(service.oneshot(request).await?.map(answer_body)) }
    }));
    let fence = Fence::default();
    let guarded = fence.guard(transport);
    let send = async |method: Method, path: &str, body: &str| {
        let request = Request::builder().method(method).uri(path).body(Body::from(body.as_bytes().to_vec()));
        let answer = guarded.clone().oneshot(request.expect("a request")).await?;
        let code = answer.status().as_u16();
        answer.into_body().collect().await?;
        Ok::<_, tower::BoxError>(code)
    };
    let maps = "/api/v1/namespaces/default/configmaps";
    let body = r#"{"metadata": {"generateName": "a-"}}"#;
    fence.open_until(Instant::now() + 10 * SECOND);
    assert_eq!(send(Method::POST, maps, body).await.expect("an open fence"), 201);
    tokio::time::sleep(10 * SECOND).await;
    let refused = send(Method::POST, maps, body).await.expect_err("a closed fence");
    assert!(refused.is::<Deposed>(), "{refused}");
    assert_eq!(send(Method::GET, maps, "").await.expect("reads pass"), 200);
}
