//! An in-process, in-memory Kubernetes API server for tests, with faults on demand.
//!
//! ```
//! # #[cfg(feature = "kube")]
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! let cluster = fake_apiserver::FakeApiServer::builder().build();
//! let client = cluster.client();
//! assert_eq!(client.apiserver_version().await.unwrap().major, "1");
//! # }
//! # #[cfg(not(feature = "kube"))] fn main() {}
//! ```
//!
//! # Code map
//! A request goes through `service` (one screen) and `incoming`: `auth` -> `request` -> `registry` -> `verb` ->
//! `storage` -> `convert` -> `represent` (rows come from `table`) -> `response`. `webhooks` are called in between. On a write, `verb` asks `defaults`, `strategy`,
//! `kinds`, `schema`, `apply`, `patch` and `admission`, which are pure. `storage` is the only writer of revisions; watches and `controllers` read its log.
//!
//! # Promises
//! * The same seed and the same requests give the same bytes.
//! * Nothing reads the wall clock but the default epoch of [`Builder`]; time is tokio's.
//! * No input makes it panic.

#![forbid(unsafe_code)]

mod admission;
pub mod apply;
pub mod auth;
mod builder;
mod cel;
pub mod clock;
mod controllers;
mod convert;
mod defaults;
mod discovery;
mod edit;
pub mod fault;
mod hooks;
mod ids;
mod image;
mod incoming;
mod kinds;
mod openapi;
mod options;
pub mod patch;
mod record;
mod registry;
mod represent;
mod request;
mod resources;
mod response;
mod reviews;
pub mod schema;
mod selector;
#[cfg(feature = "server")]
pub mod serve;
mod server;
mod service;
mod state;
pub mod status;
pub mod storage;
mod strategy;
mod table;
mod validation;
mod verb;
mod warnings;
mod webhooks;

pub use auth::User;
pub use builder::Builder;
pub use controllers::Controllers;
pub use controllers::workload::Readiness;
pub use image::Image;
pub use options::Propagation;
pub use record::RequestRecord;
pub use request::{Query, RequestInfo};
pub use response::{BoxError, ResponseBody};
pub use server::{FakeApiServer, Tokens, Workloads};
pub use service::FakeService;
pub use storage::{ObjectRef, Snapshot};
pub use webhooks::{CaBundle, Webhooks};
