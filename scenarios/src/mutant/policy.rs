//! Operators that take the user's word for more than it says, or for less.

use serde_json::json;

use super::versions::is_component;
use super::{Mutant, plain};

pub(super) const MUTANTS: &[Mutant] = &[
    Mutant {
        name: "orphans-always",
        family: "policy",
        what: "leaves the objects of every deleted resource",
        make: || {
            plain::incoming(|letter, answer| {
                if is_component(letter, answer) {
                    answer["metadata"]["annotations"]["operator.knative.dev/deletion-policy"] =
                        json!("orphan");
                }
            })
        },
    },
    Mutant {
        name: "deaf-to-orphan",
        family: "policy",
        what: "removes the objects that a user said to leave, or waits for them for ever",
        make: || {
            plain::incoming(|letter, answer| {
                if is_component(letter, answer)
                    && let Some(annotations) = answer["metadata"]["annotations"].as_object_mut()
                {
                    annotations.remove("operator.knative.dev/deletion-policy");
                }
            })
        },
    },
];
