//! What the operator notes about an installation in `status.annotations` of its custom resource.
//!
//! Pure. The record is written before the first write to a target, so a custom resource without one was never
//! installed by this operator.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::api::ClusterProfileRef;
use crate::apply::inventory::{Inventory, InventoryError};

/// Annotation with the target.
pub const TARGET: &str = "operator.knative.dev/target";
/// Annotation with the inventory.
pub const INVENTORY: &str = "operator.knative.dev/inventory";

/// The cluster an installation is bound to from its first write on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BoundTarget {
    /// The profile; none: the local cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<ClusterProfileRef>,
    /// UID of the cluster's `kube-system` namespace.
    pub cluster: String,
    /// Namespace of the namespaced objects.
    pub namespace: String,
}

/// Target and inventory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// Set with the first write.
    pub target: Option<BoundTarget>,
    /// What may be there.
    pub inventory: Inventory,
}

/// Why a record cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// See [`InventoryError`].
    #[error(transparent)]
    Inventory(#[from] InventoryError),
    /// Not what was written.
    #[error("the target in status.annotations is damaged")]
    Target(#[source] serde_json::Error),
}

impl Record {
    /// Reads the record from `status.annotations`.
    ///
    /// # Errors
    /// [`RecordError`] when something is there that cannot be read; absence is an empty record.
    pub fn read(annotations: &Value) -> Result<Self, RecordError> {
        let target = annotations[TARGET].as_str().map(serde_json::from_str).transpose();
        let inventory = annotations[INVENTORY].as_str().map(Inventory::decode).transpose()?;
        Ok(Self { target: target.map_err(RecordError::Target)?, inventory: inventory.unwrap_or_default() })
    }

    /// The annotations that hold this record; `None` removes one.
    pub fn annotations(&self) -> [(&'static str, Option<String>); 2] {
        let target = self.target.as_ref();
        let target = target.map(|target| serde_json::to_string(target).expect("strings serialise"));
        let empty = self.inventory == Inventory::default();
        [(TARGET, target), (INVENTORY, (!empty).then(|| self.inventory.encode()))]
    }
}
