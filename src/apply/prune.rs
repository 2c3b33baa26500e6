//! Deletes members that are not wanted any more, once what replaces them has rolled out.

use std::collections::BTreeMap;

use super::namespace::{self, Release};
use super::observe::Observed;
use super::shape::was_written_by_us;
use crate::manifest::{Object, ObjectKey};
use crate::target::cluster::{Cluster, ClusterError, Failure, Propagation};

/// What is still there after a prune, each with why if the cluster refused to delete it.
pub type Left = Vec<(ObjectKey, Option<ClusterError>)>;

/// Deletes the `obsolete` objects (each with the version to ask in): namespaces after all others, only if they were
/// created for `created_for`, and only if nothing but obsolete objects is in them.
///
/// # Errors
/// The first failure that concerns the cluster rather than one object.
pub async fn prune(
    cluster: &Cluster,
    obsolete: &BTreeMap<ObjectKey, String>,
    created_for: &str,
    observed: &Observed,
) -> Result<Left, ClusterError> {
    let is_namespace = |key: &ObjectKey| key.kind.group.is_empty() && key.kind.kind == "Namespace";
    let (namespaces, others): (Vec<_>, Vec<_>) =
        obsolete.iter().rev().partition(|(key, _)| is_namespace(key));
    let mut left = Left::new();
    for (key, api_version) in others {
        let Some(live) = find(cluster, key, api_version, observed).await? else { continue };
        let resource = cluster.resource(api_version, &key.kind.kind).await?;
        let deleted = cluster.delete(&resource, key, live.uid(), Propagation::Background).await;
        left.extend(still(key, deleted.map(|()| Release::Draining))?);
    }
    let ours = |key: &ObjectKey| obsolete.contains_key(key);
    for (key, api_version) in namespaces {
        let Some(live) = find(cluster, key, api_version, observed).await? else { continue };
        left.extend(still(key, namespace::release(cluster, &live, created_for, &ours).await)?);
    }
    Ok(left)
}

fn still(
    key: &ObjectKey,
    outcome: Result<Release, ClusterError>,
) -> Result<Option<(ObjectKey, Option<ClusterError>)>, ClusterError> {
    match outcome {
        Ok(Release::Released) => Ok(None),
        Ok(Release::Draining) => Ok(Some((key.clone(), None))),
        Err(error) if error.failure.is_rejection() => Ok(Some((key.clone(), Some(error)))),
        Err(error) => Err(error),
    }
}

/// The live object, if it is ours.
async fn find(
    cluster: &Cluster,
    key: &ObjectKey,
    api_version: &str,
    observed: &Observed,
) -> Result<Option<Object>, ClusterError> {
    if let Some(live) = observed.objects.get(key) {
        return Ok(Some(live.clone()));
    }
    let resource = match cluster.resource(api_version, &key.kind.kind).await {
        Ok(resource) => resource,
        Err(error) if matches!(error.failure, Failure::NoMatch { .. }) => return Ok(None),
        Err(error) => return Err(error),
    };
    // Somebody may have taken our label off.
    Ok(cluster.get(&resource, &key.namespace, &key.name).await?.filter(was_written_by_us))
}
