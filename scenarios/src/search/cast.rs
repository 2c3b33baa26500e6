//! Who is on stage in a search: three spokes and a spare one, and the custom resources that users may create.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::world::FLEET;

/// The spoke that nobody ever touches.
pub const CALM: &str = "calm";
/// A cluster that a profile may come to point to; none of its own does.
pub const SPARE: &str = "spare";
/// Spokes to which things happen.
pub const TROUBLED: [&str; 2] = ["a", "b"];
/// Spokes with a profile of their own name.
pub const SPOKES: [&str; 3] = ["a", "b", CALM];

/// Kind, namespace and name.
pub type Id = (&'static str, &'static str, &'static str);

/// A custom resource that may be created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Role {
    /// Kind, namespace and name.
    pub id: Id,
    /// The spoke it is for; none: the hub itself.
    pub spoke: Option<&'static str>,
}

/// All of them. The first is there from the beginning of every script, the last one is for [`CALM`].
pub const ROLES: [Role; 5] = [
    Role { id: ("KnativeServing", "knative-serving", "knative-serving"), spoke: Some("a") },
    Role { id: ("KnativeEventing", "knative-eventing", "knative-eventing"), spoke: Some("a") },
    Role { id: ("KnativeServing", "team-b", "serving"), spoke: Some("b") },
    Role { id: ("KnativeEventing", "local", "eventing"), spoke: None },
    Role { id: ("KnativeServing", "quiet", "serving"), spoke: Some(CALM) },
];

/// The role that is for [`CALM`].
pub const CALM_ROLE: usize = ROLES.len() - 1;

/// Versions of the embedded bundle, between which every step is allowed.
pub const VERSIONS: [&str; 2] = ["1.22.0", "1.23.0"];

/// What a custom resource asks for, apart from where.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Shape {
    /// Index into [`VERSIONS`].
    pub version: usize,
    /// One of a few configurations.
    pub variant: u32,
}

/// How many configurations there are.
pub const VARIANTS: u32 = 4;

impl Shape {
    /// The version.
    pub fn version(self) -> &'static str {
        VERSIONS[self.version % VERSIONS.len()]
    }
}

impl Role {
    /// The cluster it belongs on.
    pub fn site(&self) -> &'static str {
        self.spoke.unwrap_or("hub")
    }

    /// Its specification.
    pub fn spec(&self, shape: Shape) -> Value {
        let serving = self.id.0 == "KnativeServing";
        let mut spec = json!({"version": shape.version()});
        if serving {
            spec["ingress"] = json!({"kourier": {"enabled": true}});
        }
        let (config, workload) =
            if serving { ("network", "activator") } else { ("features", "eventing-controller") };
        match shape.variant % VARIANTS {
            0 => {}
            1 => spec["config"] = json!({config: {"world-setting": "on"}}),
            2 => spec["high-availability"] = json!({"replicas": 2}),
            _ => spec["workloads"] = json!([{"name": workload, "labels": {"world": "yes"}}]),
        }
        if let Some(spoke) = self.spoke {
            spec["clusterProfileRef"] = json!({"namespace": FLEET, "name": spoke});
        }
        spec
    }
}
