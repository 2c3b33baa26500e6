//! Which points are tried: single faults, pairs of faults, or some of them.

use std::collections::{BTreeMap, BTreeSet};

use rand::RngExt;

use super::flow::Flow;
use crate::seed::Seed;
use crate::strike::{Blow, Counted, Stroke};

/// The recorded requests of flows.
pub type Requests = BTreeMap<Flow, Vec<Counted>>;

/// A flow and the faults in it.
pub type Strokes = (Flow, Vec<Stroke>);

/// How many requests after a delicate one are near it: the second fault of a pair falls on one of them.
pub const NEAR: usize = 3;

/// Which points are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Every request meets every fault, every so many points.
    Singles {
        /// 1: all of them.
        stride: usize,
    },
    /// Two faults in a row.
    Pairs {
        /// Every so many of those whose first request is delicate (it is about a finalizer, the record, the anchor or
        /// its namespace) and whose second is one of the [`NEAR`] that follow.
        stride: usize,
        /// How many of all others.
        sample: usize,
        /// Where those are drawn from.
        seed: Seed,
    },
}

impl Choice {
    /// The points, given what the flows request.
    pub fn points(&self, requests: &Requests) -> Vec<Strokes> {
        match *self {
            Self::Singles { stride } => {
                let all = singles(requests).map(|(flow, stroke)| (flow, vec![stroke]));
                all.step_by(stride.max(1)).collect()
            }
            Self::Pairs { stride, sample, seed } => {
                let near = near_pairs(requests).step_by(stride.max(1));
                near.chain(sampled_pairs(requests, sample, seed)).collect()
            }
        }
    }
}

/// Each request with each fault that fits it.
fn singles(requests: &Requests) -> impl Iterator<Item = (Flow, Stroke)> {
    requests.iter().flat_map(|(flow, requests)| {
        requests.iter().enumerate().flat_map(move |(after, request)| {
            let fits = |blow: &Blow| blow.fits(&request.site, &request.method, &request.path);
            Blow::ALL.into_iter().filter(fits).map(move |blow| (*flow, Stroke { after, blow }))
        })
    })
}

fn is_delicate(requests: &Requests, flow: Flow, stroke: Stroke) -> bool {
    requests[&flow].get(stroke.after).is_some_and(|request| request.purpose.is_delicate())
}

/// Each delicate request with each fault, and each fault at the requests that follow.
fn near_pairs(requests: &Requests) -> impl Iterator<Item = Strokes> {
    let delicate = singles(requests).filter(|(flow, stroke)| is_delicate(requests, *flow, *stroke));
    delicate.flat_map(|(flow, first)| {
        (0..NEAR).flat_map(move |after| {
            Blow::ALL.into_iter().map(move |blow| (flow, vec![first, Stroke { after, blow }]))
        })
    })
}

/// Other pairs, none twice.
fn sampled_pairs(requests: &Requests, sample: usize, seed: Seed) -> BTreeSet<Strokes> {
    let firsts: Vec<_> = singles(requests).collect();
    let mut draw = seed.child("pairs");
    let mut pairs = BTreeSet::new();
    // What is drawn twice does not count; few are, unless there are hardly any.
    for _ in 0..sample.saturating_mul(4) {
        if pairs.len() >= sample || firsts.is_empty() {
            break;
        }
        let (flow, first) = firsts[draw.random_range(0..firsts.len())];
        let delicate = is_delicate(requests, flow, first);
        let from = if delicate { NEAR } else { 0 };
        let after = from + draw.random_range(0..requests[&flow].len());
        let blow = Blow::ALL[draw.random_range(0..Blow::ALL.len())];
        pairs.insert((flow, vec![first, Stroke { after, blow }]));
    }
    pairs
}
