//! Sweeps: every request of a flow meets every fault, one at a time, and everything must be in order all the same.
//!
//! A [`flow`] is recorded once without faults; then each [`point`], a request and a fault, is a world of its own. A
//! fault may change what comes after it, so the recorded requests only number the points.

pub mod flow;
pub mod point;

use std::collections::BTreeMap;

use parking_lot::Mutex;
use serde::Serialize;

use self::flow::Flow;
use self::point::Point;
use crate::search::campaign::in_parallel;
use crate::search::reference::References;
use crate::strike::Blow;

/// What a sweep covered, and what it found.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    /// Points in which everything was in order in the end.
    pub passed: usize,
    /// The others.
    pub failed: Vec<Point>,
    /// By flow.
    pub coverage: BTreeMap<String, Coverage>,
}

/// How far a flow was swept.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Coverage {
    /// Requests of the flow without faults.
    pub requests: usize,
    /// By fault.
    pub blows: BTreeMap<Blow, Outcomes>,
}

/// What came of one fault.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Outcomes {
    /// Points that were tried.
    pub tried: usize,
    /// Points in which the request was made.
    pub landed: usize,
    /// Points in which everything was in order in the end.
    pub converged: usize,
    /// The longest time until then, in seconds.
    pub seconds_max: f64,
}

/// The points of a flow: each request that a fault fits, every `stride`th of them.
pub fn points(flow: Flow, stride: usize, references: &References) -> (usize, Vec<(usize, Blow)>) {
    let requests = point::requests(flow, references);
    let all = requests.iter().enumerate().flat_map(|(number, request)| {
        let fits = move |blow: &Blow| blow.fits(&request.cluster, &request.method, &request.path);
        Blow::ALL.into_iter().filter(fits).map(move |blow| (number, blow))
    });
    (requests.len(), all.step_by(stride.max(1)).collect())
}

/// Sweeps flows on so many threads. `tell` hears how many points there are, and of each when it is done.
pub fn run(
    flows: &[Flow],
    stride: usize,
    threads: usize,
    references: &References,
    tell: &(dyn Fn(Told<'_>) + Sync),
) -> Report {
    let mut report = Report::default();
    let mut all = Vec::new();
    for flow in flows {
        let (requests, points) = points(*flow, stride, references);
        report.coverage.entry(flow.name()).or_default().requests = requests;
        all.extend(points.into_iter().map(|(request, blow)| (*flow, request, blow)));
    }
    tell(Told::Points(all.len()));
    let report = Mutex::new(report);
    in_parallel(threads, all, |(flow, request, blow)| {
        let (point, _) = point::run(flow, request, blow, references);
        tell(Told::Done(&point));
        report.lock().take_in(point);
    });
    let mut report = report.into_inner();
    report.failed.sort_by(|a, b| (&a.flow, a.request, a.blow).cmp(&(&b.flow, b.request, b.blow)));
    report
}

/// What is told while a sweep runs.
pub enum Told<'a> {
    /// How many points there are.
    Points(usize),
    /// A point is done.
    Done(&'a Point),
}

impl Report {
    fn take_in(&mut self, point: Point) {
        let coverage = self.coverage.entry(point.flow.clone()).or_default();
        let outcomes = coverage.blows.entry(point.blow).or_default();
        outcomes.tried += 1;
        outcomes.landed += usize::from(point.landed);
        outcomes.seconds_max = outcomes.seconds_max.max(point.seconds);
        if point.violation.is_none() {
            outcomes.converged += 1;
            self.passed += 1;
        } else {
            self.failed.push(point);
        }
    }
}

#[cfg(test)]
mod tests;
