//! What a custom resource asks for, as ordered phases of desired objects.
//!
//! [`plan`] is pure: everything it needs comes in as arguments, and the same arguments give the same plan.

mod anchor;
mod apply_set;
mod kubernetes;
mod order;
mod owner;
mod reads;
mod scope;
mod unknown;

use std::collections::BTreeMap;

use order::Collected;
use serde::Serialize;

use crate::api::{Component, ConfigName};
use crate::manifest::{GroupKind, Object, ObjectKey, Release};
use crate::transform::{self, Context, TransformError};

pub use anchor::{anchor_name, label_value};
pub use apply_set::{ID_LABEL, PART_OF_LABEL, apply_set_id};
pub use kubernetes::{MINIMUM_KUBERNETES, UnsupportedKubernetes, check_kubernetes};
pub use owner::{TARGET_NAMESPACE, target_namespace};
pub use reads::pingsource_adapter;
pub use scope::Scopes;

/// What is known about the target cluster and the owner of the objects.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    /// Who owns namespaced objects.
    pub owner: Option<Owner>,
    /// Namespace that namespaced objects go to.
    pub namespace: String,
    /// Value of the label `applyset.kubernetes.io/part-of` on every object; none: no label.
    pub apply_set: Option<String>,
    /// Scopes read from the target's discovery (`true`: namespaced). A kind that is not listed here falls back to
    /// the definitions in the manifest, then to the built-in table.
    pub namespaced: BTreeMap<GroupKind, bool>,
    /// `KUBERNETES_MIN_VERSION` of the operator's environment, handed on to the workloads when set.
    pub kubernetes_min_version: Option<String>,
    /// The live Deployment `pingsource-mt-adapter`, when there is one.
    pub pingsource_adapter: Option<Object>,
}

/// The controller reference on every namespaced object (except those outside the owner's namespace).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// `apiVersion` of the owner.
    pub api_version: String,
    /// Kind of the owner.
    pub kind: String,
    /// Name of the owner.
    pub name: String,
    /// UID of the owner, read in this reconcile.
    pub uid: String,
}

/// Ordered phases of desired objects; each identity appears once.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    /// Resolved release, for instance `1.23.0`.
    pub target_version: String,
    /// In the order they are applied.
    pub phases: Vec<Phase>,
    /// What the resource asks for without effect: names in overrides that matched nothing, for instance
    /// `spec.config: config-foo`, and images that `spec.registry` does not reach.
    #[serde(skip)]
    pub unknown_names: Vec<String>,
}

/// Objects that may be applied concurrently once the phases before are through.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Phase {
    /// Which phase it is.
    pub name: PhaseName,
    /// In the order of the manifest. Some have a `status`, as typed clients send it; whoever compares with live objects
    /// leaves that out, as the API server does in an apply.
    pub objects: Vec<Object>,
}

/// The install phases, in order (`RBAC` first because operands need it when they start).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum PhaseName {
    /// Roles and ClusterRoles.
    Roles,
    /// RoleBindings and ClusterRoleBindings.
    Bindings,
    /// Webhook configurations.
    WebhookConfigurations,
    /// Namespaces and CustomResourceDefinitions: others need them.
    Definitions,
    /// Everything else.
    Resources,
    /// Custom resources that a fail-closed webhook of the same release must admit; wait for that webhook.
    WebhookDependents,
}

impl PhaseName {
    /// The name in the output of `plan`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Roles => "roles",
            Self::Bindings => "bindings",
            Self::WebhookConfigurations => "webhookConfigurations",
            Self::Definitions => "definitions",
            Self::Resources => "resources",
            Self::WebhookDependents => "webhookDependents",
        }
    }
}

impl Plan {
    /// All objects, in the order of the phases.
    pub fn objects(&self) -> impl Iterator<Item = &Object> {
        self.phases.iter().flat_map(|phase| &phase.objects)
    }
}

/// Why there is no plan.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// `spec.config` says two things about one ConfigMap.
    #[error(
        "spec.config has different entries under \"{short}\" and \"{full}\", which name the same ConfigMap"
    )]
    Contradiction {
        /// Name without `config-`.
        short: String,
        /// Name with `config-`.
        full: String,
    },
    /// An object cannot be made what the resource asks for.
    #[error("cannot prepare {key}")]
    Transform {
        /// The object, as released.
        key: ObjectKey,
        /// Why.
        #[source]
        cause: Box<TransformError>,
    },
    /// An object has no name, so it could not be found again.
    #[error("an object of kind {kind} has no name")]
    Unnamed {
        /// Its kind.
        kind: GroupKind,
    },
}

/// The desired objects of a resource, in the phases they are applied.
///
/// # Errors
/// [`PlanError`]: the first thing that is wrong; nothing may be applied then.
pub fn plan(component: &Component, release: &Release, facts: &Facts) -> Result<Plan, PlanError> {
    if let Some(ConfigName { short, full }) = transform::contradiction(component) {
        return Err(PlanError::Contradiction { short, full });
    }
    let scopes = Scopes::new(release, facts);
    let context = Context { component, facts, target_version: &release.target_version, scopes: &scopes };
    let mut collected = Collected::default();
    for part in &release.parts {
        for released in part.objects.iter() {
            if transform::is_unwanted(component, part.role, released) {
                continue;
            }
            let mut object = released.clone();
            for step in transform::steps(component.kind) {
                step(&context, &mut object)
                    .map_err(|cause| PlanError::Transform { key: released.key(), cause: Box::new(cause) })?;
            }
            if object.name().is_empty() {
                return Err(PlanError::Unnamed { kind: object.group_kind() });
            }
            collected.add(part.role, object);
        }
    }
    let unknown_names = unknown::without_effect(component, collected.objects());
    Ok(Plan {
        target_version: release.target_version.clone(),
        phases: collected.into_phases(),
        unknown_names,
    })
}

#[cfg(test)]
mod tests;
