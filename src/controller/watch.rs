//! The watches on the hub: what they tell the loop, and what is told of them to those who look from outside.

use std::pin::pin;
use std::time::Duration;

use futures::StreamExt;
use kube::api::{Api, DynamicObject};
use kube::core::{ApiResource, GroupVersionKind};
use kube::runtime::watcher;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};

use super::Pacing;
use crate::api::ComponentKind;
use crate::health::Health;
use crate::manifest::Object;
use crate::metrics::Metrics;
use crate::target::resolve::PROFILE_API;

/// What a watch tells.
pub(super) enum Watched {
    Applied(Subject, Box<Object>),
    Deleted(Subject, Box<Object>),
    /// There is no such kind, for now.
    Absent(Subject),
    /// A complete list begins, and ends.
    ListBegins(Subject),
    ListEnds(Subject),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Subject {
    Component(ComponentKind),
    Profile,
}

impl Subject {
    /// `apiVersion`, kind and plural.
    pub(super) fn resource(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Component(kind) => (kind.api_version(), kind.kind(), kind.plural()),
            Self::Profile => (PROFILE_API, "ClusterProfile", "clusterprofiles"),
        }
    }

    /// Whether the hub answers that there is no such kind. Profiles are not there either for whoever may not see them:
    /// nothing remote can be installed then, and each resource that wants it says so, but local ones need not wait.
    fn is_absent(self, error: &watcher::Error) -> bool {
        let cause = match error {
            watcher::Error::InitialListFailed(cause) | watcher::Error::WatchStartFailed(cause) => cause,
            _ => return false,
        };
        let kube::Error::Api(status) = cause else { return false };
        status.code == 404 || (status.code == 403 && self == Self::Profile)
    }
}

/// What is watched on the hub.
pub(super) const SUBJECTS: [Subject; 3] = [
    Subject::Component(ComponentKind::Serving),
    Subject::Component(ComponentKind::Eventing),
    Subject::Profile,
];

/// Follows one kind on the hub for ever. Objects stay untyped, so that one malformed custom resource does not hide
/// the others.
pub(super) async fn watch(
    hub: kube::Client,
    subject: Subject,
    events: mpsc::Sender<Watched>,
    pacing: Pacing,
    report: Report,
) {
    let (api_version, kind, plural) = subject.resource();
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let resource = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural);
    let api: Api<DynamicObject> = Api::all_with(hub, &resource);
    let mut stream = pin!(watcher(api, watcher::Config::default()));
    let mut failures = 0;
    let mut began = Instant::now();
    while let Some(event) = stream.next().await {
        let message = match event {
            Ok(event) => {
                failures = 0;
                report.heard(&event);
                translate(subject, event)
            }
            Err(error) => {
                if has_worked(&error, began.elapsed()) {
                    failures = 0;
                    report.worked();
                }
                // The same trouble is told once.
                if failures == 0 {
                    tracing::warn!(kind, error = &error as &dyn std::error::Error, "watch failed");
                }
                let absent = subject.is_absent(&error);
                if absent {
                    report.absent();
                } else {
                    report.failed();
                }
                let delay = pacing.backoff_min.saturating_mul(1 << failures).min(pacing.backoff_max / 4);
                failures = (failures + 1).min(16);
                if absent && events.send(Watched::Absent(subject)).await.is_err() {
                    return;
                }
                sleep(delay).await;
                began = Instant::now();
                None
            }
        };
        if let Some(message) = message
            && events.send(message).await.is_err()
        {
            return;
        }
    }
}

/// Whether a watch was open for a while before it failed, though it may have had nothing to tell.
fn has_worked(error: &watcher::Error, lasted: Duration) -> bool {
    const A_WHILE: Duration = Duration::from_secs(5);
    matches!(error, watcher::Error::WatchFailed(_) | watcher::Error::WatchError(_)) && lasted >= A_WHILE
}

/// Tells those who look from outside how a watch is doing.
pub(super) struct Report {
    pub(super) subject: Subject,
    pub(super) health: Health,
    pub(super) metrics: Metrics,
}

impl Report {
    fn heard(&self, event: &watcher::Event<DynamicObject>) {
        self.health.heard(self.subject.resource().1);
        if matches!(event, watcher::Event::InitDone) {
            self.synced();
        }
    }

    fn worked(&self) {
        self.health.heard(self.subject.resource().1);
    }

    /// There is nothing to watch.
    fn absent(&self) {
        self.health.heard(self.subject.resource().1);
        self.synced();
    }

    fn synced(&self) {
        if self.health.synced(self.subject.resource().1) {
            tracing::info!("every watch has listed everything once");
        }
    }

    fn failed(&self) {
        let kind = self.subject.resource().1;
        self.health.failed(kind, Instant::now());
        self.metrics.watch_failed(kind);
    }
}

fn translate(subject: Subject, event: watcher::Event<DynamicObject>) -> Option<Watched> {
    let (api_version, kind, _) = subject.resource();
    let object = |object: DynamicObject| {
        let mut value = serde_json::to_value(object).ok()?;
        // Items of a list carry no type of their own.
        value["apiVersion"] = api_version.into();
        value["kind"] = kind.into();
        Object::try_from(value).ok().map(Box::new)
    };
    match event {
        watcher::Event::Init => Some(Watched::ListBegins(subject)),
        watcher::Event::InitDone => Some(Watched::ListEnds(subject)),
        watcher::Event::Apply(found) | watcher::Event::InitApply(found) => {
            Some(Watched::Applied(subject, object(found)?))
        }
        watcher::Event::Delete(found) => Some(Watched::Deleted(subject, object(found)?)),
    }
}
