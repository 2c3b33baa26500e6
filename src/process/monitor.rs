//! The pages that a cluster asks its pods for: metrics on one port, probes on another (HTTP/1.1, no TLS, nothing secret).

use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, header};
use http_body_util::Full;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::Instant;

use crate::health::{Complaint, Health};
use crate::metrics::Metrics;

/// Connections at a time; more wait. Who connects is a kubelet or two, and Prometheus.
const CONNECTIONS: usize = 32;
/// How long a connection may last, so that idle ones do not keep others out.
const LIFETIME: Duration = Duration::from_secs(30);
/// How long a client may take to say what it wants.
const HEADERS: Duration = Duration::from_secs(5);

/// What is served on a port.
#[derive(Clone, Debug)]
pub enum Pages {
    /// `/metrics`.
    Metrics(Metrics),
    /// `/healthz` and `/readyz`, also under the names that the Go operator has for them: `/health` and `/readiness`.
    Probes(Health),
}

/// Opens a port; an empty `host` stands for every address of the machine, of both families where there are two.
///
/// # Errors
/// When it is taken or not allowed.
pub async fn listen(host: &str, port: u16) -> io::Result<TcpListener> {
    if !host.is_empty() {
        return TcpListener::bind((host, port)).await;
    }
    match TcpListener::bind((Ipv6Addr::UNSPECIFIED, port)).await {
        Ok(listener) => Ok(listener),
        // There may be no IPv6 here.
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => Err(error),
        Err(_) => TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)).await,
    }
}

/// Answers until it is dropped.
pub async fn serve(listener: TcpListener, pages: Pages) {
    let slots = Arc::new(Semaphore::new(CONNECTIONS));
    let mut connections = tokio::task::JoinSet::new();
    loop {
        let slot = slots.clone().acquire_owned().await.expect("the semaphore is never closed");
        while connections.try_join_next().is_some() {}
        let Ok((stream, _)) = listener.accept().await else {
            // Out of file descriptors, most likely: they come back.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let pages = pages.clone();
        connections.spawn(async move {
            let service = service_fn(move |request: Request<hyper::body::Incoming>| {
                let answer = answer(&pages, request.method(), request.uri().path(), Instant::now());
                async move { Ok::<_, Infallible>(answer) }
            });
            let mut server = http1::Builder::new();
            server.timer(TokioTimer::new()).header_read_timeout(HEADERS);
            // However it ends, the client knows it as well as we do.
            let _ =
                tokio::time::timeout(LIFETIME, server.serve_connection(TokioIo::new(stream), service)).await;
            drop(slot);
        });
    }
}

/// The page for a path.
fn answer(pages: &Pages, method: &Method, path: &str, now: Instant) -> Response<Full<Bytes>> {
    const PLAIN: &str = "text/plain; charset=utf-8";
    const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    let verdict = |verdict: Result<(), Complaint>| match verdict {
        Ok(()) => (StatusCode::OK, PLAIN, "ok\n".to_owned()),
        Err(complaint) => (StatusCode::SERVICE_UNAVAILABLE, PLAIN, format!("{complaint}\n")),
    };
    let (status, kind, text) = match (pages, path) {
        _ if !matches!(*method, Method::GET | Method::HEAD) => {
            (StatusCode::METHOD_NOT_ALLOWED, PLAIN, "only GET and HEAD\n".to_owned())
        }
        (Pages::Metrics(metrics), "/metrics") => (StatusCode::OK, OPEN_METRICS, metrics.text()),
        (Pages::Probes(health), "/healthz" | "/health") => verdict(health.liveness(now)),
        (Pages::Probes(health), "/readyz" | "/readiness") => verdict(health.readiness()),
        _ => (StatusCode::NOT_FOUND, PLAIN, "no such page\n".to_owned()),
    };
    let mut response = Response::new(Full::from(text));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static(kind));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(pages: &Pages, path: &str) -> u16 {
        answer(pages, &Method::GET, path, Instant::now()).status().as_u16()
    }

    #[tokio::test(start_paused = true)]
    async fn each_port_has_its_own_pages() {
        let (metrics, probes) = (Pages::Metrics(Metrics::default()), Pages::Probes(Health::default()));
        assert_eq!((status(&metrics, "/metrics"), status(&metrics, "/healthz")), (200, 404));
        assert_eq!((status(&probes, "/metrics"), status(&probes, "/healthz")), (404, 200));
        assert_eq!(answer(&probes, &Method::POST, "/healthz", Instant::now()).status(), 405);
    }

    #[tokio::test(start_paused = true)]
    async fn probes_say_what_the_process_says_of_itself() {
        let health = Health::default();
        let probes = Pages::Probes(health.clone());
        assert_eq!((status(&probes, "/healthz"), status(&probes, "/readyz")), (200, 503));
        let _term = health.lead(&["a"], Instant::now());
        assert_eq!(status(&probes, "/readiness"), 503);
        health.synced("a");
        assert_eq!(status(&probes, "/readyz"), 200);
        tokio::time::advance(crate::health::PATIENCE * 2).await;
        assert_eq!((status(&probes, "/healthz"), status(&probes, "/health")), (503, 503));
    }
}
