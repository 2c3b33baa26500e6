//! Sweeps: every request of a flow meets every fault, one at a time or two in a row, and everything must be in order
//! all the same.
//!
//! A [`flow`] is recorded once without faults; then each [`point`] is a world of its own, which goes on from common
//! [`ground`]. A fault may change what comes after it, so recorded requests only number the points. [`choice`] says
//! which points there are, [`report`] what they covered.

pub mod choice;
pub mod flow;
pub mod ground;
pub mod point;
pub mod report;
pub mod witness;

use std::collections::BTreeMap;

use parking_lot::Mutex;

use self::choice::Choice;
use self::flow::Flow;
use self::ground::Ground;
use self::point::Point;
use self::report::Report;
use crate::search::campaign::in_parallel;

/// What is told while a sweep runs.
pub enum Told<'a> {
    /// How many points there are.
    Points(usize),
    /// A point is done.
    Done(&'a Point),
}

/// Sweeps flows on so many threads. `tell` hears how many points there are, and of each when it is done.
pub fn run(
    flows: &[Flow],
    choice: &Choice,
    threads: usize,
    ground: &Ground,
    tell: &(dyn Fn(Told<'_>) + Sync),
) -> Report {
    let requests = Mutex::new(BTreeMap::new());
    in_parallel(threads, flows, |flow| {
        let recorded = point::requests(*flow, ground);
        requests.lock().insert(*flow, recorded);
    });
    let requests = requests.into_inner();
    let points = choice.points(&requests);
    tell(Told::Points(points.len()));
    let report = Mutex::new(Report::of(&requests));
    in_parallel(threads, points, |(flow, strokes)| {
        let (point, seen, _) = point::run(flow, &strokes, ground);
        tell(Told::Done(&point));
        report.lock().take_in(point, &seen);
    });
    report.into_inner().finished()
}

#[cfg(test)]
mod tests;
