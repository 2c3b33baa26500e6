//! Hot loops: trouble is met with patience.
//!
//! A pass over a custom resource begins with one read of it. In any minute there are few of those for one resource,
//! and the requests to one cluster are bounded, whatever happens.

use std::collections::{BTreeMap, VecDeque};

use super::view::GROUP;
use super::{Oracle, Scene};
use crate::wire::Letter;

const WINDOW_MILLIS: u64 = 60_000;
/// Passes over one resource in a minute.
const PASSES_MAX: usize = 90;
/// Requests to one cluster in a minute.
const REQUESTS_MAX: usize = 6_000;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct HotLoop {
    passes: BTreeMap<String, VecDeque<u64>>,
    requests: BTreeMap<String, VecDeque<u64>>,
}

impl Oracle for HotLoop {
    fn name(&self) -> &'static str {
        "hot-loop"
    }

    fn sent(&mut self, letter: &Letter, scene: &Scene<'_>) -> Option<String> {
        let info = letter.info();
        let all = count(&mut self.requests, &letter.address, scene.now);
        if all > REQUESTS_MAX {
            return Some(format!("{all} requests to {} in a minute", letter.address));
        }
        if info.verb != "get" || info.group != GROUP || info.name.is_empty() {
            return None;
        }
        let passes = count(&mut self.passes, &info.path, scene.now);
        (passes > PASSES_MAX).then(|| format!("{passes} passes over {} in a minute", info.path))
    }
}

/// Adds one at `now`; how many there are in the window.
fn count(times: &mut BTreeMap<String, VecDeque<u64>>, of: &str, now: u64) -> usize {
    if !times.contains_key(of) {
        times.insert(of.into(), VecDeque::new());
    }
    let Some(times) = times.get_mut(of) else { return 0 };
    times.push_back(now);
    while times.front().is_some_and(|first| now - first > WINDOW_MILLIS) {
        times.pop_front();
    }
    times.len()
}
