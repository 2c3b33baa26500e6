//! APIServices: those that some Service should serve are never available, as nothing is behind them here; local
//! ones always are.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::{Controller, Wish, Write, set_condition};
use crate::clock::rfc3339;
use crate::state::State;
use crate::storage::{Event, ObjectKey};

const SERVICES: &str = "apiservices.apiregistration.k8s.io";

/// The APIServices to look at.
#[derive(Clone, Debug, Default)]
pub(crate) struct Availability {
    dirty: BTreeSet<ObjectKey>,
}

impl Controller for Availability {
    fn manager(&self) -> &'static str {
        "kube-apiserver"
    }

    fn observe(&mut self, _state: &State, event: &Event, _now: Timestamp) {
        if &*event.resource == SERVICES && !event.deleted {
            self.dirty.insert(event.key.clone());
        }
    }

    fn decide(&mut self, state: &State, now: Timestamp) -> Wish {
        let mut wish = Wish::default();
        for key in std::mem::take(&mut self.dirty) {
            let Some(stored) = state.storage.get(SERVICES, &key) else { continue };
            let service = &stored.value["spec"]["service"];
            let mut object = (*stored.value).clone();
            let status = &mut object["status"];
            if service.is_null() {
                let message = "Local APIServices are always available";
                set_condition(status, "Available", true, "Local", message, &rfc3339(now));
            } else {
                let part = |field: &str| service[field].as_str().unwrap_or_default();
                let message =
                    format!("service/{} in \"{}\" is not reachable", part("name"), part("namespace"));
                set_condition(status, "Available", false, "FailedDiscoveryCheck", &message, &rfc3339(now));
            }
            if object["status"] != stored.value["status"] {
                let item = (SERVICES.into(), key);
                wish.writes.push(Write::Update {
                    item,
                    subresource: "status",
                    revision: stored.revision,
                    object,
                });
            }
        }
        wish
    }
}
