//! The moment at which a server ends, for everybody who must hear of it.

use tokio::sync::watch;

/// Waits for the end.
#[derive(Clone)]
pub(super) struct Ending(watch::Receiver<bool>);

/// Brings the end about; dropping it does too.
pub(super) struct End(watch::Sender<bool>);

pub(super) fn ending() -> (End, Ending) {
    let (sender, receiver) = watch::channel(false);
    (End(sender), Ending(receiver))
}

impl End {
    pub(super) fn now(&self) {
        self.0.send_replace(true);
    }
}

impl Ending {
    /// Comes at the end, at once when it was before.
    pub(super) async fn came(&mut self) {
        // An error means that the sender is gone, which is the end too.
        drop(self.0.wait_for(|ended| *ended).await);
    }
}
