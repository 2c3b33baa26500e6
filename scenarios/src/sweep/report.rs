//! What a sweep covered, what it found, and what it never came to.

use std::collections::{BTreeMap, BTreeSet};

use knative_operator::api::Reason;
use knative_operator::reconcile::error::StepError;
use knative_operator::target::cluster::Failure;
use serde::Serialize;

use super::choice::Requests;
use super::point::Point;
use super::witness::Seen;
use crate::purpose::Purpose;
use crate::strike::Blow;

/// See the module.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    /// Points in which everything was in order in the end.
    pub passed: usize,
    /// The others.
    pub failed: Vec<Point>,
    /// By flow.
    pub coverage: BTreeMap<String, Coverage>,
    /// What never happened, in all flows together.
    pub never: Never,
}

/// How far a flow was swept.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Coverage {
    /// Requests of the flow without faults.
    pub requests: usize,
    /// The same by what they are for.
    pub purposes: BTreeMap<Purpose, usize>,
    /// By fault, or by both of a pair.
    pub faults: BTreeMap<String, Outcomes>,
    /// How often each fault met each kind of request.
    pub landed: BTreeMap<Purpose, BTreeMap<Blow, usize>>,
    /// What the operator said.
    pub seen: Seen,
}

/// What came of one fault.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Outcomes {
    /// Points that were tried.
    pub tried: usize,
    /// Points in which all faults met a request.
    pub landed: usize,
    /// Points in which everything was in order in the end.
    pub converged: usize,
    /// The longest time until then, in seconds.
    pub seconds_max: f64,
}

/// What never happened.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Never {
    /// Kinds of requests that no fault met.
    pub purposes: Vec<Purpose>,
    /// Reasons that no condition gave.
    pub reasons: Vec<&'static str>,
    /// Branches of errors that stopped no pass.
    pub branches: Vec<&'static str>,
    /// Failures of requests that stopped no pass.
    pub failures: Vec<&'static str>,
}

impl Report {
    /// A report on flows of which nothing was tried yet.
    pub fn of(requests: &Requests) -> Self {
        let mut report = Self::default();
        for (flow, requests) in requests {
            let coverage = report.coverage.entry(flow.name()).or_default();
            coverage.requests = requests.len();
            for request in requests {
                *coverage.purposes.entry(request.purpose).or_default() += 1;
            }
        }
        report
    }

    /// Takes in a point.
    pub fn take_in(&mut self, point: Point, seen: &Seen) {
        let coverage = self.coverage.entry(point.flow.clone()).or_default();
        let names: Vec<_> = point.strokes.iter().map(|stroke| stroke.blow.name()).collect();
        let outcomes = coverage.faults.entry(names.join("+")).or_default();
        outcomes.tried += 1;
        outcomes.landed += usize::from(point.landed.len() == point.strokes.len());
        outcomes.seconds_max = outcomes.seconds_max.max(point.seconds);
        outcomes.converged += usize::from(point.violation.is_none());
        for (blow, purpose) in &point.landed {
            *coverage.landed.entry(*purpose).or_default().entry(*blow).or_default() += 1;
        }
        coverage.seen.add(seen);
        match point.violation {
            None => self.passed += 1,
            Some(_) => self.failed.push(point),
        }
    }

    /// The same in order, and with what is missing.
    #[must_use]
    pub fn finished(mut self) -> Self {
        self.failed.sort_by(|a, b| (&a.flow, &a.strokes).cmp(&(&b.flow, &b.strokes)));
        let seen = self.seen();
        let purposes: BTreeSet<_> = self.coverage.values().flat_map(|flow| flow.landed.keys()).collect();
        let reasons: BTreeSet<_> =
            seen.conditions.keys().filter_map(|said| Some(said.split_once(' ')?.1)).collect();
        self.never = Never {
            purposes: Purpose::ALL.iter().filter(|purpose| !purposes.contains(purpose)).copied().collect(),
            reasons: missing(Reason::ALL.iter().map(|reason| reason.as_str()), |name| reasons.contains(name)),
            branches: missing(StepError::BRANCHES.iter().copied(), |name| seen.branches.contains_key(name)),
            failures: missing(Failure::BRANCHES.iter().copied(), |name| seen.failures.contains_key(name)),
        };
        self
    }

    /// What the operator said, in all flows together.
    pub fn seen(&self) -> Seen {
        let mut all = Seen::default();
        self.coverage.values().for_each(|coverage| all.add(&coverage.seen));
        all
    }
}

fn missing(
    all: impl Iterator<Item = &'static str>,
    there: impl Fn(&'static str) -> bool,
) -> Vec<&'static str> {
    all.filter(|name| !there(name)).collect()
}
