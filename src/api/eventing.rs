//! The part of `spec` that only `KnativeEventing` has.

use schemars::JsonSchema;
use serde::Deserialize;

/// Fields that only `KnativeEventing` has.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct EventingSpec {
    /// Broker class written into `config-br-defaults`; empty: `MTChannelBasedBroker`.
    pub default_broker_class: String,
    /// `inclusion` or `exclusion`; empty: from a workload override, else `exclusion`.
    pub sink_binding_selection_mode: String,
    /// Which event sources are installed.
    pub source: Option<Sources>,
}

/// The event sources.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("required" = ["ceph", "github", "gitlab", "kafka", "rabbitmq", "redis"]))]
pub struct Sources {
    /// Ceph.
    pub ceph: EventSource,
    /// GitHub.
    pub github: EventSource,
    /// GitLab.
    pub gitlab: EventSource,
    /// Apache Kafka.
    pub kafka: EventSource,
    /// RabbitMQ.
    pub rabbitmq: EventSource,
    /// Redis.
    pub redis: EventSource,
}

/// One event source.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(extend("required" = ["enabled"]))]
pub struct EventSource {
    /// Whether it is installed.
    pub enabled: bool,
}

impl EventingSpec {
    /// Directories below `eventing-source/<minor>` of the sources to install, in the order they are loaded.
    pub fn source_directories(&self) -> Vec<&'static str> {
        let Some(sources) = &self.source else { return Vec::new() };
        [
            ("ceph", &sources.ceph),
            ("github", &sources.github),
            ("gitlab", &sources.gitlab),
            ("kafka", &sources.kafka),
            ("rabbitmq", &sources.rabbitmq),
            ("redis", &sources.redis),
        ]
        .into_iter()
        .filter_map(|(directory, source)| source.enabled.then_some(directory))
        .collect()
    }
}
