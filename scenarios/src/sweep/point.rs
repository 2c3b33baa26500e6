//! One point of a sweep: a flow in which one request meets one fault.

use std::time::Duration;

use serde::Serialize;

use super::flow::Flow;
use crate::oracle::Violation;
use crate::search::model;
use crate::search::play::bound;
use crate::search::reference::References;
use crate::search::stage::Stage;
use crate::seed::Seed;
use crate::strike::{Blow, STALL};
use crate::trace::Exchange;

/// How long a dead operator stays dead.
const RESTART: Duration = Duration::from_secs(2);
const LOOK: Duration = Duration::from_millis(500);
/// Until the last status is written.
const SETTLING: Duration = Duration::from_secs(70);
/// One look for drift.
const REST: Duration = Duration::from_secs(70);

/// What came of a point.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    /// The flow.
    pub flow: String,
    /// Which of its requests, counted from 0.
    pub request: usize,
    /// The fault.
    pub blow: Blow,
    /// Whether the request was made and met the fault.
    pub landed: bool,
    /// How long it took until everything was in order, in seconds.
    pub seconds: f64,
    /// What was broken, if anything.
    pub violation: Option<Violation>,
}

/// The requests that the operator makes in a flow until everything is in order, when nothing happens.
pub fn requests(flow: Flow, references: &References) -> Vec<Exchange> {
    let references = references.clone();
    crate::runtime::run(move || async move {
        let mut stage = Stage::set(Seed(0), references.usual_millis());
        flow.prepare(&mut stage).await;
        let start = stage.world.trace.len();
        flow.begin(&mut stage);
        converge(&mut stage, &references).await;
        stage.world.stop_operator();
        stage.world.trace.requests_since(start)
    })
}

/// Runs a flow in which the `request`th request meets a fault; also gives the trace.
pub fn run(flow: Flow, request: usize, blow: Blow, references: &References) -> (Point, Vec<String>) {
    let references = references.clone();
    crate::runtime::run(move || async move {
        let mut stage = Stage::set(Seed(0), references.usual_millis());
        flow.prepare(&mut stage).await;
        stage.world.network.strike.arm(request, blow);
        flow.begin(&mut stage);
        let seconds = converge(&mut stage, &references).await;
        let landed = stage.world.network.strike.landed();
        settle(&mut stage, &references).await;
        stage.world.stop_operator();
        let violation = stage.jury.verdict();
        let point = Point { flow: flow.name(), request, blow, landed, seconds, violation };
        (point, stage.world.trace.lines())
    })
}

/// Waits until everything is in order; how many seconds that took. A dead operator is started again.
async fn converge(stage: &mut Stage, references: &References) -> f64 {
    let (start, limit) = (stage.now(), bound(references) + STALL);
    let mut looks = 0_u32;
    loop {
        if stage.world.network.strike.take_crash() {
            stage.touch("operator");
            stage.world.pass(RESTART).await;
            stage.world.start_operator();
        }
        let waited = Duration::from_millis(stage.now() - start);
        let difference = model::difference(stage, references);
        if stage.jury.verdict().is_some() || difference.is_none() {
            return waited.as_secs_f64();
        }
        if let Some(text) = difference.filter(|_| waited > limit) {
            stage.jury.alarm("liveness", format!("{} s after the fault: {text}", waited.as_secs()));
            return waited.as_secs_f64();
        }
        stage.world.pass(LOOK).await;
        looks += 1;
        if looks.is_multiple_of(10) {
            stage.look();
        }
    }
}

async fn settle(stage: &mut Stage, references: &References) {
    stage.pass(SETTLING).await;
    stage.facts.set_resting(true);
    stage.pass(REST).await;
    stage.facts.set_resting(false);
    if stage.jury.verdict().is_some() {
        return;
    }
    if let Some(text) = model::difference(stage, references) {
        stage.jury.alarm("model", text);
    }
    stage.jury.end();
}
