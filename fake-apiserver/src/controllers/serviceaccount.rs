//! What every namespace is furnished with: ServiceAccount `default` and the certificate authority's ConfigMap.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::json;

use super::{Controller, Wish, Write, split_key};
use crate::state::State;
use crate::storage::{Event, object_key};

/// The ConfigMap that carries the cluster's certificate authority.
const ROOT_CA: &str = "kube-root-ca.crt";

/// Stands for the certificate authority of a server that has none.
pub(crate) const NO_CERTIFICATE: &str = "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n";

/// The namespaces to look at.
#[derive(Clone, Debug, Default)]
pub(crate) struct Furnisher {
    dirty: BTreeSet<String>,
}

impl Controller for Furnisher {
    fn manager(&self) -> &'static str {
        "kube-controller-manager"
    }

    fn observe(&mut self, _state: &State, event: &Event, _now: Timestamp) {
        let (namespace, name) = split_key(&event.key);
        match (&*event.resource, name) {
            ("namespaces", _) if !event.deleted => drop(self.dirty.insert(name.to_owned())),
            ("serviceaccounts", "default") | ("configmaps", ROOT_CA) => {
                self.dirty.insert(namespace.to_owned());
            }
            _ => {}
        }
    }

    fn decide(&mut self, state: &State, _now: Timestamp) -> Wish {
        let mut wish = Wish::default();
        for namespace in std::mem::take(&mut self.dirty) {
            let Some(found) = state.storage.get("namespaces", &namespace) else { continue };
            if !found.metadata()["deletionTimestamp"].is_null() {
                continue;
            }
            let mut ensure = |resource: &'static str, name: &str, object: serde_json::Value| {
                if state.storage.get(resource, &object_key(&namespace, name)).is_none() {
                    wish.writes.push(Write::Create { resource, namespace: namespace.clone(), object });
                }
            };
            ensure("serviceaccounts", "default", json!({ "metadata": { "name": "default" } }));
            let description = "Contains a CA bundle that can be used to verify the kube-apiserver when using \
                internal endpoints such as the internal service IP or kubernetes.default.svc. No other usage is \
                guaranteed across distributions of Kubernetes clusters.";
            ensure(
                "configmaps",
                ROOT_CA,
                json!({
                    "metadata": { "name": ROOT_CA, "annotations": { "kubernetes.io/description": description } },
                    "data": { "ca.crt": NO_CERTIFICATE },
                }),
            );
        }
        wish
    }
}
