//! ClusterRoles whose rules are those of other ClusterRoles, chosen by label
//! (`pkg/controller/clusterroleaggregation` of Kubernetes).

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Controller, Wish, Write};
use crate::selector::LabelSelector;
use crate::state::State;
use crate::storage::Event;

const ROLES: &str = "clusterroles.rbac.authorization.k8s.io";

/// Whether any ClusterRole changed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Aggregator {
    dirty: bool,
}

impl Controller for Aggregator {
    fn manager(&self) -> &'static str {
        "clusterrole-aggregation-controller"
    }

    fn observe(&mut self, _state: &State, event: &Event, _now: Timestamp) {
        self.dirty |= &*event.resource == ROLES;
    }

    fn decide(&mut self, state: &State, _now: Timestamp) -> Wish {
        let mut wish = Wish::default();
        if !std::mem::take(&mut self.dirty) {
            return wish;
        }
        let roles = state.storage.objects(ROLES);
        for (key, stored) in &roles {
            let Some(selectors) = stored.value["aggregationRule"]["clusterRoleSelectors"].as_array() else {
                continue;
            };
            let selectors: Vec<_> = selectors.iter().map(LabelSelector::from_object).collect();
            let mut rules: Vec<Value> = Vec::new();
            for (other, chosen) in &roles {
                let matches = selectors.iter().any(|selector| selector.matches(&chosen.metadata()["labels"]));
                if other == key || !matches {
                    continue;
                }
                for rule in chosen.value["rules"].as_array().into_iter().flatten() {
                    if !rules.contains(rule) {
                        rules.push(rule.clone());
                    }
                }
            }
            let rules = if rules.is_empty() { Value::Null } else { json!(rules) };
            if stored.value["rules"] != rules {
                let mut object = (*stored.value).clone();
                object["rules"] = rules;
                let item = (ROLES.into(), key.clone());
                wish.writes.push(Write::Update { item, subresource: "", revision: stored.revision, object });
            }
        }
        wish
    }
}
