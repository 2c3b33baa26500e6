//! What can happen in a search: one name, one weight and one family for each.

use serde::{Deserialize, Serialize};

/// What belongs together: a seed switches a family on or off as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Family {
    /// Users and time: always on.
    Users,
    /// ClusterProfiles come, go and change.
    Profiles,
    /// The provider file.
    Provider,
    /// Tokens and the plugin.
    Credentials,
    /// Certificate authorities.
    Authorities,
    /// Links break.
    Partitions,
    /// Links get slow.
    Slowness,
    /// Answers get lost.
    LostAnswers,
    /// Servers answer with errors.
    Errors,
    /// Watches break, history goes.
    Watches,
    /// Reads get old answers.
    StaleReads,
    /// The operator dies and starts.
    Crashes,
    /// A second operator.
    Rivals,
    /// Somebody's hands on the spokes.
    Hands,
    /// Finalizers of others.
    Finalizers,
    /// The garbage collector rests.
    Collector,
    /// Deployments get stuck.
    Workloads,
    /// Spokes are replaced by fresh ones.
    Replacements,
}

impl Family {
    /// All that can be switched off.
    pub const FAULTS: [Self; 17] = [
        Self::Profiles,
        Self::Provider,
        Self::Credentials,
        Self::Authorities,
        Self::Partitions,
        Self::Slowness,
        Self::LostAnswers,
        Self::Errors,
        Self::Watches,
        Self::StaleReads,
        Self::Crashes,
        Self::Rivals,
        Self::Hands,
        Self::Finalizers,
        Self::Collector,
        Self::Workloads,
        Self::Replacements,
    ];
}

macro_rules! kinds {
    ($($kind:ident $family:ident $weight:literal $text:literal;)*) => {
        /// See the module.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum Kind {
            $(
                #[doc = $text]
                $kind,
            )*
        }

        impl Kind {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$kind),*];

            /// What it is part of.
            pub fn family(self) -> Family {
                match self { $(Self::$kind => Family::$family),* }
            }

            /// How often it comes, before a seed has its say.
            pub fn weight(self) -> u32 {
                match self { $(Self::$kind => $weight),* }
            }

            /// In words.
            pub fn text(self) -> &'static str {
                match self { $(Self::$kind => $text),* }
            }
        }
    };
}

kinds! {
    Create Users 8 "a user creates a custom resource";
    Edit Users 4 "a user changes its configuration";
    Upgrade Users 4 "a user changes its version";
    Delete Users 5 "a user deletes it";
    Recreate Users 2 "a user deletes it and creates it again at once";
    Orphan Users 2 "a user deletes it and leaves its objects";
    Pause Users 3 "a user pauses it";
    Resume Users 2 "a user resumes it";
    Retarget Users 1 "a user makes it refer to another profile";
    Return Users 2 "a user makes it refer to its own profile again";
    Foreign Users 3 "somebody puts an object of theirs beside it";
    Wait Users 4 "minutes pass";
    ProfileUnhealthy Profiles 3 "a profile turns unhealthy";
    ProfileHealthy Profiles 4 "a profile turns healthy";
    ProfileDelete Profiles 4 "a profile is deleted";
    ProfileCreate Profiles 5 "a profile is created again";
    ProfileElsewhere Profiles 1 "a profile leads elsewhere";
    ProfileBack Profiles 2 "a profile leads home again";
    ProviderBreak Provider 2 "the provider file gets unreadable";
    ProviderChange Provider 3 "the provider file is written anew";
    TokenShort Credentials 2 "tokens die before their time";
    TokenRevoke Credentials 4 "all tokens of a cluster are revoked";
    PluginFail Credentials 2 "the plugin fails";
    PluginHang Credentials 1 "the plugin hangs";
    PluginRecover Credentials 4 "the plugin works";
    CaRotate Authorities 3 "a cluster gets another certificate authority";
    CaPublish Authorities 5 "the profile learns of it";
    Cut Partitions 3 "a link breaks";
    BlackHole Partitions 2 "a link falls silent";
    Heal Partitions 5 "a link works again";
    Slow Slowness 3 "a link gets slow for some requests";
    LoseAnswers LostAnswers 4 "answers get lost";
    Errors Errors 5 "a server answers with errors";
    DropWatches Watches 4 "open connections break";
    Compact Watches 3 "a cluster forgets its history";
    Stale StaleReads 4 "reads get the answer of the last time";
    Crash Crashes 4 "the operator dies";
    Restart Crashes 5 "the operator starts";
    Rival Rivals 3 "a second operator starts";
    RivalGone Rivals 4 "the second operator dies";
    DeleteAnchor Hands 3 "somebody deletes an anchor";
    ForeignAnchor Hands 2 "another hub claims the place of an anchor";
    DeleteNamespace Hands 2 "somebody deletes a namespace";
    EditObject Hands 5 "somebody edits an installed object";
    DeleteObject Hands 5 "somebody deletes an installed object";
    Hold Finalizers 3 "somebody puts a finalizer on an installed object";
    Unhold Finalizers 3 "the finalizers of others come off";
    GcPause Collector 3 "the garbage collector rests";
    GcResume Collector 3 "the garbage collector works again";
    Stuck Workloads 3 "Deployments get stuck";
    Flap Workloads 2 "Deployments come and go";
    Steady Workloads 4 "Deployments get ready as usual";
    Replace Replacements 3 "a spoke is replaced by a fresh cluster";
    UpgradeSpoke Replacements 3 "a spoke gets another Kubernetes in place";
}
