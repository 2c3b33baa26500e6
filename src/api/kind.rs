//! The two kinds of component and every name that is derived from the kind.

use std::fmt;

/// API group of both kinds.
pub const GROUP: &str = "operator.knative.dev";

/// The one served and stored version of both kinds.
pub const VERSION: &str = "v1beta1";

/// Which component a custom resource installs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ComponentKind {
    /// `KnativeServing`.
    Serving,
    /// `KnativeEventing`.
    Eventing,
}

impl ComponentKind {
    /// Both kinds, in the order they are listed everywhere.
    pub const ALL: [Self; 2] = [Self::Serving, Self::Eventing];

    /// The kind with this name.
    pub fn from_kind(kind: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.kind() == kind)
    }

    /// Kind: `KnativeServing`.
    pub const fn kind(self) -> &'static str {
        match self {
            Self::Serving => "KnativeServing",
            Self::Eventing => "KnativeEventing",
        }
    }

    /// Plural name of the resource: `knativeservings`.
    pub const fn plural(self) -> &'static str {
        match self {
            Self::Serving => "knativeservings",
            Self::Eventing => "knativeeventings",
        }
    }

    /// API group.
    pub const fn group(self) -> &'static str {
        GROUP
    }

    /// Group and version: `operator.knative.dev/v1beta1`.
    pub const fn api_version(self) -> &'static str {
        "operator.knative.dev/v1beta1"
    }

    /// The short word in names of Jobs: `serving`.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Serving => "serving",
            Self::Eventing => "eventing",
        }
    }

    /// The finalizer on custom resources of this kind (also the name of the CRD).
    pub const fn finalizer(self) -> &'static str {
        match self {
            Self::Serving => "knativeservings.operator.knative.dev",
            Self::Eventing => "knativeeventings.operator.knative.dev",
        }
    }

    /// Value of the label `app.kubernetes.io/name` on every object: `knative-serving`.
    pub const fn component_label(self) -> &'static str {
        match self {
            Self::Serving => "knative-serving",
            Self::Eventing => "knative-eventing",
        }
    }

    /// Directory of the core releases below the data root.
    pub const fn release_dir(self) -> &'static str {
        self.component_label()
    }
}

impl fmt::Display for ComponentKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind())
    }
}
