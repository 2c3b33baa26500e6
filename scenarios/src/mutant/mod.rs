//! Wrong operators: what the suite is worth is how many of them it catches.
//!
//! Each is the real operator with somebody on its wires ([`Meddler`]) who drops, changes, adds or repeats requests, or
//! lies about answers. It counts as caught when an oracle alarms in the script of some seed in which the right
//! operator alarms none; a panic or a hanging world does not count.
//!
//! # One of your own
//! A [`Mutant`] is a value: a name, a family, a sentence and a function that makes a fresh [`Meddler`]. Nothing has to be
//! registered; [`hunt`] takes any. `scenarios/examples/mutant.rs` is a whole one.
//!
//! - A request arrives at [`Meddler::outgoing`] as a [`Letter`](crate::wire::Letter): who sends it (`replica`), where to (`address`, `https://hub` or
//!   `https://NAME`), method, path and headers (`parts`) and `body`. What is returned goes out instead, in that order; the operator
//!   gets the answer to the first. Nothing returned: the operator is told that it succeeded.
//! - An answer that is no watch arrives at [`Meddler::incoming`] as JSON, whatever was asked: a `Status` is one too.
//!   Its code cannot be changed, its content can.
//! - State lives in the meddler, behind a lock: one serves all replicas of one world, and each world has its own.

mod claims;
mod credentials;
mod deletion;
mod drift;
mod leaders;
mod load;
mod manners;
mod ownership;
mod phases;
mod plain;
mod policy;
mod records;
mod removal;
mod secrets;
mod strangers;
mod target;
mod versions;

use std::ops::Range;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use serde::Serialize;

use crate::search::play::play;
use crate::search::reference::References;
use crate::search::script::Script;
use crate::seed::Seed;
use crate::wire::Meddler;

/// A wrong operator.
#[derive(Clone, Copy)]
pub struct Mutant {
    /// Its name.
    pub name: &'static str,
    /// What kind of wrong it is.
    pub family: &'static str,
    /// What it does.
    pub what: &'static str,
    /// A fresh one, for one world.
    pub make: fn() -> Arc<dyn Meddler>,
}

/// Whether a mutant was caught.
#[derive(Clone, Debug, Serialize)]
pub struct Verdict {
    /// Its name.
    pub name: &'static str,
    /// Its family.
    pub family: &'static str,
    /// What it does.
    pub what: &'static str,
    /// The oracle that caught it.
    pub oracle: Option<&'static str>,
    /// Seeds that were needed.
    pub seeds: u64,
    /// What the oracle saw, or why nothing counted.
    pub text: String,
}

/// All of them.
pub fn all() -> Vec<Mutant> {
    [
        ownership::MUTANTS,
        records::MUTANTS,
        removal::MUTANTS,
        strangers::MUTANTS,
        target::MUTANTS,
        claims::MUTANTS,
        load::MUTANTS,
        credentials::MUTANTS,
        leaders::MUTANTS,
        deletion::MUTANTS,
        versions::MUTANTS,
        drift::MUTANTS,
        phases::MUTANTS,
        manners::MUTANTS,
        secrets::MUTANTS,
        policy::MUTANTS,
    ]
    .concat()
}

/// Plays the scripts of seeds with a mutant until an oracle alarms.
pub fn hunt(mutant: &Mutant, seeds: Range<u64>, steps: usize, references: &References) -> Verdict {
    let Mutant { name, family, what, make } = *mutant;
    let verdict = |oracle, seeds, text| Verdict { name, family, what, oracle, seeds, text };
    let first = seeds.start;
    for seed in seeds.clone() {
        let script = Script::of(Seed(seed), steps);
        let world = AssertUnwindSafe(|| play(&script, references, Some(make())));
        let outcome = std::panic::catch_unwind(world);
        let Ok(outcome) = outcome else {
            return verdict(None, seed - first + 1, "the world panicked".into());
        };
        if let Some(violation) = outcome.verdict
            && play(&script, references, None).verdict.is_none()
        {
            return verdict(Some(violation.oracle), seed - first + 1, violation.to_string());
        }
    }
    verdict(None, seeds.end - first, "no oracle alarmed".into())
}

#[cfg(test)]
mod tests;
