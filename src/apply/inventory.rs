//! What is installed for one custom resource, as identities.
//!
//! Pure. The inventory is written before the objects it names, so that nothing that was ever applied can be
//! forgotten, and pruning and uninstalling work from it alone. It is kept in `status.annotations` of the custom
//! resource; on a spoke the anchor repeats its kinds and namespaces in the form of the ApplySet specification
//! (KEP-3659).

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::manifest::{GroupKind, ObjectKey};

/// Format written by this version. A reader refuses a higher one: it cannot know what it would lose.
const FORMAT: u32 = 1;

/// Identities of everything that was, or is about to be, applied.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inventory {
    /// Each object with the `apiVersion` it was last applied in.
    pub objects: BTreeMap<ObjectKey, String>,
    /// Jobs by `namespace/name`.
    pub jobs: BTreeMap<String, JobRecord>,
}

/// What is known of a Job that was created: Jobs are run once for each content and never again, not even when their
/// time to live has removed them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobRecord {
    /// Digest of the desired Job.
    pub content: String,
    /// Whether it has run to its end.
    pub finished: bool,
}

/// Why a stored inventory cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum InventoryError {
    /// Not what was written.
    #[error("the inventory in status.annotations is damaged")]
    Damaged(#[source] serde_json::Error),
    /// Written by a newer operator.
    #[error(
        "the inventory in status.annotations has format {0}, this operator knows up to {FORMAT}; run a newer operator"
    )]
    TooNew(u32),
}

/// Kind → namespace → names, which is a third of the size of a plain list.
#[derive(Serialize, Deserialize)]
struct Stored {
    format: u32,
    objects: BTreeMap<String, BTreeMap<String, BTreeSet<String>>>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    jobs: BTreeMap<String, JobRecord>,
}

impl Inventory {
    /// Reads what [`Inventory::encode`] wrote.
    ///
    /// # Errors
    /// [`InventoryError`] when it is damaged or newer than this program.
    pub fn decode(text: &str) -> Result<Self, InventoryError> {
        #[derive(Deserialize)]
        struct Version {
            format: u32,
        }
        let version: Version = serde_json::from_str(text).map_err(InventoryError::Damaged)?;
        if version.format > FORMAT {
            return Err(InventoryError::TooNew(version.format));
        }
        let stored: Stored = serde_json::from_str(text).map_err(InventoryError::Damaged)?;
        let mut objects = BTreeMap::new();
        for (kind, namespaces) in stored.objects {
            let (api_version, kind) = kind.rsplit_once(' ').unwrap_or(("v1", &kind));
            let group = api_version.rsplit_once('/').map_or("", |(group, _)| group);
            for (namespace, names) in namespaces {
                for name in names {
                    let key =
                        ObjectKey { kind: GroupKind::new(group, kind), namespace: namespace.clone(), name };
                    objects.insert(key, api_version.to_owned());
                }
            }
        }
        Ok(Self { objects, jobs: stored.jobs })
    }

    /// The stored form.
    pub fn encode(&self) -> String {
        let mut objects: BTreeMap<String, BTreeMap<String, BTreeSet<String>>> = BTreeMap::new();
        for (key, api_version) in &self.objects {
            let kind = objects.entry(format!("{api_version} {}", key.kind.kind)).or_default();
            kind.entry(key.namespace.clone()).or_default().insert(key.name.clone());
        }
        let stored = Stored { format: FORMAT, objects, jobs: self.jobs.clone() };
        serde_json::to_string(&stored).expect("strings and numbers serialise")
    }

    /// Adds everything of `wanted`.
    pub fn extend(&mut self, wanted: &BTreeMap<ObjectKey, String>) {
        self.objects.extend(wanted.iter().map(|(key, api_version)| (key.clone(), api_version.clone())));
    }

    /// The kinds with the version in which to ask for them.
    pub fn kinds(&self) -> BTreeMap<GroupKind, String> {
        self.objects.iter().map(|(key, api_version)| (key.kind.clone(), api_version.clone())).collect()
    }

    /// Value of `applyset.kubernetes.io/contains-group-kinds`.
    pub fn group_kinds(&self) -> String {
        let kinds: BTreeSet<_> = self.objects.keys().map(|key| key.kind.to_string()).collect();
        kinds.into_iter().collect::<Vec<_>>().join(",")
    }

    /// Value of `applyset.kubernetes.io/additional-namespaces`: all but the parent's.
    pub fn additional_namespaces(&self, parent: &str) -> String {
        let namespaces: BTreeSet<_> = self.objects.keys().map(|key| key.namespace.as_str()).collect();
        namespaces.into_iter().filter(|ns| !ns.is_empty() && *ns != parent).collect::<Vec<_>>().join(",")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(group: &str, kind: &str, namespace: &str, name: &str) -> ObjectKey {
        ObjectKey { kind: GroupKind::new(group, kind), namespace: namespace.into(), name: name.into() }
    }

    fn sample() -> Inventory {
        let objects = [
            (key("", "ConfigMap", "ks", "a"), "v1".to_owned()),
            (key("", "ConfigMap", "ks", "b"), "v1".to_owned()),
            (key("", "Service", "istio-system", "gateway"), "v1".to_owned()),
            (
                key("rbac.authorization.k8s.io", "ClusterRole", "", "r"),
                "rbac.authorization.k8s.io/v1".to_owned(),
            ),
        ];
        let job = JobRecord { content: "c0ffee".into(), finished: true };
        Inventory { objects: objects.into(), jobs: [("ks/migrate".to_owned(), job)].into() }
    }

    #[test]
    fn what_is_written_is_read_back() {
        assert_eq!(Inventory::decode(&sample().encode()).unwrap(), sample());
        assert_eq!(Inventory::decode(&Inventory::default().encode()).unwrap(), Inventory::default());
    }

    #[test]
    fn a_newer_format_is_refused_and_a_damaged_one_reported() {
        let newer = r#"{"format":2,"things":[]}"#;
        assert!(matches!(Inventory::decode(newer), Err(InventoryError::TooNew(2))));
        assert!(matches!(Inventory::decode("{"), Err(InventoryError::Damaged(_))));
        assert!(matches!(Inventory::decode(r#"{"format":1}"#), Err(InventoryError::Damaged(_))));
    }

    #[test]
    fn the_parent_lists_kinds_and_other_namespaces() {
        assert_eq!(sample().group_kinds(), "ClusterRole.rbac.authorization.k8s.io,ConfigMap,Service");
        assert_eq!(sample().additional_namespaces("ks"), "istio-system");
    }
}
