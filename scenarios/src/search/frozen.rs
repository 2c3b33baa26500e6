//! A stage as it was at one moment, from which others go on: what many runs begin with is played once.

use std::collections::{BTreeMap, BTreeSet};

use fake_apiserver::Image;

use super::cast::Shape;
use super::reference::References;
use super::stage::{Lead, Stage};
use crate::oracle::{Oracle, all};
use crate::seed::Seed;
use crate::world::World;

/// See the module. Only what users have done so far and what is on the clusters is kept: it must be a moment at which
/// no fault is in force and no operator is at work.
pub struct Frozen {
    images: BTreeMap<String, Image>,
    shapes: BTreeMap<usize, Shape>,
    leads: BTreeMap<&'static str, Lead>,
    before: BTreeMap<String, BTreeSet<String>>,
}

impl Stage {
    /// The stage as it is now; its operators stop.
    pub fn freeze(&mut self) -> Frozen {
        self.world.stop_operator();
        self.world.stop_rival();
        let sites = self.world.network.sites();
        Frozen {
            images: sites.into_values().map(|site| (site.name.clone(), site.server.image())).collect(),
            shapes: self.shapes.clone(),
            leads: self.leads.clone(),
            before: self.before.clone(),
        }
    }
}

impl Frozen {
    /// A stage that goes on from here, without an operator. Its oracles know what they see; `company` sits with them.
    pub fn thaw(&self, seed: Seed, references: &References, company: Vec<Box<dyn Oracle>>) -> Stage {
        let world = World::going_on(Stage::options(seed, references), &self.images);
        let oracles = all(references.usual_millis()).into_iter().chain(company).collect();
        let mut stage = Stage::around(world, self.leads.clone(), oracles);
        stage.shapes = self.shapes.clone();
        stage.before = self.before.clone();
        stage
    }
}
