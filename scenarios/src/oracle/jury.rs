//! All oracles at work: they hear every wire, and the first broken promise is kept.

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
    verdict: Option<Violation>,
}

impl Jury {
    /// Sits down in a world.
    pub fn watch(world: &World, facts: Facts, oracles: Vec<Box<dyn Oracle>>) -> Self {
        let bench = Arc::new(Mutex::new(Bench { oracles, view: View::default(), verdict: None }));
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
        let sites = self.network.sites();
        let clusters = sites.into_iter().map(|(address, site)| {
            (address, Cluster { site: site.name.clone(), snapshot: site.server.snapshot() })
        });
        let clusters = clusters.collect();
        let mut alarms = Vec::new();
        {
            let mut bench = self.bench.lock();
            let Bench { oracles, view, verdict } = &mut *bench;
            if verdict.is_some() {
                return;
            }
            if let Some(hub) = std::collections::BTreeMap::get(&clusters, HUB) {
                view.refresh(&hub.snapshot);
            }
            let scene = Scene { now: self.now(), view, clusters: &clusters, facts: &self.facts };
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
