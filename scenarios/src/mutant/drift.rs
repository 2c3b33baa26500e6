//! Operators that do not see what others do to their objects.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};

use super::Mutant;
use crate::wire::{Letter, Meddler};
use crate::world::HUB;

pub(super) const MUTANTS: &[Mutant] = &[
    Mutant {
        name: "blind-to-edits",
        family: "drift",
        what: "sees each Service and ConfigMap on a spoke as it was the first time",
        make: || {
            Arc::new(Remembers { kinds: &["services", "configmaps"], changes: true, ..Remembers::default() })
        },
    },
    Mutant {
        name: "missing-is-there",
        family: "drift",
        what: "takes a Deployment that is gone for rolled out",
        make: || Arc::new(Remembers { kinds: &["deployments"], losses: true, ..Remembers::default() }),
    },
];

/// Lists objects of some kinds as they were.
#[derive(Default)]
struct Remembers {
    kinds: &'static [&'static str],
    /// Whether it misses changes.
    changes: bool,
    /// Whether it misses deletions.
    losses: bool,
    /// By address and path.
    known: Mutex<BTreeMap<(String, String), Items>>,
}

/// Objects by namespace and name.
type Items = BTreeMap<(String, String), Value>;

impl Meddler for Remembers {
    fn incoming(&self, letter: &Letter, answer: &mut Value) {
        let info = letter.info();
        let items = answer["items"].as_array_mut();
        let concerns = letter.address != HUB && self.kinds.contains(&info.resource.as_str());
        let Some(items) = items.filter(|_| concerns) else { return };
        let mut known = self.known.lock();
        let known = known.entry((letter.address.clone(), letter.path())).or_default();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        for item in items.iter_mut() {
            let key = (text(&item["metadata"]["namespace"]), text(&item["metadata"]["name"]));
            let first = known.entry(key).or_insert_with(|| item.clone());
            if self.changes && first["metadata"]["uid"] == item["metadata"]["uid"] {
                *item = first.clone();
            } else {
                *first = item.clone();
            }
        }
        if self.losses {
            *items = known.values().cloned().collect();
            items.iter_mut().for_each(|item| item["metadata"]["deletionTimestamp"] = json!(null));
        }
    }
}
