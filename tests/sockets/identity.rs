//! Client certificates from plugins, before a server that lets nobody in without one.

use std::sync::Arc;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use http::{Request, Response, StatusCode, header};
use http_body_util::Full;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use knative_operator::api::Reason;
use knative_operator::target::resolve::Limits;
use parking_lot::Mutex;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
};
use rustls::RootCertStore;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use rustls::server::WebPkiClientVerifier;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::fleet::{Fleet, Scratch};

type Authority = CertifiedIssuer<'static, KeyPair>;

fn authority(name: &str) -> Authority {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// A certificate with its key.
struct Pair {
    der: CertificateDer<'static>,
    pem: String,
    key: KeyPair,
}

impl Pair {
    fn new(authority: &Authority, name: &str, usage: ExtendedKeyUsagePurpose) -> Self {
        let mut params = CertificateParams::new([name.to_owned()]).unwrap();
        params.extended_key_usages = vec![usage];
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, authority).unwrap();
        Self { der: certificate.der().clone(), pem: certificate.pem(), key }
    }

    fn of_client(authority: &Authority, name: &str) -> Self {
        Self::new(authority, name, ExtendedKeyUsagePurpose::ClientAuth)
    }

    /// As a plugin's `status` has it.
    fn status(&self) -> Value {
        json!({"clientCertificateData": self.pem, "clientKeyData": self.key.serialize_pem()})
    }
}

/// What a request came with: its client certificate, and its `Authorization`.
type Seen = Arc<Mutex<Vec<(CertificateDer<'static>, Option<String>)>>>;

/// A cluster that knows its clients by certificates of one authority.
struct Strict {
    port: u16,
    ca: String,
    seen: Seen,
    /// Certificates that get 401: the authority is right, but the name in them is nobody's.
    unknown: Arc<Mutex<Vec<CertificateDer<'static>>>>,
}

impl Strict {
    async fn serve(clients: &Authority) -> Self {
        let ours = authority("server");
        let pair = Pair::new(&ours, "localhost", ExtendedKeyUsagePurpose::ServerAuth);
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut roots = RootCertStore::empty();
        roots.add(clients.der().clone()).unwrap();
        let verifier =
            WebPkiClientVerifier::builder_with_provider(roots.into(), provider.clone()).build().unwrap();
        let key = PrivatePkcs8KeyDer::from(pair.key.serialize_der()).into();
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_client_cert_verifier(verifier)
            .with_single_cert(vec![pair.der], key)
            .unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("localhost:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (seen, unknown) = (Seen::default(), Arc::<Mutex<Vec<_>>>::default());
        let server = Self { port, ca: ours.pem(), seen: seen.clone(), unknown: unknown.clone() };
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, seen, unknown) = (acceptor.clone(), seen.clone(), unknown.clone());
                tokio::spawn(async move {
                    let Ok(stream) = acceptor.accept(stream).await else { return };
                    let client = stream.get_ref().1.peer_certificates().unwrap()[0].clone().into_owned();
                    let service = service_fn(move |request: Request<hyper::body::Incoming>| {
                        let authorization = request.headers().get(header::AUTHORIZATION);
                        let authorization = authorization.map(|value| value.to_str().unwrap().to_owned());
                        seen.lock().push((client.clone(), authorization));
                        let known = !unknown.lock().contains(&client);
                        let answer = answer(request.uri().path(), known);
                        async move { Ok::<_, std::convert::Infallible>(answer) }
                    });
                    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
                });
            }
        });
        server
    }

    fn endpoint(&self) -> Value {
        let ca = BASE64_STANDARD.encode(&self.ca);
        json!({"server": format!("https://localhost:{}", self.port), "certificate-authority-data": ca})
    }

    /// Who has come, and with which token.
    fn seen(&self) -> Vec<(CertificateDer<'static>, Option<String>)> {
        std::mem::take(&mut *self.seen.lock())
    }
}

/// What the operator asks for to find out whether a cluster can be used.
fn answer(path: &str, known: bool) -> Response<Full<Bytes>> {
    let body = match path {
        _ if !known => {
            json!({"kind": "Status", "code": 401, "reason": "Unauthorized", "message": "Unauthorized"})
        }
        "/version" => json!({"gitVersion": "v1.34.0"}),
        _ => {
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kube-system", "uid": "u-1"}})
        }
    };
    let mut response = Response::new(Full::from(body.to_string()));
    if !known {
        *response.status_mut() = StatusCode::UNAUTHORIZED;
    }
    response
}

/// A fleet whose plugin gives out whatever is in a file, and counts how often.
struct Plugin {
    files: Scratch,
}

impl Plugin {
    fn of(fleet: &Fleet, name: &str) -> Self {
        let files = Scratch::new(name);
        let (answer, runs) = (files.path("answer"), files.path("runs"));
        fleet.plugin_is(&format!("echo run >> {runs}; cat {answer}"));
        Self { files }
    }

    fn says(&self, status: &Value) {
        let answer = json!({
            "apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": status,
        });
        std::fs::write(self.files.path("answer"), answer.to_string()).unwrap();
    }

    fn runs(&self) -> usize {
        std::fs::read_to_string(self.files.path("runs")).unwrap_or_default().lines().count()
    }
}

#[tokio::test]
async fn a_certificate_of_a_plugin_is_shown_on_every_connection_and_no_token_with_it() {
    let clients = authority("clients");
    let (server, fleet) = (Strict::serve(&clients).await, Fleet::new("certificate", Limits::default()));
    let plugin = Plugin::of(&fleet, "certificate-plugin");
    let pair = Pair::of_client(&clients, "operator");
    plugin.says(&pair.status());
    fleet.point_to(&server.endpoint());
    for _ in 0..2 {
        assert_eq!(fleet.resolve().await.unwrap().uid, "u-1");
    }
    let seen = server.seen();
    assert!(seen.len() >= 3 && seen.iter().all(|seen| *seen == (pair.der.clone(), None)), "{seen:?}");
    assert_eq!(plugin.runs(), 1, "the certificate is kept");
    let mut both = pair.status();
    both["token"] = json!("t");
    fleet.plugin_says(&both);
    fleet.resolve().await.unwrap();
    assert_eq!(server.seen(), [(pair.der.clone(), Some("Bearer t".into()))]);
}

#[tokio::test]
async fn a_certificate_that_is_refused_or_due_is_replaced_and_the_old_one_shown_no_more() {
    let clients = authority("clients");
    let (server, fleet) = (Strict::serve(&clients).await, Fleet::new("rotation", Limits::default()));
    let plugin = Plugin::of(&fleet, "rotation-plugin");
    let (first, second) = (Pair::of_client(&clients, "first"), Pair::of_client(&clients, "second"));
    plugin.says(&first.status());
    fleet.point_to(&server.endpoint());
    fleet.resolve().await.unwrap();
    server.seen();

    // The server does not know the name any more: 401.
    server.unknown.lock().push(first.der.clone());
    plugin.says(&second.status());
    fleet.resolve().await.unwrap();
    let shown: Vec<_> = server.seen().into_iter().map(|(certificate, _)| certificate).collect();
    assert_eq!(shown, [first.der.clone(), second.der.clone()]);
    assert_eq!(plugin.runs(), 2);
    fleet.resolve().await.unwrap();
    assert!(server.seen().iter().all(|(certificate, _)| *certificate == second.der));
}

#[tokio::test]
async fn a_certificate_that_tls_refuses_is_asked_for_anew() {
    let (clients, strangers) = (authority("clients"), authority("strangers"));
    let (server, fleet) = (Strict::serve(&clients).await, Fleet::new("alert", Limits::default()));
    let plugin = Plugin::of(&fleet, "alert-plugin");
    plugin.says(&Pair::of_client(&strangers, "stranger").status());
    fleet.point_to(&server.endpoint());
    let outcome = fleet.resolve().await;
    Fleet::assert_refused(outcome, Reason::RemoteClusterUnreachable, &["fleet/spoke", "alert"]);
    assert_eq!(plugin.runs(), 2, "once more, and then no more");
    plugin.says(&Pair::of_client(&clients, "operator").status());
    assert_eq!(fleet.resolve().await.unwrap().uid, "u-1", "the refused one was not kept");
    assert_eq!(plugin.runs(), 3);
}

#[tokio::test]
async fn what_is_no_certificate_with_its_key_is_named_without_being_quoted() {
    let clients = authority("clients");
    let (server, fleet) = (Strict::serve(&clients).await, Fleet::new("half", Limits::default()));
    let plugin = Plugin::of(&fleet, "half-plugin");
    fleet.point_to(&server.endpoint());
    let pair = Pair::of_client(&clients, "operator");
    let other = Pair::of_client(&clients, "other");
    for (certificate, key, words) in [
        (pair.pem.clone(), String::new(), "only certificate or key"),
        (String::new(), pair.key.serialize_pem(), "only certificate or key"),
        ("s3cret".into(), pair.key.serialize_pem(), "no certificate in PEM"),
        (pair.pem.clone(), "s3cret".into(), "no private key in PEM"),
        (pair.pem.clone(), other.key.serialize_pem(), "plugin"),
    ] {
        plugin.says(&json!({"clientCertificateData": certificate, "clientKeyData": key}));
        Fleet::assert_refused(fleet.resolve().await, Reason::CredentialsFailed, &["fleet/spoke", words]);
    }
}
