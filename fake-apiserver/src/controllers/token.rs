//! Secrets that hold a token of a ServiceAccount: filled in when they appear, gone when the account goes
//! (`pkg/controller/serviceaccount/tokens_controller.go` of Kubernetes).

use std::collections::BTreeSet;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::serviceaccount::NO_CERTIFICATE;
use super::{Controller, Wish, Write, split_key};
use crate::state::State;
use crate::storage::{Event, ObjectKey, Stored, object_key};

const SECRETS: &str = "secrets";
const TYPE: &str = "kubernetes.io/service-account-token";
const ACCOUNT: &str = "kubernetes.io/service-account.name";
const ACCOUNT_UID: &str = "kubernetes.io/service-account.uid";

/// The token Secrets, and those to look at.
#[derive(Clone, Debug, Default)]
pub(crate) struct TokenSecrets {
    known: BTreeSet<ObjectKey>,
    dirty: BTreeSet<ObjectKey>,
}

impl Controller for TokenSecrets {
    fn manager(&self) -> &'static str {
        "kube-controller-manager"
    }

    fn observe(&mut self, _state: &State, event: &Event, _now: Timestamp) {
        match &*event.resource {
            SECRETS if event.deleted => drop(self.known.remove(&event.key)),
            SECRETS if event.current.value["type"] == TYPE => {
                self.known.insert(event.key.clone());
                self.dirty.insert(event.key.clone());
            }
            "serviceaccounts" => {
                let namespace = split_key(&event.key).0;
                self.dirty.extend(self.known.iter().filter(|key| split_key(key).0 == namespace).cloned());
            }
            _ => {}
        }
    }

    fn decide(&mut self, state: &State, _now: Timestamp) -> Wish {
        let mut wish = Wish::default();
        for key in std::mem::take(&mut self.dirty) {
            if let Some(stored) = state.storage.get(SECRETS, &key) {
                wish.writes.extend(attend(state, &key, stored));
            }
        }
        wish
    }
}

fn attend(state: &State, key: &ObjectKey, stored: &Stored) -> Option<Write> {
    let namespace = split_key(key).0;
    let annotations = &stored.metadata()["annotations"];
    let name = annotations[ACCOUNT].as_str()?;
    let item = (SECRETS.into(), key.clone());
    let account = state.storage.get("serviceaccounts", &object_key(namespace, name));
    let account =
        account.filter(|account| annotations[ACCOUNT_UID].as_str().is_none_or(|uid| uid == account.uid()));
    let Some(account) = account else {
        return Some(Write::Delete { item, uid: stored.uid().to_owned(), propagation: None });
    };
    let complete =
        ["ca.crt", "namespace", "token"].iter().all(|entry| stored.value["data"][*entry].is_string());
    if complete && annotations[ACCOUNT_UID].is_string() {
        return None;
    }
    let mut object = (*stored.value).clone();
    object["metadata"]["annotations"][ACCOUNT_UID] = json!(account.uid());
    let token = format!("fake.{}.{}", account.uid(), stored.uid());
    for (entry, text) in [("ca.crt", NO_CERTIFICATE), ("namespace", namespace), ("token", &token)] {
        object["data"][entry] = json!(STANDARD.encode(text));
    }
    Some(Write::Update { item, subresource: "", revision: stored.revision, object })
}

/// The token in a Secret, with the namespace and name of the account it stands for.
pub(crate) fn token_of(secret: &Value) -> Option<(String, &str, &str)> {
    let metadata = &secret["metadata"];
    let name = metadata["annotations"][ACCOUNT].as_str().filter(|_| secret["type"] == TYPE)?;
    let token = STANDARD.decode(secret["data"]["token"].as_str()?).ok()?;
    Some((String::from_utf8(token).ok()?, metadata["namespace"].as_str()?, name))
}
