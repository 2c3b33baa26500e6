//! The record of answered requests, for traces and write counters.

use std::collections::VecDeque;
use std::sync::Arc;

use jiff::Timestamp;

use crate::auth::User;
use crate::request::RequestInfo;
use crate::server::FakeApiServer;

/// How many requests the log keeps.
const REQUEST_LOG: usize = 4096;

type Observer = Arc<dyn Fn(&RequestRecord) + Send + Sync>;

/// The latest requests, and who wants to know of each.
#[derive(Default)]
pub(crate) struct Requests {
    log: VecDeque<RequestRecord>,
    observers: Vec<Observer>,
}

/// One answered request, as traces and write counters need it.
#[derive(Clone, Debug, PartialEq)]
pub struct RequestRecord {
    /// When it was answered, on the cluster's clock.
    pub at: Timestamp,
    /// User name; empty when authentication failed.
    pub user: String,
    /// What was asked.
    pub info: RequestInfo,
    /// HTTP status code.
    pub code: u16,
    /// The cluster's revision after the request.
    pub revision: u64,
}

impl RequestRecord {
    /// Whether the request wanted to change something (a dry run does not).
    pub fn is_write(&self) -> bool {
        let writes =
            matches!(self.info.verb.as_str(), "create" | "update" | "patch" | "delete" | "deletecollection");
        writes && self.info.is_resource && self.info.query.get("dryRun").is_none()
    }
}

impl FakeApiServer {
    /// Calls `observer` after each request, in the order in which requests are answered.
    pub fn on_request(&self, observer: impl Fn(&RequestRecord) + Send + Sync + 'static) {
        self.request_log().observers.push(Arc::new(observer));
    }

    /// The latest requests (a few thousand), oldest first.
    pub fn requests(&self) -> Vec<RequestRecord> {
        self.request_log().log.iter().cloned().collect()
    }

    /// Empties the log of requests.
    pub fn clear_requests(&self) {
        self.request_log().log.clear();
    }

    pub(crate) fn record(&self, info: &RequestInfo, user: Option<User>, code: u16, revision: u64) {
        let record = RequestRecord {
            at: self.now(),
            user: user.map(|user| user.name).unwrap_or_default(),
            info: info.clone(),
            code,
            revision,
        };
        let mut requests = self.request_log();
        let observers = requests.observers.clone();
        if requests.log.len() == REQUEST_LOG {
            requests.log.pop_front();
        }
        requests.log.push_back(record.clone());
        drop(requests);
        observers.iter().for_each(|observer| observer(&record));
    }
}
