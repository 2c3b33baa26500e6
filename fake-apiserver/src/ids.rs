//! Everything random in a cluster: UIDs, generated name suffixes, tokens. One seeded generator, so that the
//! same seed and the same requests give the same answers.

use rand::rngs::SysRng;
use rand::{Rng, SeedableRng, TryRng};
use rand_chacha::ChaCha8Rng;

/// The letters and digits of generated names (`k8s.io/apimachinery/pkg/util/rand`): no vowels, no look-alikes.
const SUFFIX_ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";

/// Source of identities of one cluster.
#[derive(Clone, Debug)]
pub(crate) struct Ids {
    rng: ChaCha8Rng,
}

impl Ids {
    /// Identities that follow from `seed`; from the operating system's entropy without one, so that two
    /// servers never share a UID.
    pub(crate) fn new(seed: Option<u64>) -> Self {
        let rng = match seed {
            Some(seed) => ChaCha8Rng::seed_from_u64(seed),
            None => {
                let mut bytes = [0; 32];
                SysRng.try_fill_bytes(&mut bytes).expect("the operating system provides entropy");
                ChaCha8Rng::from_seed(bytes)
            }
        };
        Self { rng }
    }

    /// A random (version 4) UUID.
    pub(crate) fn uid(&mut self) -> String {
        let mut b = [0; 16];
        self.rng.fill_bytes(&mut b);
        b[6] = (b[6] & 0x0f) | 0x40;
        b[8] = (b[8] & 0x3f) | 0x80;
        let hex = |bytes: &[u8]| bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"));
        format!("{}-{}-{}-{}-{}", hex(&b[..4]), hex(&b[4..6]), hex(&b[6..8]), hex(&b[8..10]), hex(&b[10..]))
    }

    /// `base` with a random suffix, as `metadata.generateName` asks for; the base is cut so that the whole has
    /// at most 63 characters.
    pub(crate) fn name_from(&mut self, base: &str) -> String {
        let kept: String = base.chars().take(58).collect();
        kept + &self.suffix(5)
    }

    /// `length` random characters.
    pub(crate) fn suffix(&mut self, length: usize) -> String {
        (0..length)
            .map(|_| char::from(SUFFIX_ALPHABET[self.rng.next_u32() as usize % SUFFIX_ALPHABET.len()]))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_identities() {
        let (mut a, mut b) = (Ids::new(Some(7)), Ids::new(Some(7)));
        assert_eq!(a.uid(), b.uid());
        assert_eq!(a.name_from("x-"), b.name_from("x-"));
    }

    #[test]
    fn servers_without_a_seed_share_no_uid() {
        assert_ne!(Ids::new(None).uid(), Ids::new(None).uid());
    }

    #[test]
    fn a_uid_is_a_version_4_uuid() {
        let uid = Ids::new(Some(1)).uid();
        assert_eq!(uid.len(), 36);
        assert_eq!(uid.as_bytes()[14], b'4');
        assert!(b"89ab".contains(&uid.as_bytes()[19]));
    }
}
