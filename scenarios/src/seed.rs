//! One seed, and generators with names drawn from it.
//!
//! A child generator depends on the seed and its name alone, so that drawing more from one never shifts another.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use sha2::{Digest, Sha256};

/// The seed of a world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seed(pub u64);

impl Seed {
    /// The generator of this name.
    pub fn child(self, name: &str) -> ChaCha8Rng {
        ChaCha8Rng::from_seed(self.digest(name))
    }

    /// A seed of this name, for what takes a number.
    pub fn number(self, name: &str) -> u64 {
        let digest = self.digest(name);
        u64::from_le_bytes(std::array::from_fn(|i| digest[i]))
    }

    fn digest(self, name: &str) -> [u8; 32] {
        Sha256::new().chain_update(self.0.to_le_bytes()).chain_update(name).finalize().into()
    }
}

#[cfg(test)]
mod tests {
    use rand::RngExt;

    use super::*;

    #[test]
    fn children_are_told_apart_by_name_and_seed_and_nothing_else() {
        let draw = |seed: u64, name: &str| Seed(seed).child(name).random::<u64>();
        assert_eq!(draw(1, "network"), draw(1, "network"));
        assert_ne!(draw(1, "network"), draw(1, "faults"));
        assert_ne!(draw(1, "network"), draw(2, "network"));
    }
}
