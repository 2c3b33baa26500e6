//! What is on the cluster: one list per kind, metadata only wherever that is enough.

use std::collections::{BTreeMap, BTreeSet};

use futures::StreamExt;

use super::install::Memory;
use super::ready::is_workload;
use crate::manifest::{GroupKind, Object, ObjectKey};
use crate::target::cluster::{Cluster, ClusterError, Detail, Failure};

/// Lists at a time.
const LISTS_IN_FLIGHT: usize = 8;

/// Live members of one set.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    /// By identity. Objects of kinds that were listed by metadata have no body.
    pub objects: BTreeMap<ObjectKey, Object>,
    /// Kinds the cluster does not serve.
    pub unknown_kinds: BTreeSet<GroupKind>,
    /// Kinds that may not be listed, with the cluster's words. Nothing may be written of them: it could not be told
    /// what is there.
    pub forbidden_kinds: BTreeMap<GroupKind, String>,
}

/// Lists every kind of `kinds` (with the version to ask in) by the label selector. Workloads come with their bodies,
/// because their status counts; others only if `memory` does not know one of them.
///
/// # Errors
/// The first request that failed for another reason than an unknown or forbidden kind.
pub async fn observe(
    cluster: &Cluster,
    kinds: &BTreeMap<GroupKind, String>,
    selector: &str,
    memory: &Memory,
) -> Result<Observed, ClusterError> {
    let lists = kinds.iter().map(|(kind, api_version)| async move {
        (kind.clone(), list_kind(cluster, kind, api_version, selector, memory).await)
    });
    let mut observed = Observed::default();
    let mut lists = futures::stream::iter(lists.collect::<Vec<_>>()).buffered(LISTS_IN_FLIGHT);
    while let Some(list) = lists.next().await {
        match list {
            (kind, Ok(None)) => drop(observed.unknown_kinds.insert(kind)),
            (_, Ok(Some(objects))) => observed.objects.extend(objects.into_iter().map(|o| (o.key(), o))),
            (kind, Err(error)) if error.failure.is_forbidden() => {
                observed.forbidden_kinds.insert(kind, format!("cannot be listed: {}", error.failure));
            }
            (_, Err(error)) => return Err(error),
        }
    }
    Ok(observed)
}

async fn list_kind(
    cluster: &Cluster,
    kind: &GroupKind,
    api_version: &str,
    selector: &str,
    memory: &Memory,
) -> Result<Option<Vec<Object>>, ClusterError> {
    let resource = match cluster.resource(api_version, &kind.kind).await {
        Ok(resource) => resource,
        Err(error) if matches!(error.failure, Failure::NoMatch { .. }) => return Ok(None),
        Err(error) => return Err(error),
    };
    if is_workload(&kind.group, &kind.kind) {
        return cluster.list(&resource, selector, Detail::Full).await.map(Some);
    }
    let objects = cluster.list(&resource, selector, Detail::Metadata).await?;
    if objects.iter().all(|object| memory.knows(object)) {
        return Ok(Some(objects));
    }
    cluster.list(&resource, selector, Detail::Full).await.map(Some)
}
