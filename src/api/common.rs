//! The part of `spec` that both kinds share.
//!
//! Pod-level parts (affinity, tolerations, environment...) stay JSON: they are handed on to the target cluster, which
//! knows better than we do what is valid there.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::crd::shape;

/// Fields of `spec` that both kinds have.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct CommonSpec {
    /// Entries of shipped ConfigMaps to override: name of the ConfigMap (with or without `config-`), key, value.
    pub config: BTreeMap<String, BTreeMap<String, String>>,
    /// Where images come from.
    pub registry: Option<Registry>,
    /// Deprecated, use `workloads`: resources per container name, across all Deployments.
    pub resources: Vec<ContainerResources>,
    /// Deprecated alias of `workloads`, applied before it.
    pub deployments: Vec<WorkloadOverride>,
    /// Changes of single workloads.
    pub workloads: Vec<WorkloadOverride>,
    /// Labels and annotations of the component's Namespace.
    pub namespace: Option<NamespaceOverride>,
    /// Changes of single Services.
    pub services: Vec<ServiceOverride>,
    /// Changes of single PodDisruptionBudgets.
    pub pod_disruption_budgets: Vec<PodDisruptionBudgetOverride>,
    /// Requested release: `1.23.0`, `1.23`, or `latest`. Empty: the newest that is available.
    pub version: String,
    /// Replaces the bundled release; `${VERSION}` in a URL stands for the requested version.
    pub manifests: Vec<ManifestUrl>,
    /// Objects to install in addition; one that has the identity of a release object replaces it.
    pub additional_manifests: Vec<ManifestUrl>,
    /// Number of replicas of everything that can have several.
    #[serde(rename = "high-availability")]
    pub high_availability: Option<HighAvailability>,
    /// The cluster to install to; absent: the cluster that holds this resource.
    pub cluster_profile_ref: Option<ClusterProfileRef>,
}

impl CommonSpec {
    /// Overrides of workloads in the order they apply: `deployments`, then `workloads`.
    pub fn overrides(&self) -> impl Iterator<Item = &WorkloadOverride> {
        self.deployments.iter().chain(&self.workloads)
    }

    /// The user's entries for a ConfigMap, under its full name or the one without `config-`. The full name wins.
    pub fn config_of(&self, config_map: &str) -> Option<&BTreeMap<String, String>> {
        let short = config_map.strip_prefix("config-");
        self.config.get(config_map).or_else(|| self.config.get(short?))
    }
}

/// Where images come from.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct Registry {
    /// Template for every image; `${NAME}` stands for the image's short name.
    pub default: String,
    /// Single images: by `workload/container`, container, image resource or environment variable.
    #[serde(rename = "override")]
    pub overrides: BTreeMap<String, String>,
    /// Secrets to pull with, appended to every pod template.
    pub image_pull_secrets: Vec<SecretName>,
}

/// Name of a Secret in the component's namespace.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct SecretName {
    /// Name of the Secret.
    pub name: String,
}

/// Resources of one container.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
pub struct ContainerResources {
    /// Name of the container.
    pub container: String,
    /// Limits by resource name.
    #[serde(default)]
    #[schemars(schema_with = "shape::quantities")]
    pub limits: BTreeMap<String, Value>,
    /// Requests by resource name.
    #[serde(default)]
    #[schemars(schema_with = "shape::quantities")]
    pub requests: BTreeMap<String, Value>,
    /// Accepted and ignored.
    #[serde(default)]
    #[schemars(schema_with = "shape::open_objects")]
    pub claims: Vec<Value>,
}

/// Changes of one workload.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkloadOverride {
    /// Name of a Deployment or StatefulSet, or the `generateName` of a Job.
    pub name: String,
    /// Labels of the object and its pods.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// Annotations of the object and its pods.
    #[serde(default)]
    pub annotations: BTreeMap<String, String>,
    /// Number of replicas.
    #[serde(default)]
    pub replicas: Option<i32>,
    /// Replaces the node selector.
    #[serde(default)]
    pub node_selector: BTreeMap<String, String>,
    /// Replaces the topology spread constraints.
    #[serde(default)]
    #[schemars(schema_with = "shape::open_objects")]
    pub topology_spread_constraints: Vec<Value>,
    /// Replaces the tolerations.
    #[serde(default)]
    #[schemars(schema_with = "shape::open_objects")]
    pub tolerations: Vec<Value>,
    /// Replaces the affinity.
    #[serde(default)]
    #[schemars(schema_with = "shape::open_object")]
    pub affinity: Option<Value>,
    /// Resources by container, merged.
    #[serde(default)]
    pub resources: Vec<ContainerResources>,
    /// Environment variables by container, merged by name.
    #[serde(default)]
    pub env: Vec<ContainerEnv>,
    /// Readiness probes by container.
    #[serde(default)]
    pub readiness_probes: Vec<ContainerProbe>,
    /// Liveness probes by container.
    #[serde(default)]
    pub liveness_probes: Vec<ContainerProbe>,
    /// Whether pods use the network of the node.
    #[serde(default)]
    pub host_network: Option<bool>,
    /// Accepted and ignored.
    #[serde(default)]
    pub version: String,
    /// Accepted and ignored.
    #[serde(default)]
    #[schemars(schema_with = "shape::open_objects")]
    pub volume_mounts: Vec<Value>,
}

/// Environment variables of one container.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContainerEnv {
    /// Name of the container.
    pub container: String,
    /// The variables, as in a pod.
    #[serde(default)]
    #[schemars(schema_with = "shape::named_open_objects")]
    pub env_vars: Vec<Value>,
}

/// Numbers of one container's probe; all absent or zero: no probe.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContainerProbe {
    /// Name of the container.
    pub container: String,
    /// Seconds before the first probe.
    #[serde(default)]
    pub initial_delay_seconds: i32,
    /// Seconds after which a probe fails.
    #[serde(default)]
    pub timeout_seconds: i32,
    /// Seconds between probes.
    #[serde(default)]
    pub period_seconds: i32,
    /// Successes in a row that make the container healthy.
    #[serde(default)]
    pub success_threshold: i32,
    /// Failures in a row that make the container unhealthy.
    #[serde(default)]
    pub failure_threshold: i32,
    /// Seconds to stop after a failure.
    #[serde(default)]
    pub termination_grace_period_seconds: Option<i64>,
}

impl ContainerProbe {
    /// The numbers that are given, with the names they have in a probe.
    pub fn numbers(&self) -> impl Iterator<Item = (&'static str, i64)> {
        [
            ("initialDelaySeconds", i64::from(self.initial_delay_seconds)),
            ("timeoutSeconds", i64::from(self.timeout_seconds)),
            ("periodSeconds", i64::from(self.period_seconds)),
            ("successThreshold", i64::from(self.success_threshold)),
            ("failureThreshold", i64::from(self.failure_threshold)),
            ("terminationGracePeriodSeconds", self.termination_grace_period_seconds.unwrap_or_default()),
        ]
        .into_iter()
        .filter(|(_, number)| *number != 0)
    }
}

/// Labels and annotations of the component's Namespace.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
pub struct NamespaceOverride {
    /// Labels.
    pub labels: BTreeMap<String, String>,
    /// Annotations.
    pub annotations: BTreeMap<String, String>,
}

/// Changes of one Service.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
pub struct ServiceOverride {
    /// Name of the Service.
    pub name: String,
    /// Labels.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// Annotations.
    #[serde(default)]
    pub annotations: BTreeMap<String, String>,
    /// Merged into the selector.
    #[serde(default)]
    pub selector: BTreeMap<String, String>,
}

/// Changes of one PodDisruptionBudget; at most one of the two numbers.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PodDisruptionBudgetOverride {
    /// Name of the PodDisruptionBudget.
    pub name: String,
    /// Number or percentage of pods that stay.
    #[serde(default)]
    #[schemars(schema_with = "shape::int_or_string")]
    pub min_available: Option<Value>,
    /// Number or percentage of pods that may go.
    #[serde(default)]
    #[schemars(schema_with = "shape::int_or_string")]
    pub max_unavailable: Option<Value>,
    /// Accepted and ignored.
    #[serde(default)]
    #[schemars(schema_with = "shape::open_object")]
    pub selector: Option<Value>,
    /// Accepted and ignored.
    #[serde(default)]
    pub unhealthy_pod_eviction_policy: Option<String>,
}

/// Location of a manifest.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
pub struct ManifestUrl {
    /// URL, or path on the operator's file system.
    #[serde(rename = "URL")]
    pub url: String,
}

/// Number of replicas of everything that can have several.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("required" = ["replicas"]))]
pub struct HighAvailability {
    /// Replicas; absent: as released.
    pub replicas: Option<i32>,
}

/// Names the ClusterProfile of the cluster to install to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct ClusterProfileRef {
    /// Name of the ClusterProfile.
    #[schemars(length(min = 1))]
    pub name: String,
    /// Namespace of the ClusterProfile.
    #[schemars(length(min = 1))]
    pub namespace: String,
}

/// The two names of one ConfigMap in `spec.config`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigName {
    /// Without `config-`.
    pub short: String,
    /// With `config-`.
    pub full: String,
}
