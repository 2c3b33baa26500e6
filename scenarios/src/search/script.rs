//! A script: what happens in a search, step by step, all of it drawn from a seed.
//!
//! Swarm testing: each seed switches every family of faults off with even odds and weighs what is left wildly, because
//! a world in which everything happens at once hides what two things alone would show. A step is meaningful in any
//! world, so that leaving others out (to shrink a script) leaves it what it was.

use std::collections::BTreeMap;
use std::fmt;

use rand::RngExt;
use serde::{Deserialize, Serialize};

use super::kind::{Family, Kind};
use crate::seed::Seed;

/// Steps in a script unless somebody says otherwise.
pub const STEPS: usize = 24;

/// Something that happens, after a pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// Its place in the script of its seed.
    pub number: usize,
    /// Time that passes before.
    pub pause_millis: u64,
    /// What.
    pub kind: Kind,
    /// To whom: an index into whatever it is about.
    pub whom: u32,
    /// How much, or which one.
    pub amount: u32,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.pause_millis as f64 / 1000.0;
        let Self { number, kind, whom, amount, .. } = self;
        write!(f, "{number:>3}. after {seconds:>7.1} s {} ({kind:?} {whom} {amount})", kind.text())
    }
}

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Script {
    /// The seed of the world it is played in.
    pub seed: u64,
    /// What happens.
    pub steps: Vec<Step>,
}

impl Script {
    /// The script of a seed.
    pub fn of(seed: Seed, length: usize) -> Self {
        let mut swarm = seed.child("swarm");
        let on: BTreeMap<Family, bool> =
            Family::FAULTS.iter().map(|family| (*family, swarm.random_bool(0.5))).collect();
        let weights: Vec<(Kind, u32)> = Kind::ALL
            .iter()
            .map(|kind| {
                let wild = kind.weight() << swarm.random_range(0..4);
                let on = on.get(&kind.family()).copied().unwrap_or(true);
                (*kind, if on { wild } else { 0 })
            })
            .collect();
        let total: u32 = weights.iter().map(|(_, weight)| weight).sum();
        let mut draw = seed.child("script");
        let first = Step { number: 0, pause_millis: 0, kind: Kind::Create, whom: 0, amount: draw.random() };
        let rest = (1..length).map(|number| {
            let mut left = draw.random_range(0..total);
            let kind = weights.iter().find(|(_, weight)| {
                let here = left < *weight;
                left = left.saturating_sub(*weight);
                here
            });
            // Short and long pauses alike: from milliseconds, amid a pass, to a minute.
            let pause_millis = 1 << draw.random_range(3..17);
            let kind = kind.map_or(Kind::Wait, |(kind, _)| *kind);
            Step { number, pause_millis, kind, whom: draw.random(), amount: draw.random() }
        });
        Self { seed: seed.0, steps: std::iter::once(first).chain(rest).collect() }
    }

    /// The script with these steps only.
    pub fn only(&self, keep: &[usize]) -> Self {
        let steps = self.steps.iter().filter(|step| keep.contains(&step.number)).copied().collect();
        Self { seed: self.seed, steps }
    }

    /// The numbers of its steps, `0,3,7`.
    pub fn numbers(&self) -> String {
        let numbers: Vec<_> = self.steps.iter().map(|step| step.number.to_string()).collect();
        numbers.join(",")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_always_has_the_same_script_and_others_have_others() {
        assert_eq!(Script::of(Seed(1), 20), Script::of(Seed(1), 20));
        assert_ne!(Script::of(Seed(1), 20).steps, Script::of(Seed(2), 20).steps);
    }

    #[test]
    fn a_longer_script_begins_like_the_shorter_one() {
        assert_eq!(Script::of(Seed(3), 30).steps[..10], Script::of(Seed(3), 10).steps);
    }

    #[test]
    fn every_kind_is_drawn_by_some_seed_and_every_family_is_off_in_some() {
        let scripts: Vec<_> = (0..300).map(|seed| Script::of(Seed(seed), STEPS)).collect();
        for kind in Kind::ALL {
            let drawn = |script: &Script| script.steps.iter().any(|step| step.kind == *kind);
            assert!(scripts.iter().any(drawn), "{kind:?} is never drawn");
        }
    }
}
