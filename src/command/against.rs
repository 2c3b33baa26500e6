//! `plan --against`: what a plan would change on a live cluster. Sends reads and dry runs, nothing that writes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use futures::StreamExt;
use serde_json::{Map, Value};

use super::CommandError;
use super::diff::{Changed, Diff, Field, fields};
use crate::api::Component;
use crate::api::message::chain;
use crate::apply::anchor::GROUP_KINDS;
use crate::manifest::{Object, ObjectKey};
use crate::plan::{self, Facts, Owner, PART_OF_LABEL, Plan, apply_set_id, target_namespace};
use crate::process::hub::{self, HubArgs};
use crate::target::cluster::{Cluster, ClusterError, Detail, Failure};
use crate::target::resolve::Limits;
use crate::target::stack;

/// Dry runs at a time.
const IN_FLIGHT: usize = 16;

/// Members of metadata that the server writes by itself.
const SERVER_SIDE: [&str; 4] = ["managedFields", "resourceVersion", "generation", "creationTimestamp"];

/// The cluster that a kubeconfig leads to.
pub(super) async fn connect(kubeconfig: &Path) -> Result<Cluster, CommandError> {
    let args = HubArgs { kubeconfig: Some(kubeconfig.to_owned()), ..HubArgs::default() };
    let config = hub::config(args).await.map_err(CommandError::Configuration)?;
    let server = config.cluster_url.to_string();
    let transport = hub::transport(&config).map_err(CommandError::Connect)?;
    let client = stack::client(transport, None, Limits::default().request);
    Ok(Cluster::new(server.trim_end_matches('/'), client))
}

/// The live object that owns what the resource installs: its anchor, or the resource itself.
pub(super) async fn live_owner(
    cluster: &Cluster,
    component: &Component,
) -> Result<Option<Object>, CommandError> {
    let namespace = target_namespace(component);
    let (api_version, kind, name) = match component.is_remote() {
        true => ("v1", "ConfigMap", plan::anchor_name(component.kind, component.name())),
        false => (component.kind.api_version(), component.kind.kind(), component.name().to_owned()),
    };
    match cluster.resource(api_version, kind).await {
        Ok(resource) => cluster.get(&resource, namespace, &name).await.map_err(CommandError::Cluster),
        Err(error) if matches!(error.failure, Failure::NoMatch { .. }) => Ok(None),
        Err(error) => Err(CommandError::Cluster(error)),
    }
}

/// The facts of a cluster for a resource whose owner there is known.
pub(super) fn facts(cluster: &Cluster, component: &Component, owner: Owner, minimum: Option<&str>) -> Facts {
    let namespace = target_namespace(component);
    Facts {
        namespace: namespace.into(),
        apply_set: Some(apply_set_id(&owner.group_kind(), namespace, &owner.name)),
        owner: Some(owner),
        namespaced: cluster.mapping().scopes(),
        kubernetes_min_version: minimum.map(Into::into),
        ..Facts::default()
    }
}

/// Compares the plan with what is on the cluster.
pub(super) async fn differences(
    cluster: &Cluster,
    plan: &Plan,
    facts: &Facts,
    owner: Option<&Object>,
) -> Result<Diff, CommandError> {
    let mut diff = Diff::default();
    let steps: Vec<_> = plan.objects().map(|object| difference(cluster, object)).collect();
    let mut steps = futures::stream::iter(steps).buffered(IN_FLIGHT);
    while let Some((key, found)) = steps.next().await {
        match found.map_err(CommandError::Cluster)? {
            Found::Absent => diff.added.push(key.to_string()),
            Found::Refused(why) => diff.refused.push(format!("{key}: {why}")),
            Found::There(fields) if fields.is_empty() => diff.unchanged += 1,
            Found::There(fields) => diff.changed.push(Changed { object: key.to_string(), fields }),
        }
    }
    diff.removed = obsolete(cluster, plan, facts, owner).await.map_err(CommandError::Cluster)?;
    diff.added.sort();
    diff.refused.sort();
    diff.changed.sort_by(|a, b| a.object.cmp(&b.object));
    Ok(diff)
}

/// What is on the cluster in place of a desired object.
enum Found {
    Absent,
    There(Vec<Field>),
    Refused(String),
}

async fn difference(cluster: &Cluster, object: &Object) -> (ObjectKey, Result<Found, ClusterError>) {
    let key = object.key();
    let found = async {
        let resource = match cluster.resource(object.api_version(), object.kind()).await {
            Ok(resource) => resource,
            // Its definition comes with the plan.
            Err(error) if matches!(error.failure, Failure::NoMatch { .. }) => return Ok(Found::Absent),
            Err(error) => return Err(error),
        };
        let Some(live) = cluster.get(&resource, object.namespace(), object.name()).await? else {
            return Ok(Found::Absent);
        };
        match cluster.dry_run(&without_status(object)).await {
            Ok(applied) => Ok(Found::There(fields(&own_part(&live), &own_part(&applied)))),
            Err(error) if error.failure.is_rejection() => Ok(Found::Refused(chain(&error))),
            Err(error) => Err(error),
        }
    };
    (key, found.await)
}

/// `status` is not the operator's to write.
fn without_status(object: &Object) -> Object {
    changed(object, |members| {
        members.remove("status");
    })
}

/// Without what others write: `status`, and what the server keeps in metadata.
fn own_part(object: &Object) -> Object {
    changed(&without_status(object), |members| {
        if let Some(metadata) = members.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.retain(|name, _| !SERVER_SIDE.contains(&name.as_str()));
        }
    })
}

fn changed(object: &Object, change: impl FnOnce(&mut Map<String, Value>)) -> Object {
    let mut value = object.value().clone();
    if let Some(members) = value.as_object_mut() {
        change(members);
    }
    Object::try_from(value).unwrap_or_else(|_| object.clone())
}

/// Members of the set that the plan does not hold any more. Which kinds to look for is told by the set's parent.
async fn obsolete(
    cluster: &Cluster,
    plan: &Plan,
    facts: &Facts,
    owner: Option<&Object>,
) -> Result<Vec<String>, ClusterError> {
    let Some(kinds) = owner.and_then(|owner| owner.annotation(GROUP_KINDS)) else { return Ok(Vec::new()) };
    let wanted: BTreeSet<ObjectKey> = plan.objects().map(Object::key).collect();
    let selector = format!("{PART_OF_LABEL}={}", facts.apply_set.as_deref().unwrap_or_default());
    let groups = cluster.read("/apis").await?;
    let preferred: BTreeMap<&str, &str> = groups["groups"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|group| {
            Some((group["name"].as_str()?, group["preferredVersion"]["groupVersion"].as_str()?))
        })
        .collect();
    let mut obsolete = Vec::new();
    for kind in kinds.split(',').filter(|kind| !kind.is_empty()) {
        let (kind, group) = kind.split_once('.').unwrap_or((kind, ""));
        let Some(api_version) = (if group.is_empty() { Some(&"v1") } else { preferred.get(group) }) else {
            continue;
        };
        let resource = match cluster.resource(api_version, kind).await {
            Ok(resource) => resource,
            Err(error) if matches!(error.failure, Failure::NoMatch { .. }) => continue,
            Err(error) => return Err(error),
        };
        let members = cluster.list(&resource, &selector, Detail::Metadata).await?;
        obsolete.extend(members.iter().map(Object::key).filter(|key| !wanted.contains(key)));
    }
    obsolete.sort();
    Ok(obsolete.iter().map(ToString::to_string).collect())
}
