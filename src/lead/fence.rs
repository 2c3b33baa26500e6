//! The fence: no write leaves a replica that does not lead.

use std::sync::Arc;

use http::{Method, Request};
use kube::client::Body;
use parking_lot::Mutex;
use tokio::time::Instant;
use tower::ServiceExt;

use crate::target::credentials::ClientIdentity;
use crate::target::endpoint::Endpoint;
use crate::target::stack::{ConnectError, Connector, Transport};

/// A write was held back because this replica does not lead.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("this replica is not the leader")]
pub struct Deposed;

/// Until when writes may pass. Clones are handles of the same fence; a new one is closed.
#[derive(Clone, Debug, Default)]
pub struct Fence {
    until: Arc<Mutex<Option<Instant>>>,
}

impl Fence {
    /// Lets writes pass until then.
    pub fn open_until(&self, deadline: Instant) {
        *self.until.lock() = Some(deadline);
    }

    /// Lets no write pass any more.
    pub fn close(&self) {
        *self.until.lock() = None;
    }

    /// Whether writes pass now.
    pub fn is_open(&self) -> bool {
        self.until.lock().is_some_and(|until| Instant::now() < until)
    }

    /// When it closes by itself; now, if it is closed.
    pub fn deadline(&self) -> Instant {
        self.until.lock().unwrap_or_else(Instant::now)
    }

    /// A transport behind the fence.
    pub fn guard(&self, transport: Transport) -> Transport {
        let fence = self.clone();
        Transport::new(tower::service_fn(move |request: Request<Body>| {
            let (fence, transport) = (fence.clone(), transport.clone());
            async move {
                if request.method() != Method::GET && !fence.is_open() {
                    return Err(Deposed.into());
                }
                transport.oneshot(request).await
            }
        }))
    }
}

/// Opens transports behind a fence.
pub struct FencedConnector<C> {
    /// What opens them.
    pub connector: C,
    /// The fence.
    pub fence: Fence,
}

impl<C: Connector> Connector for FencedConnector<C> {
    fn connect(&self, endpoint: &Endpoint) -> Result<Transport, ConnectError> {
        self.connector.connect(endpoint).map(|transport| self.fence.guard(transport))
    }

    fn connect_as(&self, endpoint: &Endpoint, identity: &ClientIdentity) -> Result<Transport, ConnectError> {
        self.connector.connect_as(endpoint, identity).map(|transport| self.fence.guard(transport))
    }
}
