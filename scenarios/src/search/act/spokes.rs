//! What happens on the spokes themselves, by hand and otherwise.

use std::sync::Arc;
use std::time::Duration;

use fake_apiserver::Readiness;
use fake_apiserver::fault::{Action, Match, Rule};
use knative_operator::api::ComponentKind;
use knative_operator::apply::anchor;
use knative_operator::plan::{ID_LABEL, anchor_name};
use serde_json::{Value, json};

use super::{role_of, spoke_of};
use crate::network::Site;
use crate::oracle::member::{key_of, set_of};
use crate::search::cast::{ROLES, TROUBLED};
use crate::search::kind::Kind;
use crate::search::script::Step;
use crate::search::stage::{HOLD, Stage, authority, set_of_role};
use crate::world::address;

impl Stage {
    pub(super) fn disturb_spokes(&mut self, step: &Step) -> bool {
        let spoke = spoke_of(step);
        let site = self.site(spoke);
        self.touch(spoke);
        match step.kind {
            Kind::DeleteAnchor => return self.delete_anchor(role_of(self, step)),
            Kind::ForeignAnchor => return self.claim_anchor(role_of(self, step)),
            Kind::DeleteNamespace => return self.delete_namespace(role_of(self, step)),
            Kind::EditObject => return self.with_member(&site, step, spoil),
            Kind::Hold => {
                return self.with_member(&site, step, |object| {
                    let finalizers = object["metadata"]["finalizers"].as_array().cloned();
                    let mut finalizers = finalizers.unwrap_or_default();
                    finalizers.push(json!(HOLD));
                    object["metadata"]["finalizers"] = json!(finalizers);
                });
            }
            Kind::Unhold => return TROUBLED.iter().any(|spoke| self.take_off_holds(&self.site(spoke))),
            Kind::DeleteObject => {
                let Some(object) = pick(&site, step) else { return false };
                let key = key_of(&object);
                let id = (&*key.kind.group, &*key.kind.kind, &*key.namespace, &*key.name);
                if key.kind.kind == "Namespace" {
                    // Everything in it goes, by the same hand.
                    self.facts.release(spoke, &key.name);
                }
                self.world.delete(&site, id);
            }
            Kind::GcPause => site.server.pause_gc(),
            Kind::GcResume => site.server.resume_gc(),
            Kind::Stuck => self.set_readiness(&site, Readiness::Never),
            Kind::Flap => self.set_readiness(&site, Readiness::Flapping(Duration::from_secs(20))),
            Kind::Steady => self.set_readiness(&site, Readiness::After(self.world.options().rollout)),
            Kind::Replace => self.replace(spoke),
            Kind::UpgradeSpoke => self.upgrade(&site, step),
            _ => return false,
        }
        true
    }

    fn set_readiness(&self, site: &Site, readiness: Readiness) {
        // A Job that has run stays run, so only Deployments change their minds.
        let steady = matches!(readiness, Readiness::After(_));
        site.server.workloads().script("*", readiness);
        self.facts.set_unruly(&site.name, "workloads", !steady);
    }

    /// Puts an anchor of another hub where the one of a role would be, if the place is free.
    fn claim_anchor(&mut self, role: usize) -> bool {
        let actor = &ROLES[role];
        let Some(spoke) = actor.spoke.filter(|spoke| TROUBLED.contains(spoke)) else { return false };
        let site = self.site(spoke);
        let namespace = site.server.get("", "Namespace", "", actor.id.1);
        let going = namespace.is_some_and(|namespace| namespace["metadata"]["deletionTimestamp"].is_string());
        // Nobody can look into a namespace and delete it in one step, so nobody moves into one that is going.
        if going || self.is_deleting(role) {
            return false;
        }
        // The place may be in a namespace that is not there yet; from then on it is the other hub's.
        let made = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": actor.id.1}});
        let anchor = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {
            "name": anchor_of(role), "namespace": actor.id.1,
            "labels": {ID_LABEL: set_of_role(role)},
            "annotations": {anchor::HUB: "another-hub", anchor::CR: "elsewhere/serving", anchor::CR_UID: "another"},
        }});
        if site.server.create(made).is_ok() {
            let key = format!("Namespace. /{}", actor.id.1);
            self.before.entry(site.name.clone()).or_default().insert(key);
        }
        let Ok(stored) = site.server.create(anchor) else { return false };
        let key = key_of(&stored);
        let key = (key.kind.group, key.kind.kind, key.namespace, key.name);
        self.facts.protect(&site.name, key.clone(), Value::clone(&stored));
        self.claimed.insert((site.name.clone(), key));
        true
    }

    /// The other hub goes, and takes its anchors along.
    pub(in crate::search) fn withdraw_claims(&mut self) {
        for (spoke, key) in std::mem::take(&mut self.claimed) {
            // Somebody may have deleted it, and another one may be there.
            if self.facts.unprotect(&spoke, &key) {
                let (group, kind, namespace, name) = &key;
                self.world.delete(&self.site(&spoke), (group, kind, namespace, name));
            }
        }
    }

    fn delete_anchor(&self, role: usize) -> bool {
        let actor = &ROLES[role];
        let Some(spoke) = actor.spoke.filter(|spoke| TROUBLED.contains(spoke)) else { return false };
        let site = self.site(spoke);
        let name = anchor_of(role);
        let key = (String::new(), "ConfigMap".to_owned(), actor.id.1.to_owned(), name.clone());
        self.facts.unprotect(spoke, &key);
        let there = site.server.get("", "ConfigMap", actor.id.1, &name).is_some();
        self.touch(spoke);
        self.world.delete(&site, ("", "ConfigMap", actor.id.1, &name));
        there
    }

    fn delete_namespace(&self, role: usize) -> bool {
        let actor = &ROLES[role];
        let Some(spoke) = actor.spoke.filter(|spoke| TROUBLED.contains(spoke)) else { return false };
        let site = self.site(spoke);
        let there = site.server.get("", "Namespace", "", actor.id.1).is_some();
        self.touch(spoke);
        self.facts.release(spoke, actor.id.1);
        self.world.delete(&site, ("", "Namespace", "", actor.id.1));
        there
    }

    fn with_member(&self, site: &Site, step: &Step, change: impl FnOnce(&mut Value)) -> bool {
        let Some(object) = pick(site, step) else { return false };
        let key = key_of(&object);
        self.change(site, (&key.kind.group, &key.kind.kind, &key.namespace, &key.name), change)
    }

    /// The API server restarts with another version: connections break, requests are refused for a while, and its
    /// watch cache begins anew.
    fn upgrade(&mut self, site: &Site, step: &Step) {
        site.server.set_kubernetes(&format!("v1.{}.0", 33 + step.amount % 5));
        site.link.drop_connections();
        site.server.compact();
        let times = 1 + u64::from(step.amount % 20);
        let when = Match::any().times(times);
        let rule = site.link.add(Rule { when, then: Action::status(503, "ServiceUnavailable") });
        self.pending.push((site.clone(), rule, times));
    }

    /// A fresh cluster under the same name; what was on the old one is gone with it.
    fn replace(&mut self, spoke: &'static str) {
        let site = self.world.attach_spoke(spoke);
        self.facts.release(spoke, "");
        for gone in ["cut", "workloads"] {
            self.facts.set_unruly(spoke, gone, false);
        }
        if let Some(lead) = self.leads.get(spoke) {
            self.world.network.set_authority(&address(spoke), &authority(spoke, lead.authority));
        }
        self.note_beginning(&site);
    }
}

/// Name of the anchor of a role.
fn anchor_of(role: usize) -> String {
    let actor = &ROLES[role];
    let kind = if actor.id.0 == "KnativeServing" { ComponentKind::Serving } else { ComponentKind::Eventing };
    anchor_name(kind, actor.id.2)
}

/// An installed object, definitions left out.
fn pick(site: &Site, step: &Step) -> Option<Arc<Value>> {
    let snapshot = site.server.snapshot();
    let members: Vec<_> = snapshot
        .objects()
        .filter(|object| set_of(object.value).is_some())
        .filter(|object| !object.resource.starts_with("customresourcedefinitions."))
        .map(|object| object.value.clone())
        .collect();
    let index = (step.amount as usize).checked_rem(members.len())?;
    members.get(index).cloned()
}

/// Changes something that the operator cares for.
fn spoil(object: &mut Value) {
    match object["kind"].as_str().unwrap_or_default() {
        "Deployment" => {
            object["spec"]["template"]["spec"]["containers"][0]["image"] = json!("example.org/evil")
        }
        "Service" => object["spec"]["selector"] = json!({"app": "edited-by-hand"}),
        "ConfigMap" => {
            let keys = object["data"].as_object().map(|data| data.keys().cloned().collect::<Vec<_>>());
            match keys.unwrap_or_default().first() {
                Some(key) => object["data"][key] = json!("edited: by-hand"),
                None => unlabel(object),
            }
        }
        "ClusterRole" | "Role" if object["aggregationRule"].is_null() => object["rules"] = json!([]),
        _ => unlabel(object),
    }
}

fn unlabel(object: &mut Value) {
    object["metadata"]["labels"] = json!({});
}
