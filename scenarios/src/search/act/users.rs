//! What users do: to custom resources, and beside them.

use std::time::Duration;

use serde_json::{Value, json};

use super::role_of;
use crate::oracle::member::key_of;
use crate::search::cast::{ROLES, Shape, VARIANTS, VERSIONS};
use crate::search::kind::Kind;
use crate::search::script::Step;
use crate::search::stage::Stage;
use crate::story::id;

impl Stage {
    pub(super) async fn act_as_user(&mut self, step: &Step) -> bool {
        let role = role_of(self, step);
        let shape =
            Shape { version: (step.amount / VARIANTS) as usize % VERSIONS.len(), variant: step.amount };
        match step.kind {
            Kind::Create => self.create(role, shape),
            Kind::Edit => self.reshape(role, |shape| Shape { variant: step.amount, ..shape }),
            Kind::Upgrade => self.reshape(role, |shape| Shape { version: shape.version + 1, ..shape }),
            Kind::Delete => self.delete(role),
            Kind::Recreate => self.recreate(role, shape),
            Kind::Orphan => self.orphan(role),
            Kind::Pause => self.annotate(role, "operator.knative.dev/paused", "true"),
            Kind::Resume => self.annotate(role, "operator.knative.dev/paused", "false"),
            Kind::Retarget => self.refer(role, "b"),
            Kind::Return => self.refer(role, ROLES[role].spoke.unwrap_or_default()),
            Kind::Foreign => self.put_stranger(role, step),
            Kind::Wait => {
                self.pass(Duration::from_secs(30 + u64::from(step.amount % 600))).await;
                true
            }
            _ => false,
        }
    }

    /// Whether the custom resource of a role is on its way out.
    pub(super) fn is_deleting(&self, role: usize) -> bool {
        let component = self.world.component(ROLES[role].id).unwrap_or_default();
        component["metadata"]["deletionTimestamp"].is_string()
    }

    fn reshape(&mut self, role: usize, change: impl FnOnce(Shape) -> Shape) -> bool {
        let Some(shape) = self.shapes.get(&role).copied().filter(|_| self.exists(role)) else { return false };
        let shape = change(shape);
        let mut spec = ROLES[role].spec(shape);
        let done = self.edit(role, |object| {
            // Whoever made it refer elsewhere keeps that.
            spec["clusterProfileRef"] = object["spec"]["clusterProfileRef"].clone();
            if spec["clusterProfileRef"].is_null()
                && let Some(spec) = spec.as_object_mut()
            {
                spec.remove("clusterProfileRef");
            }
            object["spec"] = spec;
        });
        if done {
            self.shapes.insert(role, shape);
        }
        done
    }

    fn delete(&mut self, role: usize) -> bool {
        if !self.exists(role) || self.is_deleting(role) {
            return false;
        }
        self.touch(ROLES[role].site());
        self.world.delete(&self.world.hub, id(ROLES[role].id));
        true
    }

    fn recreate(&mut self, role: usize, shape: Shape) -> bool {
        let done = self.delete(role);
        if done {
            self.returning.insert(role, shape);
        }
        done
    }

    fn orphan(&mut self, role: usize) -> bool {
        if !self.exists(role) || !self.annotate(role, "operator.knative.dev/deletion-policy", "orphan") {
            return false;
        }
        self.abandon(role);
        self.delete(role);
        true
    }

    fn annotate(&mut self, role: usize, key: &str, value: &str) -> bool {
        self.exists(role) && self.edit(role, |object| object["metadata"]["annotations"][key] = json!(value))
    }

    /// The definition may refuse this; a user tries anyway.
    fn refer(&mut self, role: usize, spoke: &str) -> bool {
        if !self.exists(role) || ROLES[role].spoke.is_none() {
            return false;
        }
        self.edit(role, |object| object["spec"]["clusterProfileRef"]["name"] = json!(spoke));
        true
    }

    /// A ConfigMap in the namespace of an installation, or a cluster-wide role beside it.
    fn put_stranger(&mut self, role: usize, step: &Step) -> bool {
        let site = self.site(ROLES[role].site());
        let namespace = ROLES[role].id.1;
        let there = site.server.get("", "Namespace", "", namespace);
        // Nobody can look into a namespace and delete it in one step, so nobody moves into one that is going.
        if self.is_deleting(role) {
            return false;
        }
        let usable = there.is_some_and(|namespace| !namespace["metadata"]["deletionTimestamp"].is_string());
        self.strangers += 1;
        let name = format!("stranger-{}", self.strangers);
        let object = match step.amount % 2 {
            0 if usable => json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"whose": "ours"},
                                  "metadata": {"name": name, "namespace": namespace}}),
            _ => json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "rules": [],
                        "metadata": {"name": name, "labels": {"whose": "ours"}}}),
        };
        match site.server.create(object) {
            Ok(stored) => {
                let key = key_of(&stored);
                let key = (key.kind.group, key.kind.kind, key.namespace, key.name);
                self.facts.protect(&site.name, key, Value::clone(&stored));
                true
            }
            // A webhook of an installation that is not ready refuses it.
            Err(_) => false,
        }
    }
}
