//! Why a condition is what it is: every reason with what triggers it and what a person can do about it.
//!
//! One table feeds the enum, its documentation and the table of conditions in the docs.

use std::fmt;

macro_rules! reasons {
    ($($name:ident: $trigger:literal, $remedy:literal;)*) => {
        /// A machine-readable reason of a condition. Each variant says what triggers it and what remedies it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Reason {
            $(#[doc = concat!("Trigger: ", $trigger, ". Remedy: ", $remedy, ".")] $name,)*
        }

        impl Reason {
            /// Every reason, in the order of the table.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// The text in the condition.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => stringify!($name),)* }
            }

            /// What triggers it.
            pub const fn trigger(self) -> &'static str {
                match self { $(Self::$name => $trigger,)* }
            }

            /// What a person can do about it.
            pub const fn remedy(self) -> &'static str {
                match self { $(Self::$name => $remedy,)* }
            }
        }
    };
}

reasons! {
    Error: "a step failed for the reason in the message",
        "correct what the message names";
    NotReady: "workloads are not rolled out yet",
        "wait, then look at the pods of the named workloads";
    Installing: "a dependency is being installed",
        "wait";
    ClusterProfileNotFound: "the hub has no such ClusterProfile",
        "create it or correct spec.clusterProfileRef";
    ClusterProfileUnavailable: "the ClusterProfile cannot be read from the hub",
        "check the hub and the operator's permissions there";
    ClusterProfileNotReady: "the condition ControlPlaneHealthy of the ClusterProfile is not True",
        "repair the cluster or its cluster manager";
    MulticlusterDisabled: "no access provider file is configured",
        "set --clusterprofile-provider-file";
    AccessProviderFailed: "no usable access provider for the ClusterProfile, or a bad provider file",
        "correct the provider file or the ClusterProfile's access providers";
    RemoteClientCreationFailed: "the connection data or the plugin's settings are unusable",
        "correct server, CA or exec settings";
    RemoteClusterStale: "the profile led to another cluster when the pass began",
        "none, the next pass goes to the right one";
    CredentialsFailed: "the credential plugin failed, timed out or answered nonsense",
        "run the plugin by hand; the message has the end of its output";
    CredentialsRejected: "the cluster answers 401 to fresh credentials",
        "check what the plugin issues and whom the cluster trusts";
    RemoteClusterUnreachable: "the cluster does not answer",
        "check network, address and certificate authority";
    RemoteClusterForbidden: "the cluster answers 403",
        "grant the identity the permissions of rbac --spoke";
    TargetClusterInUse: "an older resource of this kind installs into the same cluster",
        "delete one of the two";
    AnchorOwnedElsewhere: "the anchor on the cluster belongs to another hub or resource",
        "remove the other installation, or adopt it with the annotation operator.knative.dev/adopt";
    TargetChanged: "the resource now names another target than it was installed to",
        "set the recorded target again, or delete and create the resource";
    NotPermitted: "no grant lets this namespace use that ClusterProfile",
        "add a ReferenceGrant in the namespace of the ClusterProfile";
    KubernetesTooOld: "the cluster runs an older Kubernetes than supported",
        "upgrade it, or lower KUBERNETES_MIN_VERSION at your own risk";
    TargetNamespaceTerminating: "the namespace on the cluster is being deleted",
        "wait, or remove what blocks its deletion";
    AnchorTerminating: "the anchor on the cluster is being deleted, and what it owns with it",
        "wait, or remove what blocks the deletion of an object that it owns";
    ObjectsRejected: "the cluster refused some objects",
        "read the message; other objects were applied";
    PruneFailed: "objects of an earlier release could not be removed",
        "read the message; removal is tried again";
    UnknownNames: "overrides name something that is not in the release",
        "correct the names in the message";
    LastGoodCopy: "a manifest that the resource names cannot be read or parsed any more",
        "repair what the message names; its last good copy stays in force until then";
    ObjectsDrifted: "objects on the cluster were changed or deleted by somebody else and were repaired",
        "find out who writes to them";
    DriftReported: "objects on the cluster were changed or deleted by somebody else and, by the annotation operator.knative.dev/drift-policy, are left so",
        "undo it, or take the annotation off to have it repaired";
    RolloutHeld: "the rollout that the ConfigMap config-rollout describes does not let the resource move to the newest release yet",
        "wait, change the ConfigMap, or set spec.version";
    DeletionPending: "objects that were deleted are still there after two minutes",
        "see on the cluster what keeps the objects in the message: its garbage collector, or a controller";
    DeletionFailed: "the cluster refused to delete some objects",
        "read the message; deletion is tried again";
    PausedByAnnotation: "the annotation operator.knative.dev/paused is \"true\"",
        "remove the annotation";
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
