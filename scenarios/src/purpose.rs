//! What a request of the operator is for, told from the request alone: the stages of its work as seen on the wires.

use fake_apiserver::RequestInfo;
use serde::Serialize;
use serde_json::Value;

use crate::wire::Letter;

macro_rules! purposes {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// What a request is for.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Purpose {
            $($(#[$doc])* $variant,)*
        }

        impl Purpose {
            /// All of them, about in the order of a pass.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// Its name in reports.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }
    };
}

purposes! {
    /// Agreeing on a leader.
    Lease = "lease",
    /// Following the hub.
    Watch = "watch",
    /// Listing on the hub before following it.
    HubList = "hub-list",
    /// Reading the custom resource.
    Read = "read",
    /// Putting the finalizer on or taking it off.
    Finalizer = "finalizer",
    /// Reading the ClusterProfile.
    Profile = "profile",
    /// Finding out whether a cluster can be used, and which it is.
    Probe = "probe",
    /// Finding out which kinds a cluster serves.
    Discovery = "discovery",
    /// Recording target and inventory.
    Record = "record",
    /// The anchor's namespace.
    Namespace = "namespace",
    /// The anchor.
    Anchor = "anchor",
    /// Listing what is installed.
    Observe = "observe",
    /// Asking whether an apply would change anything.
    Ask = "ask",
    /// Applying roles.
    ApplyRoles = "apply-roles",
    /// Applying bindings.
    ApplyBindings = "apply-bindings",
    /// Applying webhook configurations.
    ApplyWebhooks = "apply-webhooks",
    /// Applying definitions.
    ApplyDefinitions = "apply-definitions",
    /// Applying everything else.
    ApplyResources = "apply-resources",
    /// Applying what a webhook of the same release must admit.
    ApplyDependents = "apply-dependents",
    /// Deleting a webhook configuration.
    DeleteWebhooks = "delete-webhooks",
    /// Deleting any other object one by one.
    Delete = "delete",
    /// Reading one object of a cluster.
    Get = "get",
    /// Writing conditions.
    Status = "status",
    /// Telling of something in an Event.
    Event = "event",
    /// Anything else.
    Other = "other",
}

impl Serialize for Purpose {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl Purpose {
    /// What a request to a cluster (`hub` or a spoke) is for.
    pub fn of(site: &str, letter: &Letter) -> Self {
        let info = letter.info();
        if letter.is_about_lease() {
            return Self::Lease;
        }
        if letter.is_watch() {
            return Self::Watch;
        }
        if !info.is_resource {
            return if info.path == "/version" { Self::Probe } else { Self::Discovery };
        }
        match (info.group.as_str(), info.resource.as_str()) {
            ("operator.knative.dev", _) => of_component(&info, &letter.json()),
            ("multicluster.x-k8s.io", _) if info.verb == "get" => Self::Profile,
            ("", "namespaces") if info.name == "kube-system" => Self::Probe,
            ("" | "events.k8s.io", "events") => Self::Event,
            _ if site == "hub" && info.verb == "list" => Self::HubList,
            _ => of_object(&info, letter),
        }
    }

    /// Whether doing it by halves would leave something behind, or something undone, for ever.
    pub fn is_delicate(self) -> bool {
        matches!(self, Self::Finalizer | Self::Record | Self::Namespace | Self::Anchor)
    }
}

/// A request for a custom resource of the operator.
fn of_component(info: &RequestInfo, body: &Value) -> Purpose {
    match (info.verb.as_str(), info.subresource.as_str()) {
        ("list", _) => Purpose::HubList,
        ("get", _) => Purpose::Read,
        ("patch", "") if body["metadata"]["finalizers"].is_array() => Purpose::Finalizer,
        ("patch", "status") if body["status"]["annotations"].is_object() => Purpose::Record,
        ("patch", "status") => Purpose::Status,
        _ => Purpose::Other,
    }
}

/// A request for an object of an installation.
fn of_object(info: &RequestInfo, letter: &Letter) -> Purpose {
    let is_anchor = info.resource == "configmaps"
        && match info.verb.as_str() {
            "create" => letter.json()["metadata"]["annotations"]["operator.knative.dev/anchor"].is_string(),
            _ => info.name.ends_with("-root-owner"),
        };
    if is_anchor {
        return Purpose::Anchor;
    }
    let webhooks = info.group == "admissionregistration.k8s.io";
    match info.verb.as_str() {
        "list" => Purpose::Observe,
        "patch" if info.query.get("dryRun").is_some() => Purpose::Ask,
        _ if info.resource == "namespaces" && info.query.get("force").is_none() => Purpose::Namespace,
        "delete" if webhooks => Purpose::DeleteWebhooks,
        "delete" => Purpose::Delete,
        "get" => Purpose::Get,
        "patch" if webhooks => Purpose::ApplyWebhooks,
        "patch" => match info.resource.as_str() {
            "roles" | "clusterroles" => Purpose::ApplyRoles,
            "rolebindings" | "clusterrolebindings" => Purpose::ApplyBindings,
            "namespaces" | "customresourcedefinitions" => Purpose::ApplyDefinitions,
            "certificates" if info.group == "networking.internal.knative.dev" => Purpose::ApplyDependents,
            _ => Purpose::ApplyResources,
        },
        _ => Purpose::Other,
    }
}
