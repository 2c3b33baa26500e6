//! The control endpoint.
use tokio::net::TcpListener;

use crate::FakeApiServer;
use crate::fault::Link;

/// Serves.
pub async fn serve(_listener: TcpListener, _cluster: FakeApiServer, _link: Link) {
    std::future::pending().await
}
