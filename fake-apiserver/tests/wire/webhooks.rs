//! Webhooks that are called over HTTPS.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use fake_apiserver::serve::call_webhooks;
use fake_apiserver::{FakeApiServer, User};
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use rustls::pki_types::PrivatePkcs8KeyDer;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tower::ServiceExt;

/// A webhook on a port of its own that denies everything; its address and its certificate.
async fn webhook(name: &str) -> (String, String) {
    let made = rcgen::generate_simple_self_signed([name.to_owned(), "127.0.0.1".to_owned()]).unwrap();
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()).into();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let Ok(stream) = acceptor.accept(stream).await else { continue };
            let service = hyper::service::service_fn(deny);
            let _ = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service)
                .await;
        }
    });
    (address, made.cert.pem())
}

async fn deny(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, hyper::Error> {
    let target = request.uri().to_string();
    let review: Value = serde_json::from_slice(&request.into_body().collect().await?.to_bytes()).unwrap();
    let status = json!({"message": format!("asked at {target}"), "code": 403});
    let response = json!({"uid": review["request"]["uid"], "allowed": false, "status": status});
    let answer =
        json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response});
    Ok(Response::new(answer.to_string().into()))
}

/// What becomes of a ConfigMap when a webhook at `url` is to be asked.
async fn outcome(url: &str, ca: &str) -> String {
    let cluster = FakeApiServer::builder().build();
    call_webhooks(&cluster, &[]);
    let hook = json!({
        "name": "h.example.com", "timeoutSeconds": 5, "sideEffects": "None", "admissionReviewVersions": ["v1"],
        "clientConfig": {"url": url, "caBundle": STANDARD.encode(ca)},
        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}],
    });
    let configuration = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "h"}, "webhooks": [hook],
    });
    cluster.create(configuration).unwrap();
    let body = json!({"metadata": {"name": "a"}}).to_string();
    let request =
        Request::post("/api/v1/namespaces/default/configmaps").body(Full::new(Bytes::from(body))).unwrap();
    let response = cluster.service_as(User::admin()).oneshot(request).await.unwrap();
    let answer: Value =
        serde_json::from_slice(&response.into_body().collect().await.unwrap().to_bytes()).unwrap();
    answer["message"].as_str().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn a_webhook_at_a_url_is_called_over_https_and_must_be_trusted() {
    let (address, ca) = webhook("localhost").await;
    let url = format!("https://{address}/check");
    let denied = "admission webhook \"h.example.com\" denied the request: asked at /check?timeout=5s";
    assert_eq!(outcome(&url, &ca).await, denied);
    let (_, stranger) = webhook("localhost").await;
    let start =
        "Internal error occurred: failed calling webhook \"h.example.com\": failed to call webhook: Post";
    let refused = outcome(&url, &stranger).await;
    assert!(refused.starts_with(&format!("{start} \"{url}?timeout=5s\": tls: ")), "{refused}");
    let nobody = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let refused = outcome(&format!("https://{nobody}/"), &ca).await;
    assert_eq!(
        refused,
        format!("{start} \"https://{nobody}/?timeout=5s\": dial tcp {nobody}: connect: connection refused")
    );
}

#[tokio::test]
async fn a_service_is_called_at_the_address_it_is_said_to_have() {
    let (address, ca) = webhook("hook.system.svc").await;
    let cluster = FakeApiServer::builder().build();
    call_webhooks(&cluster, &[("system/hook".to_owned(), address)]);
    for object in [
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "system"}}),
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "hook", "namespace": "system"},
               "spec": {"selector": {"app": "hook"}, "ports": [{"port": 443}]}}),
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "hook", "namespace": "system"},
               "spec": {"selector": {"matchLabels": {"app": "hook"}}, "template": {
                   "metadata": {"labels": {"app": "hook"}}, "spec": {"containers": [{"name": "a", "image": "b"}]}}}}),
    ] {
        cluster.create(object).unwrap();
    }
    cluster
        .edit_status("apps", "Deployment", "system", "hook", |object| {
            object["status"] = json!({"replicas": 1, "readyReplicas": 1, "availableReplicas": 1})
        })
        .unwrap();
    let hook = json!({
        "name": "h.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"],
        "clientConfig": {"service": {"namespace": "system", "name": "hook"}, "caBundle": STANDARD.encode(ca)},
        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}],
    });
    cluster
        .create(json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration",
            "metadata": {"name": "h"}, "webhooks": [hook],
        }))
        .unwrap();
    let body = json!({"metadata": {"name": "a"}}).to_string();
    let request =
        Request::post("/api/v1/namespaces/default/configmaps").body(Full::new(Bytes::from(body))).unwrap();
    let response = cluster.service_as(User::admin()).oneshot(request).await.unwrap();
    assert_eq!(response.status(), 403);
}
