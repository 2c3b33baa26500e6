//! One point of a sweep: a flow in which one request meets a fault, or two do.

use std::time::Duration;

use serde::Serialize;

use super::flow::Flow;
use super::ground::Ground;
use super::witness::{Seen, Witness};
use crate::oracle::Violation;
use crate::purpose::Purpose;
use crate::search::model;
use crate::search::play::bound;
use crate::search::reference::References;
use crate::search::stage::Stage;
use crate::strike::{Blow, Counted, STALL, Stroke};

/// How long a dead operator stays dead.
const RESTART: Duration = Duration::from_secs(2);
const LOOK: Duration = Duration::from_millis(500);
/// One look for drift, late.
const DRIFT_LOOK: Duration = Duration::from_secs(70);

/// What came of a point.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    /// The flow.
    pub flow: String,
    /// The faults, and at which requests.
    pub strokes: Vec<Stroke>,
    /// Those that met a request, and what it was for.
    pub landed: Vec<(Blow, Purpose)>,
    /// How long it took until everything was in order, in seconds.
    pub seconds: f64,
    /// What was broken, if anything.
    pub violation: Option<Violation>,
}

impl Point {
    /// `17:crash-after,2:stall`, as the command line takes it.
    pub fn strokes(&self) -> String {
        self.strokes.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
    }
}

/// The requests that the operators make in a flow until everything is in order, when nothing else happens.
pub fn requests(flow: Flow, ground: &Ground) -> Vec<Counted> {
    let ground = ground.clone();
    crate::runtime::run(move || async move {
        let mut stage = ground.stage(flow, Vec::new());
        flow.prepare(&mut stage).await;
        stage.world.network.strike.record();
        flow.begin(&mut stage);
        converge(flow, &mut stage, &ground.references).await;
        stage.world.stop_operator();
        stage.world.stop_rival();
        stage.world.network.strike.recorded()
    })
}

/// Runs a flow in which these strokes fall; also gives what was seen, and the trace.
pub fn run(flow: Flow, strokes: &[Stroke], ground: &Ground) -> (Point, Seen, Vec<String>) {
    let (ground, strokes) = (ground.clone(), strokes.to_vec());
    crate::runtime::run(move || async move {
        let witness = Witness::default();
        let _log = witness.listen();
        let mut stage = ground.stage(flow, vec![Box::new(witness.clone())]);
        flow.prepare(&mut stage).await;
        stage.world.network.strike.arm(&strokes);
        flow.begin(&mut stage);
        let seconds = converge(flow, &mut stage, &ground.references).await;
        // What did not fall until then is no fault of the flow, and rest is judged without faults.
        stage.world.network.strike.disarm();
        let landed = stage.world.network.strike.landed();
        settle(&mut stage, &ground.references).await;
        stage.world.stop_operator();
        stage.world.stop_rival();
        let violation = stage.jury.verdict();
        let point = Point { flow: flow.name(), strokes, landed, seconds, violation };
        (point, witness.seen(), stage.world.trace.lines())
    })
}

/// What happens in a flow besides what the user does.
enum Turn {
    /// After so many requests.
    Awaited(usize),
    /// It lasts until then, in milliseconds since the beginning.
    Lasting(u64),
    /// It is over, or there is none.
    Over,
}

/// Waits until everything is in order; how many seconds that took. A dead operator is started again.
async fn converge(flow: Flow, stage: &mut Stage, references: &References) -> f64 {
    let (start, limit) = (stage.now(), bound(references) + STALL);
    let mut turn = flow.turns_at().map_or(Turn::Over, Turn::Awaited);
    let mut looks = 0_u32;
    loop {
        if stage.world.network.strike.has_crashes() {
            stage.touch("operator");
            stage.world.pass(RESTART).await;
            stage.world.restart_crashed();
        }
        if let Turn::Lasting(end) = turn
            && stage.now() >= end
        {
            flow.calm_down(stage);
            turn = Turn::Over;
        }
        let waited = Duration::from_millis(stage.now() - start);
        let difference = model::difference(stage, references);
        let in_order = difference.is_none() && matches!(turn, Turn::Over);
        if stage.jury.verdict().is_some() || in_order {
            return waited.as_secs_f64();
        }
        if waited > limit {
            let text = difference.unwrap_or_else(|| "the flow has not come to its end".into());
            stage.jury.alarm("liveness", format!("{} s after the fault: {text}", waited.as_secs()));
            return waited.as_secs_f64();
        }
        match turn {
            Turn::Awaited(requests) => {
                let strike = stage.world.network.strike.clone();
                if tokio::time::timeout(LOOK, strike.reached(requests)).await.is_ok() {
                    let lasts = flow.turn(stage);
                    turn = Turn::Lasting(stage.now() + u64::try_from(lasts.as_millis()).unwrap_or_default());
                }
            }
            Turn::Lasting(_) | Turn::Over => stage.world.pass(LOOK).await,
        }
        looks += 1;
        if looks.is_multiple_of(10) {
            stage.look();
        }
    }
}

/// Waits for a look for drift in which nothing is written: the first may still record what has happened meanwhile, the
/// second may not.
async fn settle(stage: &mut Stage, references: &References) {
    let start = stage.world.trace.len();
    stage.pass(DRIFT_LOOK).await;
    let recorded = stage.world.trace.requests_since(start);
    if recorded.iter().any(|request| request.is_write() && !request.path.contains("/leases")) {
        stage.facts.set_resting(true);
        stage.pass(DRIFT_LOOK).await;
        stage.facts.set_resting(false);
    }
    if stage.jury.verdict().is_some() {
        return;
    }
    if let Some(text) = model::difference(stage, references) {
        stage.jury.alarm("model", text);
    }
    stage.jury.end();
}
