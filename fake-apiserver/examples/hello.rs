//! A cluster, a client, a rollout and a fault, in simulated time.

use std::time::Duration;

use fake_apiserver::fault::{Action, Link, Match, Rule};
use fake_apiserver::{FakeApiServer, Readiness};
use k8s_openapi::api::apps::v1::Deployment;
use kube::api::{Api, Patch, PatchParams};
use serde_json::json;

#[tokio::main(flavor = "current_thread", start_paused = true)]
#[expect(clippy::print_stdout, reason = "an example talks")]
async fn main() -> Result<(), kube::Error> {
    let cluster = FakeApiServer::builder().seed(1).build();
    cluster.workloads().script("web", Readiness::After(Duration::from_secs(30)));
    let link = Link::new();
    let token = cluster.tokens().issue("robot", ["team"], None);
    let service = tower::ServiceBuilder::new()
        .map_request(move |mut request: http::Request<kube::client::Body>| {
            let bearer = format!("Bearer {token}").parse().expect("a token is a header value");
            request.headers_mut().insert("authorization", bearer);
            request
        })
        .service(cluster.service_with(&link));
    let deployments: Api<Deployment> = Api::default_namespaced(kube::Client::new(service, "default"));

    let containers = json!([{ "name": "web", "image": "example.invalid/web:1" }]);
    let web = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "web" },
        "spec": {
            "replicas": 3,
            "selector": { "matchLabels": { "app": "web" } },
            "template": { "metadata": { "labels": { "app": "web" } }, "spec": { "containers": containers } },
        },
    });
    let apply = PatchParams::apply("hello").force();
    link.add(Rule { when: Match::any().nth(0), then: Action::LoseResponse });
    let lost = deployments.patch("web", &apply, &Patch::Apply(&web)).await;
    println!("the answer to the first apply is lost: {}", lost.is_err());
    let again = deployments.patch("web", &apply, &Patch::Apply(&web)).await?;
    println!("the second finds it done: generation {:?}", again.metadata.generation);

    let ready = |web: &Deployment| web.status.as_ref().and_then(|status| status.ready_replicas).unwrap_or(0);
    for seconds in [1, 30] {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        println!("{}: {} replicas ready", cluster.now(), ready(&deployments.get("web").await?));
    }
    for request in cluster.requests() {
        println!("{} {} {} -> {}", request.user, request.info.verb, request.info.path, request.code);
    }
    Ok(())
}
