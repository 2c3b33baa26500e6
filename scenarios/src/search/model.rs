//! The reference model: what must be there when everything has come to rest, told from what users asked for alone.
//!
//! Each custom resource that still exists is installed on its own cluster, exactly as in a world in which nothing ever
//! happened, and says so. Of one that was deleted nothing is left but definitions. Nothing else is on any cluster that
//! was not there before.

use std::collections::{BTreeMap, BTreeSet};

use knative_operator::manifest::ObjectKey;
use serde_json::Value;

use super::cast::{ROLES, SPARE};
use super::reference::{References, installed};
use super::stage::{Stage, set_of_role};
use crate::oracle::member::{anchored_set, key_of, set_of};
use crate::story::inventory;

/// Objects as the installations that share them want them.
type Wanted<'a> = BTreeMap<&'a ObjectKey, Vec<&'a Value>>;

/// The first difference between a stage and what must be there; `None` when there is none.
pub fn difference(stage: &Stage, references: &References) -> Option<String> {
    let installed_roles = match roles(stage) {
        Ok(roles) => roles,
        Err(text) => return Some(text),
    };
    let sites = stage.world.network.sites();
    sites.values().filter(|site| site.name != SPARE).find_map(|site| {
        let here = installed_roles.iter().filter(|role| ROLES[**role].site() == site.name);
        let here = here.map(|role| Some(references.get(*role, *stage.shapes.get(role)?)));
        let here = here.collect::<Option<Vec<_>>>()?;
        let mut wanted: Wanted<'_> = BTreeMap::new();
        for (key, object) in here.iter().flat_map(|reference| &reference.objects) {
            wanted.entry(key).or_default().push(object);
        }
        let live = installed(&site.server.snapshot());
        missing_or_wrong(&wanted, &live, &site.name).or_else(|| left_over(stage, site, &wanted))
    })
}

/// The roles that are installed, if each of them says what it must.
fn roles(stage: &Stage) -> Result<BTreeSet<usize>, String> {
    let mut installed = BTreeSet::new();
    for (index, role) in ROLES.iter().enumerate() {
        let Some(component) = stage.world.component(role.id) else { continue };
        if component["metadata"]["deletionTimestamp"].is_string() {
            return Err(format!("{:?} is still being deleted: {}", role.id, conditions(&component)));
        }
        let version = stage.shapes.get(&index).map(|shape| shape.version()).unwrap_or_default();
        if !stage.world.is_ready(role.id, version) {
            return Err(format!("{:?} is not Ready with {version}: {}", role.id, conditions(&component)));
        }
        installed.insert(index);
    }
    Ok(installed)
}

fn conditions(component: &Value) -> String {
    let conditions = component["status"]["conditions"].as_array();
    let text = |c: &Value| match c["status"].as_str() {
        Some("True") => None,
        status => Some(format!(
            "{}={} {} {}",
            c["type"].as_str().unwrap_or_default(),
            status.unwrap_or_default(),
            c["reason"].as_str().unwrap_or_default(),
            c["message"].as_str().unwrap_or_default()
        )),
    };
    conditions.into_iter().flatten().filter_map(text).collect::<Vec<_>>().join("; ")
}

fn missing_or_wrong(wanted: &Wanted<'_>, live: &BTreeMap<ObjectKey, Value>, site: &str) -> Option<String> {
    wanted.iter().find_map(|(key, likes)| match live.get(key) {
        None => Some(format!("{key} is missing on {site}")),
        // What two installations share is as one of them wants it.
        Some(live) if likes.contains(&live) => None,
        Some(live) => {
            let wanted = likes.first()?;
            Some(format!("{key} on {site} is not as it should be: {}", first_difference("", wanted, live)))
        }
    })
}

/// Where two objects differ first.
fn first_difference(path: &str, wanted: &Value, live: &Value) -> String {
    if let (Some(a), Some(b)) = (wanted.as_object(), live.as_object()) {
        let keys: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
        let different = keys.into_iter().find(|key| a.get(*key) != b.get(*key));
        if let Some(key) = different {
            return first_difference(&format!("{path}.{key}"), &wanted[key], &live[key]);
        }
    }
    format!("{path} is {live}, wanted {wanted}")
}

/// What is on a cluster, and was not before, and nobody wants.
fn left_over(stage: &Stage, site: &crate::network::Site, wanted: &Wanted<'_>) -> Option<String> {
    let before = stage.before.get(&site.name)?;
    let now = inventory(site);
    let strangers: BTreeSet<String> = stage
        .facts
        .foreign_on(&site.name)
        .into_iter()
        .map(|((group, kind, namespace, name), _)| format!("{kind}.{group} {namespace}/{name}"))
        .collect();
    let unknown: BTreeSet<&String> =
        now.keys().filter(|key| !before.contains(*key) && !strangers.contains(*key)).collect();
    if unknown.is_empty() {
        return None;
    }
    let snapshot = site.server.snapshot();
    let left: Vec<String> = snapshot
        .objects()
        .filter(|object| {
            let key = key_of(object.value);
            let named = format!("{}.{} {}/{}", key.kind.kind, key.kind.group, key.namespace, key.name);
            unknown.contains(&named)
                && !wanted.contains_key(&key)
                && !belongs(stage, site, &key, object.value, wanted)
        })
        .map(|object| key_of(object.value).to_string())
        .collect();
    let first = left.first()?;
    Some(format!("{} objects are left on {}, {first} among them", left.len(), site.name))
}

/// Definitions and their objects stay; so does what users said may stay, the namespace of an installation and of a
/// stranger, and what controllers made of something that is wanted.
fn belongs(
    stage: &Stage,
    site: &crate::network::Site,
    key: &ObjectKey,
    object: &Value,
    wanted: &Wanted<'_>,
) -> bool {
    let kind = key.kind.kind.as_str();
    if stage.tolerated.contains(&(site.name.clone(), key.clone())) {
        return true;
    }
    if kind == "CustomResourceDefinition" || key.kind.group.ends_with("knative.dev") {
        return true;
    }
    let namespace = if kind == "Namespace" { &key.name } else { &key.namespace };
    let lived_in = |namespace: &str| {
        wanted.keys().any(|key| key.namespace == namespace)
            || stage.facts.foreign_on(&site.name).iter().any(|(key, _)| key.2 == namespace)
    };
    if kind == "Namespace" && lived_in(namespace) {
        return true;
    }
    let made_of_wanted = kind == "Job" && lived_in(namespace) || owned(object) && lived_in(namespace);
    let abandoned = stage.abandoned.iter().any(|role| {
        let actor = &ROLES[*role];
        let set = set_of(object).or(anchored_set(object));
        let of_role = set.is_some_and(|set| set == set_of_role(*role));
        actor.site() == site.name && (of_role || namespace == actor.id.1)
    });
    made_of_wanted || abandoned
}

fn owned(object: &Value) -> bool {
    let owners = object["metadata"]["ownerReferences"].as_array();
    owners.into_iter().flatten().any(|owner| {
        matches!(owner["kind"].as_str(), Some("Deployment" | "ReplicaSet" | "Job" | "StatefulSet"))
    })
}
