//! Accepting connections: TLS, HTTP/1.1 or HTTP/2, limits on what a connection may hold up, and the end.

use std::sync::Arc;
use std::time::Duration;

use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use rustls::ServerConfig;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use super::ending::Ending;
use super::wire::Wire;

/// Connections at one time; further ones wait to be accepted.
const MAX_CONNECTIONS: usize = 4096;

/// How long a client may take for the TLS handshake.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// How long a client may take to send the head of a request (HTTP/1.1; also how long an idle connection is kept).
const HEAD: Duration = Duration::from_secs(60);

/// Bytes that the head of a request may have.
const HEAD_SIZE: usize = 64 * 1024;

/// Requests in progress on one HTTP/2 connection, watches included.
const MAX_STREAMS: u32 = 1000;

/// What a client may send ahead on one HTTP/2 stream, in bytes.
const STREAM_WINDOW: u32 = 1024 * 1024;

/// How often a silent HTTP/2 connection is asked whether it still lives, and how long it has to answer.
const PING: (Duration, Duration) = (Duration::from_secs(30), Duration::from_secs(20));

/// How long connections may take to finish at the end.
pub(super) const DRAIN: Duration = Duration::from_millis(700);

/// How long to wait when the system has no descriptor left for a connection.
const EXHAUSTED: Duration = Duration::from_millis(50);

/// Accepts connections until `ending` says true, then lets them finish.
pub(super) async fn accept(listener: TcpListener, config: Arc<ServerConfig>, wire: Wire, mut ending: Ending) {
    let (acceptor, http) = (TlsAcceptor::from(config), Arc::new(http()));
    let free = Arc::new(Semaphore::new(MAX_CONNECTIONS));
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
                    let (acceptor, http, wire) = (acceptor.clone(), http.clone(), wire.clone());
                    let ending = ending.clone();
                    connections.spawn(async move {
                        let _permit = permit;
                        serve(stream, &acceptor, &http, wire, ending).await;
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

fn http() -> Builder<TokioExecutor> {
    let mut http = Builder::new(TokioExecutor::new());
    http.http1().timer(TokioTimer::new()).header_read_timeout(HEAD).max_buf_size(HEAD_SIZE);
    http.http2()
        .timer(TokioTimer::new())
        .max_header_list_size(HEAD_SIZE as u32)
        .max_concurrent_streams(MAX_STREAMS)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(4 * STREAM_WINDOW)
        .keep_alive_interval(PING.0)
        .keep_alive_timeout(PING.1);
    http
}

/// Serves one connection to its end. What a client does wrong concerns nobody else.
async fn serve(
    stream: TcpStream,
    acceptor: &TlsAcceptor,
    http: &Builder<TokioExecutor>,
    wire: Wire,
    mut ending: Ending,
) {
    // Watch events are small and must not wait for more.
    let _ = stream.set_nodelay(true);
    let handshake = tokio::time::timeout(HANDSHAKE, acceptor.accept(stream));
    let stream = tokio::select! {
        biased;
        () = ending.came() => return,
        outcome = handshake => match outcome {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) => return tracing::debug!(%error, "the TLS handshake failed"),
            Err(_) => return tracing::debug!("the TLS handshake took too long"),
        },
    };
    let connection = http.serve_connection(TokioIo::new(stream), TowerToHyperService::new(wire));
    let mut connection = std::pin::pin!(connection);
    let outcome = tokio::select! {
        biased;
        outcome = &mut connection => outcome,
        () = ending.came() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = outcome {
        tracing::debug!(%error, "a connection broke");
    }
}
