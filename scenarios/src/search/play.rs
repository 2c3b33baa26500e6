//! Plays a script: first everything that may go wrong, with promises that must hold all the time, then nothing more,
//! with a time within which everything must be as if nothing had ever happened.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use knative_operator::controller::Pacing;
use knative_operator::reconcile::Intervals;

use super::kind::Kind;
use super::model;
use super::reference::References;
use super::script::Script;
use super::stage::Stage;
use crate::oracle::Violation;
use crate::seed::Seed;
use crate::wire::Meddler;

/// Between two looks at whether everything is in order.
const LOOK: Duration = Duration::from_secs(2);
/// Until the last status is written: one look for drift, late.
const SETTLING: Duration = Duration::from_secs(70);
/// How long nothing may be written: two looks for drift.
const REST: Duration = Duration::from_secs(140);

/// What came of a script.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The first broken promise.
    pub verdict: Option<Violation>,
    /// How often each kind of step was possible.
    pub hits: BTreeMap<Kind, u64>,
    /// Everything that happened.
    pub lines: Vec<String>,
    /// Requests that the operator made.
    pub requests: usize,
    /// Simulated time.
    pub simulated: Duration,
    /// How long it took from the end of all faults until everything was in order.
    pub recovery: Option<Duration>,
}

/// How long recovery may take: the longest backoff, two looks for drift, and twice the time of an undisturbed install,
/// because an upgrade or a removal may come before it.
pub fn bound(references: &References) -> Duration {
    // Delays are up to a tenth longer than they say.
    let longest = (Pacing::default().backoff_max + 2 * Intervals::default().drift).mul_f64(1.1);
    longest + 2 * Duration::from_millis(references.usual_millis())
}

/// Plays a script in a world of its own.
pub fn play(script: &Script, references: &References, meddler: Option<Arc<dyn Meddler>>) -> Outcome {
    let (script, references) = (script.clone(), references.clone());
    crate::runtime::run(move || async move { perform(&script, &references, meddler).await })
}

async fn perform(script: &Script, references: &References, meddler: Option<Arc<dyn Meddler>>) -> Outcome {
    let mut stage = Stage::set(Seed(script.seed), references);
    if let Some(meddler) = meddler {
        stage.world.network.set_meddler(meddler);
    }
    for step in &script.steps {
        stage.pass(Duration::from_millis(step.pause_millis)).await;
        if stage.jury.verdict().is_some() {
            break;
        }
        stage.act(step).await;
    }
    let recovery = recover(&mut stage, references).await;
    let verdict = stage.jury.verdict();
    stage.world.stop_rival();
    stage.world.stop_operator();
    Outcome {
        verdict,
        hits: std::mem::take(&mut stage.hits),
        lines: stage.world.trace.lines(),
        requests: stage.world.trace.len(),
        simulated: Duration::from_millis(stage.now()),
        recovery,
    }
}

/// Ends all faults and waits until everything is in order, and stays so.
pub async fn recover(stage: &mut Stage, references: &References) -> Option<Duration> {
    if stage.jury.verdict().is_some() {
        return None;
    }
    stage.heal();
    let (start, limit) = (stage.now(), bound(references));
    loop {
        stage.look();
        let waited = Duration::from_millis(stage.now() - start);
        let returned = stage.returning.is_empty();
        let difference = model::difference(stage, references);
        if stage.jury.verdict().is_some() {
            return None;
        }
        match difference {
            None if returned => return settle(stage, references, waited).await,
            None => {}
            Some(text) if waited > limit => {
                stage.jury.alarm("liveness", format!("{} s after the last fault: {text}", waited.as_secs()));
                return None;
            }
            Some(_) => {}
        }
        stage.world.pass(LOOK).await;
    }
}

async fn settle(stage: &mut Stage, references: &References, waited: Duration) -> Option<Duration> {
    stage.pass(SETTLING).await;
    stage.facts.set_resting(true);
    stage.pass(REST).await;
    stage.facts.set_resting(false);
    if stage.jury.verdict().is_some() {
        return None;
    }
    if let Some(text) = model::difference(stage, references) {
        stage.jury.alarm("model", text);
    }
    stage.jury.end();
    stage.jury.verdict().is_none().then_some(waited)
}
