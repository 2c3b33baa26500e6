//! All oracles at work: they hear every wire, and the first broken promise is kept.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;

use super::view::View;
use super::{Cluster, Facts, Oracle, Scene, Violation};
use crate::network::Network;
use crate::time::SimulatedClock;
use crate::trace::Trace;
use crate::wire::{Letter, Seen, Tap};
use crate::world::{HUB, World};

/// See the module. A cheap handle.
#[derive(Clone)]
pub struct Jury {
    network: Network,
    clock: SimulatedClock,
    trace: Trace,
    facts: Facts,
    bench: Arc<Mutex<Bench>>,
}

struct Bench {
    oracles: Vec<Box<dyn Oracle>>,
    view: View,
    /// By address, as they were when somebody last looked.
    clusters: BTreeMap<String, Cluster>,
    verdict: Option<Violation>,
}

impl Bench {
    fn new(oracles: Vec<Box<dyn Oracle>>) -> Self {
        Self { oracles, view: View::default(), clusters: BTreeMap::new(), verdict: None }
    }

    /// Looks at every cluster as it is now.
    fn look(&mut self, network: &Network) {
        network.with_sites(|sites| {
            self.clusters.retain(|address, _| sites.contains_key(address));
            for (address, site) in sites {
                let snapshot = site.server.snapshot();
                match self.clusters.get_mut(address) {
                    Some(known) if known.site == site.name => known.snapshot = snapshot,
                    _ => {
                        let cluster = Cluster { site: site.name.clone(), snapshot };
                        self.clusters.insert(address.clone(), cluster);
                    }
                }
            }
        });
        if let Some(hub) = self.clusters.get(HUB) {
            self.view.refresh(&hub.snapshot);
        }
    }
}

impl Jury {
    /// Sits down in a world.
    pub fn watch(world: &World, facts: Facts, oracles: Vec<Box<dyn Oracle>>) -> Self {
        let bench = Arc::new(Mutex::new(Bench::new(oracles)));
        let (network, clock, trace) = (world.network.clone(), world.clock, world.trace.clone());
        let jury = Self { network, clock, trace, facts, bench };
        world.network.set_tap(Arc::new(jury.clone()));
        jury.hear(|oracle, scene| {
            oracle.begin(scene);
            None
        });
        jury
    }

    /// The first broken promise.
    pub fn verdict(&self) -> Option<Violation> {
        self.bench.lock().verdict.clone()
    }

    /// Lets everybody look around.
    pub fn tick(&self) {
        self.hear(|oracle, scene| oracle.tick(scene));
    }

    /// Lets everybody look around when everything must be in order.
    pub fn end(&self) {
        self.hear(|oracle, scene| oracle.end(scene));
    }

    /// Milliseconds since the beginning.
    pub fn now(&self) -> u64 {
        u64::try_from(self.clock.millis()).unwrap_or(u64::MAX)
    }

    /// Notes a broken promise of somebody who is no oracle of requests.
    pub fn alarm(&self, oracle: &'static str, text: String) {
        let violation = Violation { oracle, millis: self.now(), text };
        self.trace.note(format_args!("ALARM {violation}"));
        self.bench.lock().verdict.get_or_insert(violation);
    }

    fn hear(&self, mut ask: impl FnMut(&mut dyn Oracle, &Scene<'_>) -> Option<String>) {
        let mut alarms = Vec::new();
        {
            let mut bench = self.bench.lock();
            if bench.verdict.is_some() {
                return;
            }
            bench.look(&self.network);
            let Bench { oracles, view, clusters, .. } = &mut *bench;
            let scene = Scene { now: self.now(), view, clusters, facts: &self.facts };
            for oracle in oracles.iter_mut() {
                if let Some(text) = ask(&mut **oracle, &scene) {
                    alarms.push((oracle.name(), text));
                }
            }
        }
        for (oracle, text) in alarms {
            self.alarm(oracle, text);
        }
    }
}

impl Tap for Jury {
    fn sent(&self, letter: &Letter) {
        self.hear(|oracle, scene| oracle.sent(letter, scene));
    }

    fn seen(&self, seen: &Seen<'_>) {
        self.hear(|oracle, scene| oracle.seen(seen, scene));
    }

    fn answered(&self, letter: &Letter, code: u16) {
        self.hear(|oracle, scene| oracle.answered(letter, code, scene));
    }
}
