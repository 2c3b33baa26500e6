//! A cluster as it was at one moment, from which others go on: what many tests begin with is made once.

use std::fmt;

use jiff::Timestamp;

use crate::clock::Clock;
use crate::controllers::ControllerSet;
use crate::server::FakeApiServer;
use crate::state::State;

/// Everything that a cluster stored and was about to do. It can be shared between threads; open watches, links and the
/// log of requests are not part of it.
pub struct Image {
    state: State,
    controllers: ControllerSet,
    now: Timestamp,
}

impl fmt::Debug for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Image").field("now", &self.now).finish_non_exhaustive()
    }
}

impl Image {
    pub(crate) fn new(state: State, controllers: ControllerSet, now: Timestamp) -> Self {
        Self { state, controllers, now }
    }

    /// What the clock of the cluster showed.
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// A cluster that goes on from here, at the time that it was then. Several from one image know nothing of each
    /// other, and make the same of the same requests: the same UIDs, the same versions.
    pub fn start(&self) -> FakeApiServer {
        let clock = Clock::starting_at(self.now);
        let cluster = FakeApiServer::go_on(self.state.duplicate(), clock, self.controllers.duplicate());
        cluster.ensure_controllers();
        cluster
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::{Value, json};
    use tokio::time::sleep;

    use super::*;
    use crate::Readiness;

    fn config_map(name: &str) -> Value {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}})
    }

    fn available(cluster: &FakeApiServer) -> bool {
        let found = cluster.get("apps", "Deployment", "default", "web").unwrap_or_default();
        found["status"]["availableReplicas"] == 1
    }

    #[tokio::test(start_paused = true)]
    async fn a_cluster_goes_on_with_what_it_was_about_to_do() {
        let ready = Readiness::After(Duration::from_secs(10));
        let first = FakeApiServer::builder().seed(1).readiness(ready).build();
        let pod = json!({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
        let spec = json!({"selector": {"matchLabels": {"a": "b"}}, "template": pod});
        let metadata = json!({"name": "web", "namespace": "default"});
        first
            .create(
                json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}),
            )
            .unwrap();
        sleep(Duration::from_secs(6)).await;
        let image = first.image();
        sleep(Duration::from_secs(60)).await;
        let second = image.start();
        assert_eq!((second.now(), second.revision()), (image.now(), first_revision(&image)));
        sleep(Duration::from_secs(3)).await;
        assert!(!available(&second), "it has had 9 of its 10 seconds");
        sleep(Duration::from_secs(2)).await;
        assert!(available(&second));
    }

    fn first_revision(image: &Image) -> u64 {
        image.state.storage.revision()
    }

    #[tokio::test(start_paused = true)]
    async fn clusters_of_one_image_are_alike_and_strangers_to_each_other() {
        let first = FakeApiServer::builder().seed(1).build();
        let token = first.tokens().issue("somebody", ["people"], None);
        let image = first.image();
        let (a, b) = (image.start(), image.start());
        a.create(config_map("x")).unwrap();
        assert!(b.get("", "ConfigMap", "default", "x").is_none());
        assert!(first.get("", "ConfigMap", "default", "x").is_none());
        b.create(config_map("x")).unwrap();
        let uid = |cluster: &FakeApiServer| {
            cluster.get("", "ConfigMap", "default", "x").unwrap_or_default()["metadata"]["uid"].clone()
        };
        assert!(uid(&a).is_string());
        assert_eq!(uid(&a), uid(&b));
        assert!(a.tokens().revoke(&token), "tokens go on too");
        assert!(b.tokens().revoke(&token), "each cluster has its own");
    }
}
