//! A wrong operator that is in no list, and the hunt for it.
//!
//! ```text
//! cargo run --release -p scenarios --example mutant
//! ```

use std::sync::Arc;

use scenarios::mutant::{Mutant, hunt};
use scenarios::search::reference::References;
use scenarios::wire::{Letter, Meddler};

/// Scales every Deployment that it applies down to nothing.
struct Miser;

impl Meddler for Miser {
    fn outgoing(&self, mut letter: Letter) -> Vec<Letter> {
        if letter.info().resource == "deployments" && letter.is_write() {
            let mut deployment = letter.json();
            deployment["spec"]["replicas"] = 0.into();
            letter.set_json(&deployment);
        }
        vec![letter]
    }
}

fn main() -> Result<(), String> {
    let mutant = Mutant {
        name: "miser",
        family: "examples",
        what: "runs nothing of what it installs",
        make: || Arc::new(Miser),
    };
    let verdict = hunt(&mutant, 0..20, 24, &References::default());
    let oracle = verdict.oracle.ok_or("nobody noticed")?;
    #[expect(clippy::print_stdout, reason = "it is an example")]
    {
        println!("caught by {oracle} with seed {}: {}", verdict.seeds - 1, verdict.text);
    }
    Ok(())
}
