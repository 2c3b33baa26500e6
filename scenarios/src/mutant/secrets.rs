//! Operators that do not keep a secret.

use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::json;

use super::Mutant;
use super::claims::with_status;
use crate::wire::{Letter, Meddler};
use crate::world::HUB;

pub(super) const MUTANTS: &[Mutant] = &[
    Mutant {
        name: "token-in-status",
        family: "secrets",
        what: "quotes a spoke's token in a condition",
        make: || Arc::new(Tells { place: Place::Status, ..Tells::default() }),
    },
    Mutant {
        name: "token-in-object",
        family: "secrets",
        what: "notes a spoke's token on the objects that it applies",
        make: || Arc::new(Tells { place: Place::Object, ..Tells::default() }),
    },
];

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Place {
    #[default]
    Status,
    Object,
}

#[derive(Default)]
struct Tells {
    place: Place,
    last: Mutex<String>,
}

impl Meddler for Tells {
    fn outgoing(&self, mut letter: Letter) -> Vec<Letter> {
        let mut last = self.last.lock();
        if letter.address != HUB && !letter.token().is_empty() {
            *last = letter.token().to_owned();
        }
        if last.is_empty() {
            return vec![letter];
        }
        match self.place {
            Place::Status => with_status(letter, |status| {
                for condition in status["conditions"].as_array_mut().into_iter().flatten() {
                    condition["message"] = json!(format!("connected with {last}"));
                }
            }),
            Place::Object => {
                if letter.address != HUB
                    && letter.info().verb == "patch"
                    && letter.info().resource == "services"
                {
                    let mut body = letter.json();
                    body["metadata"]["annotations"]["token"] = json!(*last);
                    letter.set_json(&body);
                }
                vec![letter]
            }
        }
    }
}
