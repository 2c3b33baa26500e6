//! Makes a failing script short: leaves out what is not needed for the same oracle to alarm (delta debugging).

use super::play::play;
use super::reference::References;
use super::script::{Script, Step};

/// Plays that shrinking may take.
const PLAYS_MAX: usize = 120;

/// A script with as few steps as possible for which the same oracle alarms.
pub fn shrink(script: &Script, oracle: &str, references: &References) -> Script {
    let mut plays = 0;
    let fails = |steps: &[Step]| {
        let shorter = Script { seed: script.seed, steps: steps.to_vec() };
        play(&shorter, references, None).verdict.is_some_and(|verdict| verdict.oracle == oracle)
    };
    let steps = minimise(&script.steps, |steps| {
        plays += 1;
        plays <= PLAYS_MAX && fails(steps)
    });
    Script { seed: script.seed, steps }
}

/// The smallest part of a list that `fails`, as far as leaving out ever smaller chunks finds one.
fn minimise<T: Clone>(whole: &[T], mut fails: impl FnMut(&[T]) -> bool) -> Vec<T> {
    let mut best = whole.to_vec();
    let mut chunk = best.len().div_ceil(2);
    while chunk > 0 && !best.is_empty() {
        let mut start = 0;
        let mut shorter = false;
        while start < best.len() {
            let end = (start + chunk).min(best.len());
            let rest: Vec<T> = best[..start].iter().chain(&best[end..]).cloned().collect();
            if fails(&rest) {
                best = rest;
                shorter = true;
            } else {
                start = end;
            }
        }
        if !shorter || chunk > best.len() {
            chunk /= 2;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_needed_stays_and_everything_else_goes() {
        let whole: Vec<u32> = (0..40).collect();
        let needs = |steps: &[u32]| [3, 17, 31].iter().all(|needed| steps.contains(needed));
        assert_eq!(minimise(&whole, needs), [3, 17, 31]);
    }

    #[test]
    fn what_fails_without_anything_shrinks_to_nothing() {
        assert_eq!(minimise(&[1, 2, 3], |_| true), [0; 0]);
    }
}
