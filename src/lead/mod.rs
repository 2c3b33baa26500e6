//! One replica at a time: leader election by a Lease on the hub, and a fence around all writes.
//!
//! The protocol is that of client-go: a candidate takes a Lease that nobody holds, or whose holder has not touched it
//! for as long as the Lease says, told by the candidate's own clock. A leader renews its Lease and gives up when it has
//! not succeeded for [`Timing::deadline`], well before others may take over; its [`Fence`] then lets no write through
//! any more, whatever is still at work.

mod fence;
mod record;

use std::sync::Arc;
use std::time::Duration;

use http::{Method, Request};
use serde_json::Value;
use tokio::time::{Instant, sleep};

pub use self::fence::{Deposed, Fence, FencedConnector};
use self::record::{Holder, Sighting};
use crate::clock::Clock;

/// How fast leaders and candidates are.
#[derive(Clone, Debug)]
pub struct Timing {
    /// How long a Lease that nobody touches is respected.
    pub lease: Duration,
    /// How long a leader may fail to renew; less than `lease`.
    pub deadline: Duration,
    /// How often a leader renews.
    pub renew: Duration,
    /// How often a candidate looks, and a leader tries again.
    pub retry: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self { lease: seconds(15), deadline: seconds(10), renew: seconds(5), retry: seconds(2) }
    }
}

/// A candidate.
#[derive(Clone)]
pub struct Election {
    /// The hub, outside the fence.
    pub hub: kube::Client,
    /// Namespace of the Lease.
    pub namespace: String,
    /// Name of the Lease.
    pub name: String,
    /// Who this is; no two replicas have the same.
    pub identity: String,
    /// How fast it is.
    pub timing: Timing,
    /// For the times in the Lease.
    pub clock: Arc<dyn Clock>,
}

/// Why the Lease could not be had.
#[derive(Debug)]
enum Denied {
    /// Somebody else holds it.
    Held,
    /// The hub did not say.
    Unknown(kube::Error),
}

impl Election {
    /// Does `work` whenever this replica leads, behind `fence`; the work is dropped when it no longer leads. Returns
    /// when the work does.
    pub async fn run<F: Future<Output = ()>>(&self, fence: &Fence, mut work: impl FnMut() -> F) {
        loop {
            self.acquire(fence).await;
            tracing::info!(identity = %self.identity, lease = %self.name, "leading");
            tokio::select! {
                // A leader that is none any more stops at once.
                biased;
                () = self.keep(fence) => {
                    fence.close();
                    tracing::warn!(identity = %self.identity, lease = %self.name, "no longer leading");
                }
                () = work() => return,
            }
        }
    }

    /// Gives the Lease back, so that others need not wait for its end. Only a leader has one to give.
    pub async fn release(&self, fence: &Fence) {
        if !fence.is_open() {
            return;
        }
        fence.close();
        let given = async {
            let lease = self.read().await?.unwrap_or_default();
            if record::holder(&lease) == Holder::Named(self.identity.clone()) {
                self.write(Method::PUT, &record::released(lease, self.clock.now())).await?;
            }
            Ok::<_, kube::Error>(())
        };
        if let Err(error) = given.await {
            tracing::debug!(error = &error as &dyn std::error::Error, "the Lease could not be given back");
        }
    }

    /// Waits until the Lease is had.
    async fn acquire(&self, fence: &Fence) {
        let (mut sighting, mut told) = (Sighting::default(), String::new());
        loop {
            let sent = Instant::now();
            match self.claim(&mut sighting).await {
                Ok(()) => return fence.open_until(sent + self.timing.deadline),
                Err(Denied::Held) => told.clear(),
                // The same trouble is told once.
                Err(Denied::Unknown(error)) if error.to_string() != told => {
                    told = error.to_string();
                    let lease = format!("{}/{}", self.collection(), self.name);
                    tracing::warn!(lease, error = &error as &dyn std::error::Error, "cannot take the Lease");
                }
                Err(Denied::Unknown(_)) => {}
            }
            sleep(self.timing.retry).await;
        }
    }

    /// Renews the Lease until that fails for too long, or somebody else has it.
    async fn keep(&self, fence: &Fence) {
        let mut pause = self.timing.renew;
        loop {
            sleep(pause).await;
            let sent = Instant::now();
            let mut sighting = Sighting::default();
            let claim = tokio::time::timeout_at(fence.deadline(), self.claim(&mut sighting)).await;
            pause = match claim {
                Ok(Ok(())) => {
                    fence.open_until(sent + self.timing.deadline);
                    self.timing.renew
                }
                Ok(Err(Denied::Held)) | Err(_) => return,
                Ok(Err(Denied::Unknown(_))) => self.timing.retry,
            };
            if !fence.is_open() {
                return;
            }
        }
    }

    /// Takes or renews the Lease, if that may be.
    async fn claim(&self, sighting: &mut Sighting) -> Result<(), Denied> {
        let now = self.clock.now();
        let lease = self.read().await.map_err(Denied::Unknown)?;
        let (method, wanted) = match lease {
            None => (Method::POST, record::fresh(self, now)),
            Some(lease) => {
                if !sighting.may_take(&lease, &self.identity, Instant::now()) {
                    return Err(Denied::Held);
                }
                (Method::PUT, record::claimed(lease, self, now))
            }
        };
        self.write(method, &wanted).await.map_err(|error| match error {
            // Somebody was faster.
            kube::Error::Api(status) if status.code == 409 => Denied::Held,
            error => Denied::Unknown(error),
        })
    }

    async fn read(&self) -> Result<Option<Value>, kube::Error> {
        let request = Request::get(format!("{}/{}", self.collection(), self.name));
        match self.hub.request(request.body(Vec::new()).map_err(kube::Error::HttpError)?).await {
            Ok(lease) => Ok(Some(lease)),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn write(&self, method: Method, lease: &Value) -> Result<(), kube::Error> {
        let path = match method {
            Method::POST => self.collection(),
            _ => format!("{}/{}", self.collection(), self.name),
        };
        let request = Request::builder().method(method).uri(path).header("content-type", "application/json");
        let request = request.body(lease.to_string().into_bytes()).map_err(kube::Error::HttpError)?;
        self.hub.request::<Value>(request).await.map(drop)
    }

    fn collection(&self) -> String {
        format!("/apis/coordination.k8s.io/v1/namespaces/{}/leases", self.namespace)
    }
}

#[cfg(test)]
mod tests;
