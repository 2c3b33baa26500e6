//! Who writes down what the operator said in a world: conditions, Events, and the failures that it logged. It judges
//! nothing.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;

use parking_lot::Mutex;
use serde::Serialize;
use serde_json::Value;
use tracing::field::{Field, Visit};
use tracing::subscriber::{DefaultGuard, set_default};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::registry::Registry;

use crate::oracle::{Oracle, Scene, view};
use crate::wire;

/// What was seen, and how often.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Seen {
    /// `TYPE=STATUS REASON` of conditions, each time that it was written with a change.
    pub conditions: BTreeMap<String, u64>,
    /// Reasons of Events.
    pub events: BTreeMap<String, u64>,
    /// What stopped passes, by branch of the operator's errors.
    pub branches: BTreeMap<String, u64>,
    /// The failed requests behind them.
    pub failures: BTreeMap<String, u64>,
}

impl Seen {
    /// Adds what somebody else saw.
    pub fn add(&mut self, other: &Self) {
        let all = [
            (&mut self.conditions, &other.conditions),
            (&mut self.events, &other.events),
            (&mut self.branches, &other.branches),
            (&mut self.failures, &other.failures),
        ];
        for (ours, theirs) in all {
            for (what, times) in theirs {
                *ours.entry(what.clone()).or_default() += times;
            }
        }
    }
}

/// See the module. A cheap handle.
#[derive(Clone, Default)]
pub struct Witness {
    seen: Arc<Mutex<Seen>>,
}

impl Witness {
    /// What was seen so far.
    pub fn seen(&self) -> Seen {
        self.seen.lock().clone()
    }

    /// Hears what is logged on this thread until the guard is dropped.
    pub fn listen(&self) -> DefaultGuard {
        set_default(Registry::default().with(self.clone()))
    }

    fn count(&self, list: impl FnOnce(&mut Seen) -> &mut BTreeMap<String, u64>, what: String) {
        *list(&mut self.seen.lock()).entry(what).or_default() += 1;
    }
}

impl Oracle for Witness {
    fn name(&self) -> &'static str {
        "witness"
    }

    fn seen(&mut self, seen: &wire::Seen<'_>, _: &Scene<'_>) -> Option<String> {
        if !seen.took_effect() || !seen.letter.is_write() {
            return None;
        }
        if seen.info.resource == "events" {
            let reason = seen.letter.json()["reason"].as_str().unwrap_or_default().to_owned();
            self.count(|seen| &mut seen.events, reason);
        } else if seen.info.group == view::GROUP && seen.info.subresource == "status" {
            let before = conditions(seen.object(&seen.before).as_deref());
            for (kind, said) in conditions(seen.object(&seen.after).as_deref()) {
                if before.get(&kind) != Some(&said) {
                    self.count(|seen| &mut seen.conditions, format!("{kind}={said}"));
                }
            }
        }
        None
    }
}

/// Status and reason of conditions, by type.
fn conditions(component: Option<&Value>) -> BTreeMap<String, String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let conditions = component.and_then(|component| component["status"]["conditions"].as_array());
    let said = |c: &Value| format!("{} {}", text(&c["status"]), text(&c["reason"])).trim_end().to_owned();
    conditions.into_iter().flatten().map(|c| (text(&c["type"]), said(c))).collect()
}

/// The operator logs with each failed pass where it stopped.
impl<S: Subscriber> Layer<S> for Witness {
    fn register_callsite(
        &self,
        metadata: &'static tracing::Metadata<'static>,
    ) -> tracing::subscriber::Interest {
        match *metadata.level() <= Level::WARN {
            true => tracing::subscriber::Interest::always(),
            false => tracing::subscriber::Interest::never(),
        }
    }

    fn max_level_hint(&self) -> Option<tracing::level_filters::LevelFilter> {
        Some(tracing::level_filters::LevelFilter::WARN)
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        event.record(&mut Fields(self));
    }
}

struct Fields<'a>(&'a Witness);

impl Visit for Fields<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "branch" => self.0.count(|seen| &mut seen.branches, value.into()),
            "failure" => self.0.count(|seen| &mut seen.failures, value.into()),
            _ => {}
        }
    }

    fn record_debug(&mut self, _: &Field, _: &dyn Debug) {}
}
