//! The main story, for people to watch: a hub, spokes, install, upgrade, faults, repair, removal.

use std::fmt::Write as _;
use std::time::Duration;

use crate::files::Bundle;
use crate::network::Site;
use crate::seed::Seed;
use crate::story::{EVENTING, SERVING, added, eventing, id, inventory, serving};
use crate::trace::Exchange;
use crate::world::{Options, World};
use serde_json::json;

/// One finished step.
#[derive(Clone, Debug)]
pub struct Step {
    /// What happened, in one line.
    pub text: String,
    /// Whether it is what was expected.
    pub ok: bool,
    /// Simulated time at its end.
    pub at: Duration,
}

/// What the demo saw.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// Whether every expectation held.
    pub ok: bool,
    /// Simulated time of the whole story.
    pub simulated: Duration,
    /// Requests that the operator made.
    pub requests: usize,
    /// Digest of the trace.
    pub digest: String,
    /// All lines of the trace.
    pub lines: Vec<String>,
}

/// Runs the story and hands each step to `tell` as it ends.
pub async fn run(seed: Seed, bundle: Bundle, mut tell: impl FnMut(&Step)) -> Summary {
    let mut demo =
        Demo { world: World::new(Options { bundle, ..Options::new(seed) }), ok: true, tell: &mut tell };
    demo.play().await;
    let Demo { mut world, ok, .. } = demo;
    world.stop_operator();
    Summary {
        ok,
        simulated: Duration::from_millis(u64::try_from(world.clock.millis()).unwrap_or(u64::MAX)),
        requests: world.trace.len(),
        digest: world.trace.digest(),
        lines: world.trace.lines(),
    }
}

struct Demo<'a> {
    world: World,
    ok: bool,
    tell: &'a mut dyn FnMut(&Step),
}

impl Demo<'_> {
    fn step(&mut self, ok: bool, text: impl Into<String>) {
        self.ok &= ok;
        let at = Duration::from_millis(u64::try_from(self.world.clock.millis()).unwrap_or(u64::MAX));
        (self.tell)(&Step { text: text.into(), ok, at });
    }

    async fn play(&mut self) {
        let east = self.world.add_spoke("east");
        let west = self.world.add_spoke("west");
        let before = [inventory(&east), inventory(&west)];
        self.step(true, "a hub and two spokes are up, each empty; the operator starts");
        self.world.start_operator();

        let (old, new) = self.versions().await;
        self.world.submit(serving(&old, Some("east")));
        self.world.submit(eventing(&new.1, Some("west")));
        let took = self.world.ready(SERVING, &old).await;
        let text = format!("KnativeServing {old} with kourier is Ready on east after {}", seconds(took));
        self.step(true, text);
        self.world.ready(EVENTING, &new.1).await;
        self.step(true, format!("KnativeEventing {} is Ready on west", new.1));
        for (site, before) in [(&east, &before[0]), (&west, &before[1])] {
            let installed = added(before, &inventory(site)).len();
            self.step(installed > 30, format!("{installed} identities were added on {}", site.name));
        }

        self.upgrade_through_a_partition(&east, &new.0).await;
        self.outlive_tokens().await;
        self.repair(&east).await;
        self.remove(&[east, west], &before).await;
    }

    /// The newest release of the older minor and the newest ones of both components.
    async fn versions(&self) -> (String, (String, String)) {
        use knative_operator::api::ComponentKind;
        use knative_operator::manifest::{Catalog, version};

        let catalog = Catalog::new(std::sync::Arc::new(self.world.files.clone()), self.world.bundle_root());
        let serving = catalog.releases(ComponentKind::Serving).await.unwrap_or_default();
        let eventing = catalog.releases(ComponentKind::Eventing).await.unwrap_or_default();
        let newest = serving.first().cloned().unwrap_or_default();
        let minor = version::minor(&newest);
        let older = serving.iter().find(|release| version::minor(release) != minor).unwrap_or(&newest);
        (older.clone(), (newest, eventing.first().cloned().unwrap_or_default()))
    }

    async fn upgrade_through_a_partition(&mut self, east: &Site, version: &str) {
        self.world.set_version(SERVING, version);
        self.world.pass(Duration::from_secs(1)).await;
        east.link.cut();
        self.world.says(SERVING, "TargetClusterResolved", "False", "RemoteClusterUnreachable").await;
        self.step(
            true,
            format!("upgrade to {version}; the network to east breaks: RemoteClusterUnreachable"),
        );
        self.world.pass(Duration::from_secs(120)).await;
        east.link.heal();
        let took = self.world.ready(SERVING, version).await;
        self.step(true, format!("the network is back; Ready with {version} after {}", seconds(took)));
    }

    async fn outlive_tokens(&mut self) {
        let runs = self.world.issuer.runs();
        self.world.pass(Duration::from_secs(3600)).await;
        let renewed = self.world.issuer.runs() - runs;
        let refused = self.world.trace.requests_since(0).iter().filter(|request| request.code == 401).count();
        let text =
            format!("an hour passes; tokens live 15 min: {renewed} renewals, {refused} refused requests");
        self.step(renewed >= 6 && refused == 0, text);
    }

    async fn repair(&mut self, east: &Site) {
        let start = self.world.trace.len();
        self.world.edit(east, ("", "Service", "knative-serving", "webhook"), |object| {
            object["spec"]["selector"]["app"] = json!("edited-by-hand");
        });
        self.world.pass(Duration::from_secs(600)).await;
        let window = self.world.trace.requests_since(start);
        // The hub is told of it, in a condition and an Event.
        let on_spokes = window.iter().filter(|request| request.is_write() && request.cluster != "hub");
        let writes: Vec<_> = on_spokes.collect();
        let repaired = matches!(writes.as_slice(), [Exchange { cluster, path, .. }]
            if cluster == "east" && path.contains("/services/webhook"));
        let text = format!(
            "a Service is edited by hand on east; in the next 10 min {} of {} requests writes to a spoke: the repair",
            writes.len(),
            window.len()
        );
        self.step(repaired, text);
    }

    async fn remove(&mut self, sites: &[Site], before: &[std::collections::BTreeMap<String, String>]) {
        self.world.delete(&self.world.hub, id(SERVING));
        self.world.delete(&self.world.hub, id(EVENTING));
        let took = self.world.gone(SERVING).await;
        self.world.gone(EVENTING).await;
        self.step(true, format!("both resources are deleted and gone after {}", seconds(took)));
        for (site, before) in sites.iter().zip(before) {
            let left = added(before, &inventory(site));
            let definitions = left.iter().filter(|key| key.starts_with("CustomResourceDefinition.")).count();
            let others: Vec<_> =
                left.iter().filter(|key| !key.starts_with("CustomResourceDefinition.")).collect();
            let mut text = format!("left on {}: {definitions} definitions", site.name);
            if others.is_empty() {
                text.push_str(" and nothing else");
            } else {
                let _ = write!(text, " and {others:?}");
            }
            self.step(others.is_empty(), text);
        }
    }
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}
