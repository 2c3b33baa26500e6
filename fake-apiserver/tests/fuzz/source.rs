//! Where the inputs of one iteration come from, and what has been done with them.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Longest part of an input that is printed, in characters.
const SHOWN: usize = 20_000;

/// Choices that follow from a seed, and the story so far.
pub(crate) struct Source {
    rng: ChaCha8Rng,
    notes: Vec<String>,
}

impl Source {
    pub(crate) fn new(seed: u64) -> Self {
        Self { rng: ChaCha8Rng::seed_from_u64(seed), notes: Vec::new() }
    }

    /// A number below `bound`, which is not 0.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.rng.next_u64() % bound as u64).unwrap()
    }

    /// True once in `times`.
    pub(crate) fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// One of some.
    pub(crate) fn pick<T: Copy>(&mut self, some: &[T]) -> T {
        some[self.below(some.len())]
    }

    /// Any 64 bits.
    pub(crate) fn bits(&mut self) -> u64 {
        self.rng.next_u64()
    }

    /// Remembers what is done next, for the report of a failure.
    pub(crate) fn note(&mut self, text: &str) {
        let shown: String = text.chars().take(SHOWN).collect();
        self.notes.push(if shown.len() < text.len() {
            format!("{shown} … ({} bytes)", text.len())
        } else {
            shown
        });
    }

    /// Everything that was done.
    pub(crate) fn story(&self) -> String {
        self.notes.join("\n")
    }
}
