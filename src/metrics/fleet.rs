//! The fleet in numbers: custom resources by state, clusters by state. Counted when somebody looks, so that no count can
//! drift away from what is there.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;
use serde_json::Value;

use crate::api::Reason;
use crate::index::Key;
use crate::manifest::Object;

/// At most so many clusters that do not answer are named.
pub const NAMED_CLUSTERS: usize = 32;

/// How a cluster is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ClusterState {
    /// It answers.
    Answering,
    /// It did not answer the last time.
    Failing,
    /// It has not answered for so long that it is asked now and then only.
    Suspended,
}

impl ClusterState {
    const ALL: [Self; 3] = [Self::Answering, Self::Failing, Self::Suspended];

    const fn word(self) -> &'static str {
        match self {
            Self::Answering => "answering",
            Self::Failing => "failing",
            Self::Suspended => "suspended",
        }
    }
}

/// How a custom resource stands, in words of this program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Standing {
    /// `ready`, `not_ready`, `unknown`, `paused` or `deleting`.
    pub state: &'static str,
    /// Reason of its `Ready`; empty when there is none, `other` when it is none of ours.
    pub reason: &'static str,
    /// When its deletion began, in seconds since 1970.
    pub deleted_at: Option<i64>,
}

impl Standing {
    /// As its metadata and status say.
    pub fn of(object: &Object) -> Self {
        let value = object.value();
        let conditions = value["status"]["conditions"].as_array();
        let condition = |kind: &str| conditions.into_iter().flatten().find(|found| found["type"] == kind);
        let ready = condition("Ready").unwrap_or(&Value::Null);
        let reason = match ready["reason"].as_str().unwrap_or_default() {
            "" => "",
            text => {
                Reason::ALL.iter().map(|known| known.as_str()).find(|known| *known == text).unwrap_or("other")
            }
        };
        let deletion = value["metadata"]["deletionTimestamp"].as_str();
        let paused = condition("Paused").is_some_and(|paused| paused["status"] == "True");
        let state = match ready["status"].as_str() {
            _ if deletion.is_some() => "deleting",
            _ if paused => "paused",
            Some("True") => "ready",
            Some("False") => "not_ready",
            _ => "unknown",
        };
        let deleted_at =
            deletion.and_then(|time| time.parse::<jiff::Timestamp>().ok()).map(|time| time.as_second());
        Self { state, reason, deleted_at }
    }
}

/// See the module. A cheap handle.
#[derive(Clone, Debug, Default)]
pub(super) struct Fleet(Arc<Mutex<Known>>);

#[derive(Debug, Default)]
struct Known {
    resources: BTreeMap<Key, Standing>,
    clusters: BTreeMap<String, ClusterState>,
}

impl Fleet {
    pub(super) fn set_standing(&self, key: &Key, standing: Option<Standing>) {
        let resources = &mut self.0.lock().resources;
        match standing {
            Some(standing) => drop(resources.insert(key.clone(), standing)),
            None => drop(resources.remove(key)),
        }
    }

    pub(super) fn set_cluster(&self, cluster: &str, state: Option<ClusterState>) {
        let clusters = &mut self.0.lock().clusters;
        match (state, clusters.get_mut(cluster)) {
            (Some(state), Some(known)) => *known = state,
            (Some(state), None) => drop(clusters.insert(cluster.into(), state)),
            (None, _) => drop(clusters.remove(cluster)),
        }
    }

    pub(super) fn clear(&self) {
        *self.0.lock() = Known::default();
    }
}

impl Collector for Fleet {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let known = self.0.lock();
        let mut counts: BTreeMap<[(&str, &str); 3], i64> = BTreeMap::new();
        for (key, standing) in &known.resources {
            let labels = [("kind", key.kind.kind()), ("state", standing.state), ("reason", standing.reason)];
            *counts.entry(labels).or_default() += 1;
        }
        let mut metric =
            encoder.encode_descriptor("resources", "Custom resources by state", None, MetricType::Gauge)?;
        for (labels, count) in &counts {
            ConstGauge::new(*count).encode(metric.encode_family(labels)?)?;
        }
        let oldest = known.resources.values().filter_map(|standing| standing.deleted_at).min();
        if let Some(oldest) = oldest {
            let help = "When the oldest deletion that is not over began, in seconds since 1970";
            let metric = encoder.encode_descriptor(
                "oldest_deletion_timestamp_seconds",
                help,
                None,
                MetricType::Gauge,
            )?;
            ConstGauge::new(oldest).encode(metric)?;
        }
        let mut metric =
            encoder.encode_descriptor("clusters", "Connected clusters by state", None, MetricType::Gauge)?;
        for state in ClusterState::ALL {
            let count = known.clusters.values().filter(|found| **found == state).count();
            let count = ConstGauge::new(i64::try_from(count).unwrap_or(i64::MAX));
            count.encode(metric.encode_family(&[("state", state.word())])?)?;
        }
        let help = "Clusters that do not answer, the first few by name";
        let mut metric = encoder.encode_descriptor("suspended_cluster", help, None, MetricType::Gauge)?;
        let suspended = known.clusters.iter().filter(|(_, state)| **state == ClusterState::Suspended);
        for (name, _) in suspended.take(NAMED_CLUSTERS) {
            ConstGauge::new(1_i64).encode(metric.encode_family(&[("cluster", name.as_str())])?)?;
        }
        Ok(())
    }
}
