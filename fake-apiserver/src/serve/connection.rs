//! Accepting connections: TLS, HTTP/1.1 or HTTP/2, limits on what a connection may hold up, and the end.

use std::sync::Arc;
use std::time::Duration;

use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use rustls::ServerConfig;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, oneshot};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use super::ending::Ending;
use super::limits::{LEAST_HEAD, Limits};
use super::stall::Stalling;
use super::wire::Wire;

/// What a client may send ahead on one HTTP/2 stream, in bytes.
const STREAM_WINDOW: u32 = 1024 * 1024;

/// How often a silent HTTP/2 connection is asked whether it still lives, and how long it has to answer.
const PING: (Duration, Duration) = (Duration::from_secs(30), Duration::from_secs(20));

/// How long connections may take to finish at the end.
pub(super) const DRAIN: Duration = Duration::from_millis(700);

/// How long to wait when the system has no descriptor left for a connection.
const EXHAUSTED: Duration = Duration::from_millis(50);

/// Accepts connections until `ending` says true, then lets them finish.
pub(super) async fn accept(
    listener: TcpListener,
    config: Arc<ServerConfig>,
    limits: &Limits,
    wire: Wire,
    mut ending: Ending,
) {
    let host =
        Arc::new(Host { acceptor: TlsAcceptor::from(config), http: http(limits), limits: limits.clone() });
    let places = limits.connections.clamp(1, Semaphore::MAX_PERMITS);
    let free = Arc::new(Semaphore::new(places));
    let mut connections = JoinSet::new();
    loop {
        let next = async {
            let permit = free.clone().acquire_owned().await;
            (permit, listener.accept().await)
        };
        tokio::select! {
            biased;
            () = ending.came() => break,
            Some(_) = connections.join_next() => {}
            (permit, accepted) = next => match accepted {
                Ok((stream, _)) => {
                    let (host, wire, ending) = (host.clone(), wire.clone(), ending.clone());
                    connections.spawn(async move {
                        let _permit = permit;
                        host.serve(stream, wire, ending).await;
                    });
                }
                Err(error) => {
                    tracing::debug!(%error, "cannot accept a connection");
                    tokio::time::sleep(EXHAUSTED).await;
                }
            },
        }
    }
    drop(listener);
    let finished = async { while connections.join_next().await.is_some() {} };
    if tokio::time::timeout(DRAIN, finished).await.is_err() {
        connections.shutdown().await;
    }
}

/// What all connections share.
struct Host {
    acceptor: TlsAcceptor,
    http: Builder<TokioExecutor>,
    limits: Limits,
}

fn http(limits: &Limits) -> Builder<TokioExecutor> {
    let head = limits.head_bytes.max(LEAST_HEAD);
    let mut http = Builder::new(TokioExecutor::new());
    http.http1().timer(TokioTimer::new()).header_read_timeout(limits.head).max_buf_size(head as usize);
    http.http2()
        .timer(TokioTimer::new())
        .max_header_list_size(head)
        .max_concurrent_streams(limits.streams)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(4 * STREAM_WINDOW)
        .keep_alive_interval(PING.0)
        .keep_alive_timeout(PING.1);
    http
}

impl Host {
    /// Serves one connection to its end. What a client does wrong concerns nobody else.
    async fn serve(&self, stream: TcpStream, wire: Wire, mut ending: Ending) {
        // Watch events are small and must not wait for more.
        let _ = stream.set_nodelay(true);
        let stream = Stalling::new(stream, self.limits.stall);
        let handshake = tokio::time::timeout(self.limits.handshake, self.acceptor.accept(stream));
        let stream = tokio::select! {
            biased;
            () = ending.came() => return,
            outcome = handshake => match outcome {
                Ok(Ok(stream)) => stream,
                Ok(Err(error)) => return tracing::debug!(%error, "the TLS handshake failed"),
                Err(_) => return tracing::debug!("the TLS handshake took too long"),
            },
        };
        let (asked, first) = oneshot::channel();
        let service = TowerToHyperService::new(wire.telling(asked));
        let connection = self.http.serve_connection(TokioIo::new(stream), service);
        let mut connection = std::pin::pin!(connection);
        let outcome = tokio::select! {
            biased;
            outcome = &mut connection => outcome,
            () = silence(self.limits.head, first) => return tracing::debug!("a connection without a request"),
            () = ending.came() => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = outcome {
            tracing::debug!(%error, "a connection broke");
        }
    }
}

/// Comes when there was no request in time; never once there was one, or can be none any more.
async fn silence(time: Duration, first: oneshot::Receiver<()>) {
    if tokio::time::timeout(time, first).await.is_ok() {
        std::future::pending().await
    }
}
