//! What one cluster is made of, behind one lock, and the context of one call.

use jiff::Timestamp;

use crate::apply::Writer;
use crate::auth::User;
use crate::auth::token::TokenStore;
use crate::clock::rfc3339;
use crate::controllers::workload::Scripts;
use crate::ids::Ids;
use crate::options::WriteOptions;
use crate::registry::{Registry, Resource, Served, Version};
use crate::storage::{ObjectKey, Storage, object_key};
use crate::webhooks::Backends;
use crate::webhooks::exchange::Exchange;

/// Everything that changes in a cluster.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) storage: Storage,
    pub(crate) registry: Registry,
    pub(crate) ids: Ids,
    pub(crate) tokens: TokenStore,
    /// Who answers for webhooks.
    pub(crate) webhooks: Backends,
    /// Whether requests are authorised by RBAC; otherwise everybody who is somebody may do everything.
    pub(crate) rbac: bool,
    /// Whether owner references need permissions of their own.
    pub(crate) guarded_owners: bool,
    /// What `/version` says, for instance `v1.36.0`.
    pub(crate) kubernetes: String,
    /// Addresses handed out to Services.
    pub(crate) addresses: u32,
    /// Whether the garbage collector rests.
    pub(crate) gc_paused: bool,
    /// How often the garbage collector was restarted, and the order in which it looks at everything then.
    pub(crate) gc_restart: (u64, u64),
    /// How workloads get ready.
    pub(crate) scripts: Scripts,
    /// Counts changes of the scripts.
    pub(crate) script_version: u64,
}

impl State {
    /// The same cluster once more, without its watchers.
    pub(crate) fn duplicate(&self) -> Self {
        Self {
            storage: self.storage.duplicate(),
            registry: self.registry.clone(),
            ids: self.ids.clone(),
            tokens: self.tokens.clone(),
            webhooks: self.webhooks.clone(),
            kubernetes: self.kubernetes.clone(),
            scripts: self.scripts.clone(),
            ..*self
        }
    }
}

/// One operation on one object or collection: who, what, when and how.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) served: Served,
    /// Empty for cluster-scoped resources and for collections across namespaces.
    pub(crate) namespace: String,
    /// Empty for collections.
    pub(crate) name: String,
    pub(crate) subresource: String,
    pub(crate) now: Timestamp,
    pub(crate) user: User,
    /// Field manager.
    pub(crate) manager: String,
    pub(crate) options: WriteOptions,
    /// Texts for `Warning` headers.
    pub(crate) warnings: Vec<String>,
    /// What the request asks of webhooks; what the cluster does itself asks nobody.
    pub(crate) exchange: Option<Exchange>,
    /// What a strict request would be refused for, and nobody was told yet.
    pub(crate) objections: Vec<String>,
}

impl Call {
    /// A call made by the cluster itself.
    pub(crate) fn internal(
        served: Served,
        namespace: &str,
        name: &str,
        now: Timestamp,
        manager: &str,
    ) -> Self {
        Self {
            served,
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            subresource: String::new(),
            now,
            user: User::admin(),
            manager: manager.to_owned(),
            options: WriteOptions::default(),
            warnings: Vec::new(),
            exchange: None,
            objections: Vec::new(),
        }
    }

    pub(crate) fn resource(&self) -> &Resource {
        &self.served.resource
    }

    pub(crate) fn version(&self) -> &Version {
        self.served.version()
    }

    pub(crate) fn key(&self) -> ObjectKey {
        object_key(&self.namespace, &self.name)
    }

    /// Who is recorded in managedFields.
    pub(crate) fn writer(&self) -> Writer {
        Writer {
            manager: self.manager.clone(),
            api_version: self.version().api_version.clone(),
            subresource: Some(self.subresource.clone()).filter(|name| !name.is_empty()),
            time: rfc3339(self.now),
        }
    }
}
