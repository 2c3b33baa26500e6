//! Where flows begin: a fleet without installations, or with one. Each is played once, and every point goes on from
//! there with an operator that has just started.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use super::flow::{BEFORE, Flow};
use crate::oracle::Oracle;
use crate::search::cast::ROLES;
use crate::search::frozen::Frozen;
use crate::search::reference::References;
use crate::search::stage::Stage;
use crate::seed::Seed;

/// Everything that the points of a sweep share. A cheap handle.
#[derive(Clone, Default)]
pub struct Ground {
    /// What must be there in the end.
    pub references: References,
    /// By the role that is installed, if one is.
    begun: Arc<Mutex<BTreeMap<Option<usize>, Arc<Frozen>>>>,
}

impl Ground {
    /// A stage at the beginning of a flow. It must be called where a world may be. `company` sits with the oracles.
    pub fn stage(&self, flow: Flow, company: Vec<Box<dyn Oracle>>) -> Stage {
        self.frozen(flow.installed()).thaw(Seed(0), &self.references, company)
    }

    fn frozen(&self, installed: Option<usize>) -> Arc<Frozen> {
        if let Some(known) = self.begun.lock().get(&installed) {
            return known.clone();
        }
        let references = self.references.clone();
        let made = Arc::new(crate::runtime::run(move || play(installed, references)));
        self.begun.lock().entry(installed).or_insert(made).clone()
    }
}

async fn play(installed: Option<usize>, references: References) -> Frozen {
    let mut stage = Stage::empty(Seed(0), &references);
    if let Some(role) = installed {
        stage.world.start_operator();
        stage.create(role, BEFORE);
        stage.world.ready(ROLES[role].id, BEFORE.version()).await;
        // Its last status is written, its Jobs are recorded as finished.
        stage.pass(Duration::from_secs(70)).await;
    }
    stage.freeze()
}
